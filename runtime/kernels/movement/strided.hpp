// Copies between two strided views: transposition, slicing, padding, concatenation and broadcasting.
#pragma once

#include <cstddef>
#include <cstring>

#include "runtime/kernels/elementwise/broadcast.hpp"

namespace pxl {

/// memcpy. Some C libraries copy long runs with the processor's string instruction. They take 2 to 15 times as long if
/// the result is up to a cache line ahead of the operand within a page (measured on AMD family 25). Such runs are
/// copied in short pieces.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes);

/// Copies `rows` runs of `bytes` bytes, which begin `to_step` and `from_step` bytes apart. Short runs need no call
/// each.
void copy_rows(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, size_t bytes, int64_t rows);

/// to[r * n + i] = x[r * step] for r < rows, i < n. Whole vectors are written; the next row overwrites the excess.
template <class T>
void repeat_elements(const T* x, int64_t step, T* to, int64_t n, int64_t rows) {
  typedef T V __attribute__((vector_size(16)));
  constexpr auto lanes = static_cast<int64_t>(16 / sizeof(T));
  const T* const end = to + n * rows;
  const int64_t stored = (n + lanes - 1) / lanes * lanes;
  for (; end - to >= stored && to != end; x += step, to += n) {
    const V all = V{} + *x;
    for (int64_t i = 0; i < n; i += lanes) std::memcpy(to + i, &all, sizeof all);
  }
  for (; to != end; x += step, to += n)
    for (int64_t i = 0; i < n; ++i) to[i] = *x;
}

class StridedCopy {
 public:
  /// Strides in elements of `width` bytes, one per extent. Negative strides are allowed, and for the input also zero.
  StridedCopy(size_t width, const Shape& extents, const Shape& in_strides, const Shape& out_strides);
  /// `in` and `out` point at the element with all indices 0. The two must not overlap.
  void operator()(const std::byte* in, std::byte* out) const { part(in, out, 0, iterations()); }

  /// Iterations [begin, end); disjoint ranges may run concurrently.
  void part(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const;
  /// Copies elements [begin, end) of a dense result in row-major order. The copy must not be a transposition.
  void elements(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const;
  bool is_transposition() const { return blocked_; }
  int64_t iterations() const { return by_block() ? along_ : nest_.extents[0]; }
  /// 64 if iterations are single elements; rows need no grain.
  int64_t grain() const { return nest_.extents.size() == 1 ? 64 : 1; }
  /// Estimated single-core time, in ns: copy_ns_per_byte along rows, 1 ns per element if one side is strided.
  double cost_ns() const;

 private:
  bool by_block() const { return blocked_ && nest_.extents.size() == 1; }

  LoopNest nest_;  ///< operand 0: in, 1: out; without the dimension that is split off
  LoopNest rows_;  ///< the loops around the innermost one
  size_t width_;
  bool blocked_ = false;          ///< a transposition: the input is strided in the inner loop, contiguous in another
  int64_t along_ = 1, step_ = 0;  ///< the other loop's extent, and its stride in the output
};

}  // namespace pxl
