#include "runtime/kernels/elementwise/broadcast_rows.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/movement/strided.hpp"

namespace pxl {
namespace {

/// Maximum columns of a row that is computed together with others, as a block of dense operands. A call per row costs
/// more than the copy of its operand. Measured with AVX-512 on rows of 3 to 64.
constexpr int64_t short_row = 32;

template <class T>
void spread(const T* x, int64_t outer, int64_t step, int64_t inner, T* to, int64_t rows) {
  if (step == 0) return repeat_elements(x, outer, to, inner, rows);
  for (int64_t r = 0; r < rows; ++r, x += outer)
    for (int64_t i = 0; i < inner; ++i) *to++ = x[i * step];
}

/// One operand, as dense blocks of whole rows.
class DenseRows {
 public:
  DenseRows(const std::byte* x, int64_t outer, int64_t step, int64_t inner, size_t width)
      : x_(x), outer_(outer), step_(step), inner_(inner), width_(width) {}

  /// The elements of rows [first, first + rows), one row after another.
  const std::byte* block(int64_t first, int64_t rows) {
    const std::byte* from = x_ + first * outer_ * static_cast<int64_t>(width_);
    if (step_ == 1 && outer_ == inner_) return from;
    if (outer_ == 0 && rows <= kept_) return buffer_.data();
    switch (width_) {
      case 1: spread_as<uint8_t>(from, rows); break;
      case 2: spread_as<uint16_t>(from, rows); break;
      case 4: spread_as<uint32_t>(from, rows); break;
      default: spread_as<uint64_t>(from, rows);
    }
    kept_ = rows;
    return buffer_.data();
  }

 private:
  template <class T>
  void spread_as(const std::byte* from, int64_t rows) {
    spread(reinterpret_cast<const T*>(from), outer_, step_, inner_, reinterpret_cast<T*>(buffer_.data()), rows);
  }

  const std::byte* x_;
  int64_t outer_, step_, inner_, kept_ = 0;
  size_t width_;
  alignas(64) std::array<std::byte, block_size * 8> buffer_;
};

/// Rows [first, last).
void run_short_rows(const BroadcastRows& rows, const BinaryFn vv, const std::byte* a, const std::byte* b,
                    std::byte* out, size_t width, size_t out_width, int64_t first, int64_t last) {
  DenseRows left(a, rows.outer_stride[0], rows.inner_stride[0], rows.inner, width);
  DenseRows right(b, rows.outer_stride[1], rows.inner_stride[1], rows.inner, width);
  const int64_t at_once = block_size / rows.inner;
  for (int64_t r = first; r < last; r += at_once) {
    const int64_t count = std::min(at_once, last - r);
    vv(left.block(r, count), right.block(r, count), out + static_cast<size_t>(r * rows.inner) * out_width,
       count * rows.inner);
  }
}

}  // namespace

void run_rows(const BroadcastRows& rows, const BinaryBlock& fns, const std::byte* a, const std::byte* b, std::byte* out,
              size_t width, size_t out_width, int64_t begin, int64_t end) {
  const BinaryFn fn = form_of(fns, rows.inner_stride[0], rows.inner_stride[1]);
  for (int64_t i = begin; i < end;) {
    const int64_t row = i / rows.inner, column = i % rows.inner, whole = (end - i) / rows.inner;
    if (column == 0 && rows.inner <= short_row && whole > 1) {
      run_short_rows(rows, fns.vv, a, b, out, width, out_width, row, row + whole);
      i += whole * rows.inner;
      continue;
    }
    const int64_t n = std::min(rows.inner - column, end - i);
    const auto at = [&](int k) {
      return static_cast<size_t>(row * rows.outer_stride[k] + column * rows.inner_stride[k]) * width;
    };
    fn(a + at(0), b + at(1), out + static_cast<size_t>(i) * out_width, n);
    i += n;
  }
}

}  // namespace pxl
