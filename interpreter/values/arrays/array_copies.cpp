#include "interpreter/values/arrays/array_copies.hpp"

#include <algorithm>

#include "runtime/base/limits/budget.hpp"
#include "runtime/kernels/movement/strided.hpp"
#include "runtime/tensor/gather.hpp"

namespace pxl {

void gather_charged(const Array& a, std::span<const int64_t> offsets, std::span<const int64_t> expected, size_t bytes,
                    std::byte* to) {
  constexpr size_t chunk_bytes = size_t{16} << 20;
  const size_t width = size_of(a.dtype()), chunk = std::max<size_t>(1, chunk_bytes / std::max<size_t>(1, bytes));
  for (size_t at = 0; at < offsets.size(); at += chunk) {
    const auto part = offsets.subspan(at, std::min(chunk, offsets.size() - at));
    charge(static_cast<int64_t>(part.size() * bytes / 4));
    gather(a.raw(), width, part, at + chunk < offsets.size() ? std::span<const int64_t>() : expected, bytes,
           to + at * bytes);
  }
}

void copy_window(const Array& a, int64_t base, Shape extents, Shape strides, int64_t run, std::byte* to) {
  constexpr int64_t chunk_bytes = int64_t{16} << 20;
  const size_t width = size_of(a.dtype());
  extents.push_back(run);
  strides.push_back(1);
  if (element_count(extents) == 0) return;
  const StridedCopy copy(width, extents, strides, strides_of(extents));
  const int64_t bytes = element_count(extents) * static_cast<int64_t>(width), n = copy.iterations();
  const int64_t chunk = std::max<int64_t>(1, n / (1 + bytes / chunk_bytes));
  for (int64_t at = 0; at < n; at += chunk) {
    const int64_t end = std::min(n, at + chunk);
    charge(bytes / 4 / n * (end - at));
    copy.part(a.raw() + base * static_cast<int64_t>(width), to, at, end);
  }
}

Array select_elements(const Array& a, const Array& mask) {
  constexpr int64_t chunk = int64_t{1} << 22;
  const bool* keep = mask.data<bool>();
  int64_t count = 0;
  for (int64_t at = 0; at < a.size(); at += chunk) {
    const int64_t end = std::min(a.size(), at + chunk);
    charge(end - at);
    count += std::count(keep + at, keep + end, true);
  }
  Array out(a.dtype(), {count});
  if (!out.has_elements()) return out;
  const auto select = [&]<class T>(T) {
    const T* from = reinterpret_cast<const T*>(a.raw());
    T* to = reinterpret_cast<T*>(out.mutable_raw());
    // The loop has no branches: if an element is not kept, the next one overwrites it.
    for (int64_t i = 0, k = 0; k < count; ++i) {
      if (i % chunk == 0) charge(std::min(chunk, a.size() - i));
      to[k] = from[i];
      k += keep[i] ? 1 : 0;
    }
  };
  switch (size_of(a.dtype())) {
    case 1: select(uint8_t{}); break;
    case 2: select(uint16_t{}); break;
    case 4: select(uint32_t{}); break;
    default: select(uint64_t{});
  }
  return out;
}

}  // namespace pxl
