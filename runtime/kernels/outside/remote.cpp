#include "runtime/kernels/outside/remote.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/files/mapped_file.hpp"
#include "runtime/base/threads/parallel_copy.hpp"

namespace pxl {

RemoteMemory::RemoteMemory(int64_t entry_bytes, int64_t entries, const std::string& folder)
    : entry_bytes_(entry_bytes) {
  const int64_t bytes = element_count({entries, entry_bytes});
  if (folder.empty()) {
    first_ = Array::zeros(DType::uint8, {bytes});
    second_ = Array(DType::uint8, {bytes});
  } else {
    first_ = Array::wrap(DType::uint8, {bytes}, map_unnamed_file(folder, bytes));
    second_ = Array::wrap(DType::uint8, {bytes}, map_unnamed_file(folder, bytes));
  }
  for (int64_t i = 0; i < entries; ++i) entries_.push_back({first_.mutable_raw() + i * entry_bytes});
}

void RemoteMemory::check(int64_t entry) const {
  const auto count = static_cast<int64_t>(entries_.size());
  if (entry >= 0 && entry < count) return;
  throw run_error(fmt::format("entry {} is out of range for a remote buffer of {} {}", entry, count,
                              count == 1 ? "entry" : "entries"))
      .as(codes::index);
}

std::byte* RemoteMemory::second(int64_t entry) {
  std::byte* const a = first_.mutable_raw() + entry * entry_bytes_;
  std::byte* const b = second_.mutable_raw() + entry * entry_bytes_;
  return entries_[static_cast<size_t>(entry)].memory == b ? a : b;
}

void RemoteMemory::replace(int64_t entry) {
  Entry& e = entries_[static_cast<size_t>(entry)];
  if (!changed_.insert(entry).second) return;
  std::byte* const other = second(entry);
  if (e.variable)
    parallel_copy(other, e.memory, entry_bytes_);
  else
    e.memory = other;
}

void RemoteMemory::undo() {
  for (const int64_t entry : changed_) {
    Entry& e = entries_[static_cast<size_t>(entry)];
    std::byte* const before = second(entry);
    if (e.variable)
      parallel_copy(e.memory, before, entry_bytes_);
    else
      e.memory = before;
  }
  changed_.clear();
}

namespace {

/// The ops' last operand, whose entry operand 1 names.
RemoteMemory& memory_of(const Buffers& b) {
  return *const_cast<RemoteMemory*>(reinterpret_cast<const RemoteMemory*>(b.in[2]));
}
int64_t entry_of(const Buffers& b, DType dtype) {
  return with_type(dtype, [&]<class T>(type_tag<T>) -> int64_t {
    if constexpr (std::is_integral_v<T>) {
      const auto entry = static_cast<int64_t>(*b.input<T>(1));
      memory_of(b).check(entry);
      return entry;
    }
    return 0;  // not an integer, which the graph has refused
  });
}

constexpr int64_t grain = 64;  ///< bytes; a cache line

}  // namespace

Kernel remote_load_kernel(DType entry_dtype, int64_t bytes) {
  const Phase checked{1, 1, [entry_dtype](const Buffers& b, int64_t, int64_t) { entry_of(b, entry_dtype); }};
  const Phase copied{bytes, grain, [entry_dtype](const Buffers& b, int64_t begin, int64_t end) {
                       const std::byte* entry = memory_of(b).at(entry_of(b, entry_dtype));
                       std::copy(entry + begin, entry + end, b.out[0] + begin);
                     }};
  return Kernel::parallel({checked, copied}, copy_ns_per_byte * static_cast<double>(bytes));
}

Kernel remote_store_kernel(DType entry_dtype, int64_t bytes) {
  const Phase replaced{
      1, 1, [entry_dtype](const Buffers& b, int64_t, int64_t) { memory_of(b).replace(entry_of(b, entry_dtype)); }};
  const Phase copied{bytes, grain, [entry_dtype](const Buffers& b, int64_t begin, int64_t end) {
                       std::copy(b.in[0] + begin, b.in[0] + end,
                                 memory_of(b).written(entry_of(b, entry_dtype)) + begin);
                     }};
  return Kernel::parallel({replaced, copied}, copy_ns_per_byte * static_cast<double>(bytes));
}

}  // namespace pxl
