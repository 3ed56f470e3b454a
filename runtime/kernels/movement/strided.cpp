#include "runtime/kernels/movement/strided.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/kernels/block/block_integer.hpp"

namespace pxl {
namespace {

template <int64_t step, class T>
void copy_every(const T* in, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i * step];
}

/// Copies every third 4-byte element. GCC 12's own vector code for this takes four times as long as scalar code.
void copy_thirds(const uint32_t* in, uint32_t* out, int64_t n) {
  typedef uint32_t V __attribute__((vector_size(16)));
  int64_t i = 0;
  for (; i + 4 < n; i += 4, in += 12) {  // not the last: it may be the last element in memory
    V a, b, c;
    std::memcpy(&a, in, sizeof a);
    std::memcpy(&b, in + 4, sizeof b);
    std::memcpy(&c, in + 8, sizeof c);
    const V last = __builtin_shufflevector(b, c, 2, 2, 5, 5), all = __builtin_shufflevector(a, last, 0, 3, 4, 6);
    std::memcpy(out + i, &all, sizeof all);
  }
  for (; i < n; ++i, in += 3) out[i] = *in;
}

template <class T>
void copy_run(const T* in, int64_t si, T* out, int64_t so, int64_t n) {
  if (so != 1) {
    for (int64_t i = 0; i < n; ++i) out[i * so] = in[i * si];
    return;
  }
  switch (si) {
    case 0: integer_blocks().fill(sizeof(T))(in, out, n); return;
    case 1:
      copy_bytes(reinterpret_cast<std::byte*>(out), reinterpret_cast<const std::byte*>(in),
                 static_cast<size_t>(n) * sizeof(T));
      return;
    // Constant steps become vector code.
    case -1: copy_every<-1>(in, out, n); return;
    case 2: copy_every<2>(in, out, n); return;
    case 4: copy_every<4>(in, out, n); return;
    case 3:
      if constexpr (sizeof(T) == 4) return copy_thirds(in, out, n);
      return copy_every<3>(in, out, n);
    default:
      for (int64_t i = 0; i < n; ++i) out[i] = in[i * si];
  }
}

/// Copies rows of n elements. Their first elements are `ri` and `ro` apart.
template <class T>
void copy_rows_of(const T* in, int64_t ri, int64_t si, T* out, int64_t ro, int64_t so, int64_t rows, int64_t n) {
  constexpr int64_t short_row = 8, repeated_row = 64;
  if (si == 0 && so == 1 && ro == n && n <= repeated_row) {
    repeat_elements(in, ri, out, n, rows);
  } else if (si == 1 && so == 1) {
    constexpr auto width = static_cast<int64_t>(sizeof(T));
    copy_rows(reinterpret_cast<std::byte*>(out), ro * width, reinterpret_cast<const std::byte*>(in), ri * width,
              static_cast<size_t>(n * width), rows);
  } else if (n <= short_row) {
    for (int64_t r = 0; r < rows; ++r, in += ri, out += ro)
      for (int64_t i = 0; i < n; ++i) out[i * so] = in[i * si];
  } else {
    for (int64_t r = 0; r < rows; ++r) copy_run(in + r * ri, si, out + r * ro, so, n);
  }
}

template <class T>
struct Words {
  typedef T type __attribute__((vector_size(16)));
  static constexpr int count = 16 / static_cast<int>(sizeof(T));
};

/// Interleaves lanes of a and b, from the lower or the upper half of each.
template <class V, int half, size_t... lane>
V interleaved_lanes(V a, V b, std::index_sequence<lane...>) {
  constexpr int count = sizeof...(lane);
  return __builtin_shufflevector(a, b, ((lane % 2) * count + lane / 2 + half * count / 2)...);
}

/// Transposes as many vectors as a vector has lanes. Each round interleaves the first half with the second half.
template <class T>
void transpose_words(typename Words<T>::type* rows) {
  using V = typename Words<T>::type;
  constexpr int n = Words<T>::count;
  const auto lanes = std::make_index_sequence<static_cast<size_t>(n)>();
  for (int round = 1; round < n; round *= 2) {
    V next[n];
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = interleaved_lanes<V, 0>(rows[i], rows[i + n / 2], lanes);
      next[2 * i + 1] = interleaved_lanes<V, 1>(rows[i], rows[i + n / 2], lanes);
    }
    std::copy_n(next, n, rows);
  }
}

/// Rows and columns per transposed tile: one cache line, or two.
template <class T>
constexpr int64_t tile_extent = 64 / sizeof(T) * (sizeof(T) == 8 ? 2 : 1);

