#include "runtime/execute/tiles/tile_memory.hpp"

#include <algorithm>
#include <cstring>

namespace pxl {

namespace {

using tiles::ElementRange;
using tiles::Region;

/// Copies the elements of `which` between two arrays. Each array stores elements in the order of its region.
void copy_elements(const Region& which, size_t width, const Region& from, const std::byte* source, const Region& to,
                   std::byte* target) {
  for (const ElementRange& r : which.ranges())
    std::memcpy(target + static_cast<size_t>(to.index_of(r.begin)) * width,
                source + static_cast<size_t>(from.index_of(r.begin)) * width, static_cast<size_t>(r.size()) * width);
}

}  // namespace

void HeldSlice::write(const Region& from, const std::byte* data) {
  const Region both = intersection(region, from);
  copy_elements(both, width, from, data, region, bytes.data());
  written = merged(written, both);
}

Region HeldSlice::read(const Region& to, std::byte* data) const {
  copy_elements(intersection(written, to), width, region, bytes.data(), to, data);
  return difference(to, written);
}

void TileMemory::count(int64_t bytes) {
  bytes_ += bytes;
  peak_ = std::max(peak_, bytes_);
}

void TileMemory::allocate(size_t memory, const Region& region, size_t width) {
  const HeldSlice& slice = stored_.try_emplace(memory, region, width).first->second;
  count(static_cast<int64_t>(slice.bytes.size()));
}

void TileMemory::release(size_t memory) {
  const auto found = stored_.find(memory);
  if (found == stored_.end()) return;
  bytes_ -= static_cast<int64_t>(found->second.bytes.size());
  stored_.erase(found);
}

void TileMemory::invalidate(size_t memory, const Region& region) {
  const auto found = stored_.find(memory);
  if (found != stored_.end()) found->second.written = difference(found->second.written, region);
}

void TileMemory::store(size_t memory, const Region& from, const std::byte* data) {
  const auto found = stored_.find(memory);
  if (found != stored_.end()) found->second.write(from, data);
}

HeldSlice& TileMemory::add(Slices& slices, size_t key, const Region& region, size_t width, bool in_result) {
  HeldSlice& slice = slices[key].emplace_back(region, width);
  slice.in_result = in_result;
  if (!in_result) count(static_cast<int64_t>(slice.bytes.size()));
  return slice;
}

void TileMemory::forget(Slices& slices) {
  for (const auto& [key, list] : slices)
    for (const HeldSlice& slice : list)
      if (!slice.in_result) bytes_ -= static_cast<int64_t>(slice.bytes.size());
  slices.clear();
}

void TileMemory::receive(size_t memory, const Region& region, size_t width, const std::byte* data, bool in_result) {
  add(received_, memory, region, width, in_result).write(region, data);
}

HeldSlice& TileMemory::add_result(size_t memory, const Region& region, size_t width) {
  // Elements that are stored on this tile are written in place.
  const auto found = stored_.find(memory);
  if (found != stored_.end()) bytes_ -= intersection(found->second.region, region).size() * static_cast<int64_t>(width);
  HeldSlice& slice = add(results_, memory, region, width);
  slice.written = region;
  return slice;
}

std::pair<HeldSlice&, bool> TileMemory::partial(size_t buffer, const Region& region, size_t width) {
  std::vector<HeldSlice>& list = partials_[buffer];
  if (!list.empty()) return {list.front(), false};
  HeldSlice& slice = add(partials_, buffer, region, width);
  slice.written = region;
  return {slice, true};
}

void TileMemory::receive_partial(size_t buffer, const Region& region, size_t width, const std::byte* data) {
  add(partials_, buffer, region, width).write(region, data);
}

void TileMemory::forget_received() { forget(received_); }
void TileMemory::forget_partials() { forget(partials_); }
void TileMemory::forget_results() {
  for (const auto& [memory, list] : results_) {
    const auto found = stored_.find(memory);
    if (found == stored_.end()) continue;
    for (const HeldSlice& slice : list)
      bytes_ += intersection(found->second.region, slice.region).size() * static_cast<int64_t>(slice.width);
  }
  forget(results_);
}

Region TileMemory::read_slices(const Slices& slices, size_t key, Region lacking, const Region& region, std::byte* to) {
  const auto found = slices.find(key);
  if (found == slices.end()) return lacking;
  for (const HeldSlice& slice : found->second) {
    if (lacking.empty()) break;
    const Region has = intersection(slice.written, lacking);
    copy_elements(has, slice.width, slice.region, slice.bytes.data(), region, to);
    lacking = difference(lacking, has);
  }
  return lacking;
}

Region TileMemory::read(size_t memory, const Region& region, std::byte* to) const {
  const auto found = stored_.find(memory);
  Region lacking = found == stored_.end() ? region : found->second.read(region, to);
  return lacking.empty() ? lacking : read_slices(received_, memory, std::move(lacking), region, to);
}

Region TileMemory::read_result(size_t memory, const Region& region, std::byte* to) const {
  return read_slices(results_, memory, region, region, to);
}

Region TileMemory::read_partial(size_t buffer, const Region& region, std::byte* to) const {
  return read_slices(partials_, buffer, region, region, to);
}

void TileMemory::store_results() {
  for (const auto& [memory, list] : results_)
    for (const HeldSlice& slice : list) store(memory, slice.region, slice.bytes.data());
}

}  // namespace pxl
