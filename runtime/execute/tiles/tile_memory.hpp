// The memory of one tile: the slices of tensors that it stores, and the slices that it received in an exchange. A tile
// reads nothing else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/tiles/region.hpp"

namespace pxl {

/// A slice of a tensor's memory, with its bytes.
struct HeldSlice {
  tiles::Region region;
  tiles::Region written;   ///< of the region
  size_t width = 0;        ///< bytes of an element
  bool in_result = false;  ///< the bytes are those of a result's memory, and count there
  std::vector<std::byte> bytes = {};

  HeldSlice(tiles::Region of, size_t width_of_element)
      : region(std::move(of)), width(width_of_element), bytes(static_cast<size_t>(region.size()) * width_of_element) {}
  /// Copies the elements that both have, from bytes in the order of `from`.
  void write(const tiles::Region& from, const std::byte* data);
  /// Copies the elements that both have into bytes in the order of `to`; returns the elements of `to` that were not
  /// written.
  tiles::Region read(const tiles::Region& to, std::byte* data) const;
};

class TileMemory {
 public:
  // The slices that the tile stores, by memory.
  void allocate(size_t memory, const tiles::Region& region, size_t width);
  void release(size_t memory);
  /// Marks these elements as no longer written.
  void invalidate(size_t memory, const tiles::Region& region);
  void store(size_t memory, const tiles::Region& from, const std::byte* data);

  // The slices that the tile holds during one op: slices received, results to be sent, partial results.
  void receive(size_t memory, const tiles::Region& region, size_t width, const std::byte* data, bool in_result);
  HeldSlice& add_result(size_t memory, const tiles::Region& region, size_t width);
  /// The buffer of a partial result, and whether it is new.
  std::pair<HeldSlice&, bool> partial(size_t buffer, const tiles::Region& region, size_t width);
  void receive_partial(size_t buffer, const tiles::Region& region, size_t width, const std::byte* data);
  void forget_received();
  void forget_results();
  void forget_partials();

  // Reads return the elements that are missing; the bytes of these are undefined.
  tiles::Region read(size_t memory, const tiles::Region& region, std::byte* to) const;  ///< stored or received
  tiles::Region read_result(size_t memory, const tiles::Region& region, std::byte* to) const;
  tiles::Region read_partial(size_t buffer, const tiles::Region& region, std::byte* to) const;
  /// Results go to the elements that the tile stores.
  void store_results();

  /// Counts bytes that the tile holds for a moment, beside all others.
  void reach(int64_t more) { peak_ = std::max(peak_, bytes_ + more); }
  int64_t bytes() const { return bytes_; }
  int64_t peak() const { return peak_; }  ///< most bytes held at once

 private:
  using Slices = std::unordered_map<size_t, std::vector<HeldSlice>>;
  HeldSlice& add(Slices& slices, size_t key, const tiles::Region& region, size_t width, bool in_result = false);
  void forget(Slices& slices);
  static tiles::Region read_slices(const Slices& slices, size_t key, tiles::Region lacking, const tiles::Region& region,
                                   std::byte* to);
  void count(int64_t bytes);

  std::unordered_map<size_t, HeldSlice> stored_;
  Slices received_, results_, partials_;
  int64_t bytes_ = 0, peak_ = 0;
};

}  // namespace pxl