/// Transposes a tile. Each cache line on both sides is accessed once: rows at a power-of-two distance compete for the
/// same L1 sets, and would be loaded again for each element. `later` is a tile that follows soon, and is prefetched:
/// processors prefetch lines within a page only, and each row is on another page.
template <class T>
void copy_tile(const T* in, int64_t si, T* out, int64_t so, const T* later) {
  using V = typename Words<T>::type;
  constexpr int64_t tile = tile_extent<T>, n = Words<T>::count;
  constexpr size_t row = static_cast<size_t>(tile) * sizeof(T);
  alignas(64) T given[tile * tile], turned[tile * tile];
  for (int64_t i = 0; i < tile; ++i) {
    std::memcpy(given + i * tile, in + i * si, row);
    for (int64_t line = 0; line < tile; line += static_cast<int64_t>(64 / sizeof(T)))
      __builtin_prefetch(later + i * si + line);
  }
  for (int64_t i = 0; i < tile; i += n)
    for (int64_t j = 0; j < tile; j += n) {
      V block[n];
      for (int64_t r = 0; r < n; ++r) std::memcpy(&block[r], given + (i + r) * tile + j, sizeof(V));
      transpose_words<T>(block);
      for (int64_t r = 0; r < n; ++r) std::memcpy(turned + (j + r) * tile + i, &block[r], sizeof(V));
    }
  for (int64_t j = 0; j < tile; ++j) std::memcpy(out + j * so, turned + j * tile, row);
}

/// out[j * so + i] = in[i * si + j] for i < n, j < m.
template <class T>
void copy_block(const T* in, int64_t si, T* out, int64_t so, int64_t n, int64_t m) {
  constexpr int64_t tile = tile_extent<T>, ahead = 2 * tile;
  const auto later = [&](int64_t i, int64_t j) {
    const bool below = i + ahead < n;
    const int64_t next_i = below ? i + ahead : i + ahead - n, next_j = below ? j : j + tile;
    return next_i + tile <= n && next_j + tile <= m ? in + next_i * si + next_j : in + i * si + j;
  };
  for (int64_t j0 = 0; j0 < m; j0 += tile) {
    const int64_t j1 = std::min(m, j0 + tile);
    for (int64_t i0 = 0; i0 < n; i0 += tile) {
      const int64_t i1 = std::min(n, i0 + tile);
      if (i1 - i0 == tile && j1 - j0 == tile) {
        copy_tile(in + i0 * si + j0, si, out + j0 * so + i0, so, later(i0, j0));
        continue;
      }
      // Wider elements than the dtype's may lie anywhere.
      for (int64_t j = j0; j < j1; ++j)
        for (int64_t i = i0; i < i1; ++i) std::memcpy(out + j * so + i, in + i * si + j, sizeof(T));
    }
  }
}

template <class T>
void copy_all(const LoopNest& nest, const LoopNest& rows, int64_t begin, int64_t end, bool blocked, int64_t along,
              int64_t step, const std::byte* in, std::byte* out) {
  const T* x = reinterpret_cast<const T*>(in);
  T* y = reinterpret_cast<T*>(out);
  const int64_t si = nest.inner_stride(0), so = nest.inner_stride(1);
  if (blocked)
    return for_each_run<2>(nest, begin, end,
                           [&](const auto& at, int64_t n) { copy_block(x + at[0], si, y + at[1], step, n, along); });
  if (nest.extents.size() == 1) return copy_run(x + begin * si, si, y + begin * so, so, end - begin);
  for_each_run<2>(rows, begin, end, [&](const auto& at, int64_t count) {
    copy_rows_of(x + at[0], rows.inner_stride(0), si, y + at[1], rows.inner_stride(1), so, count, nest.inner());
  });
}

/// Copies elements [begin, end) of a dense result: whole rows together, and the partial rows at both ends.
template <class T>
void copy_elements(const LoopNest& nest, const std::byte* in, std::byte* out, int64_t begin, int64_t end) {
  const T* x = reinterpret_cast<const T*>(in);
  T* y = reinterpret_cast<T*>(out);
  const int64_t n = nest.inner(), step = nest.inner_stride(0);
  const size_t outer = nest.extents.size() - 1;
  for (int64_t i = begin; i < end;) {
    const int64_t row = i / n, column = i % n, whole = column == 0 ? (end - i) / n : 0;
    int64_t from = column * step, left = row;
    for (size_t d = outer; d-- > 0; left /= nest.extents[d])
      from += (d == 0 ? left : left % nest.extents[d]) * nest.strides[0][d];
    if (whole > 0 && outer > 0) {
      const int64_t rows = std::min(whole, nest.extents[outer - 1] - row % nest.extents[outer - 1]);
      copy_rows_of(x + from, nest.strides[0][outer - 1], step, y + i, n, int64_t{1}, rows, n);
      i += rows * n;
      continue;
    }
    const int64_t m = std::min(n - column, end - i);
    copy_run(x + from, step, y + i, 1, m);
    i += m;
  }
}

template <class T>
void copy_part(const LoopNest& nest, const LoopNest& rows, int64_t begin, int64_t end, bool blocked, int64_t along,
               int64_t step, const std::byte* in, std::byte* out) {
  if (!blocked || nest.extents.size() > 1) return copy_all<T>(nest, rows, begin, end, blocked, along, step, in, out);
  // One block: part of the extent that was split off.
  const auto width = static_cast<int64_t>(sizeof(T));
  copy_all<T>(nest, rows, 0, nest.extents[0], true, end - begin, step, in + begin * width, out + begin * step * width);
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr size_t page = 4096, line = 64, piece = 1024;
  const size_t ahead = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % page;
  const size_t most = ahead > 0 && ahead < line ? piece : bytes;
  for (size_t at = 0; at < bytes; at += most) std::memcpy(to + at, from + at, std::min(most, bytes - at));
}

namespace {

/// Copies runs as two overlapping pieces. A run has at least `piece` bytes and less than two pieces.
template <size_t piece>
void copy_overlapping(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, size_t bytes,
                      int64_t rows) {
  const size_t second = bytes - piece;
  for (int64_t r = 0; r < rows; ++r, to += to_step, from += from_step) {
    std::byte first[piece], last[piece];
    std::memcpy(first, from, piece);
    std::memcpy(last, from + second, piece);
    std::memcpy(to, first, piece);
    std::memcpy(to + second, last, piece);
  }
}

}  // namespace

void copy_rows(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, size_t bytes, int64_t rows) {
  if (bytes == 0) return;
  if (to_step == static_cast<int64_t>(bytes) && from_step == to_step)
    return copy_bytes(to, from, bytes * static_cast<size_t>(rows));
  switch (std::bit_width(bytes)) {
    case 1: return copy_overlapping<1>(to, to_step, from, from_step, bytes, rows);
    case 2: return copy_overlapping<2>(to, to_step, from, from_step, bytes, rows);
    case 3: return copy_overlapping<4>(to, to_step, from, from_step, bytes, rows);
    case 4: return copy_overlapping<8>(to, to_step, from, from_step, bytes, rows);
    case 5: return copy_overlapping<16>(to, to_step, from, from_step, bytes, rows);
    case 6: return copy_overlapping<32>(to, to_step, from, from_step, bytes, rows);
    default:
      for (int64_t r = 0; r < rows; ++r) copy_bytes(to + r * to_step, from + r * from_step, bytes);
  }
}

StridedCopy::StridedCopy(size_t width, const Shape& extents, const Shape& in_strides, const Shape& out_strides)
    : nest_(make_loop_nest(extents, {in_strides, out_strides})), rows_(without_innermost(nest_)), width_(width) {
  if (nest_.inner_stride(1) != 1 || nest_.inner_stride(0) == 1 || nest_.inner_stride(0) == 0) return;
  for (size_t d = 0; d + 1 < nest_.extents.size(); ++d) {
    if (nest_.strides[0][d] != 1) continue;
    const auto at = static_cast<std::ptrdiff_t>(d);
    blocked_ = true;
    along_ = nest_.extents[d];
    step_ = nest_.strides[1][d];
    nest_.extents.erase(nest_.extents.begin() + at);
    for (Shape& s : nest_.strides) s.erase(s.begin() + at);
    if (along_ == 0) nest_.extents.assign(1, 0), nest_.strides.assign(2, Shape{0});
    return;
  }
}

void StridedCopy::part(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const {
  switch (width_) {
    case 1: return copy_part<uint8_t>(nest_, rows_, begin, end, blocked_, along_, step_, in, out);
    case 2: return copy_part<uint16_t>(nest_, rows_, begin, end, blocked_, along_, step_, in, out);
    case 4: return copy_part<uint32_t>(nest_, rows_, begin, end, blocked_, along_, step_, in, out);
    default: return copy_part<uint64_t>(nest_, rows_, begin, end, blocked_, along_, step_, in, out);
  }
}

void StridedCopy::elements(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const {
  switch (width_) {
    case 1: return copy_elements<uint8_t>(nest_, in, out, begin, end);
    case 2: return copy_elements<uint16_t>(nest_, in, out, begin, end);
    case 4: return copy_elements<uint32_t>(nest_, in, out, begin, end);
    default: return copy_elements<uint64_t>(nest_, in, out, begin, end);
  }
}

double StridedCopy::cost_ns() const {
  const double elements = static_cast<double>(nest_.size()) * static_cast<double>(blocked_ ? along_ : 1);
  const bool rows = nest_.inner_stride(1) == 1 && nest_.inner_stride(0) == 1;
  return elements * (rows ? 0.1 * static_cast<double>(width_) : 1.0);
}

}  // namespace pxl
