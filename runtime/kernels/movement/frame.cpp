#include "runtime/kernels/movement/frame.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/movement/strided.hpp"

namespace pxl {

namespace {

class Framed {
 public:
  Framed(const TensorSpec& in, const std::vector<int64_t>& starts, const Element& value, const Shape& out)
      : in_(in.shape),
        starts_(starts),
        out_(out),
        strides_(strides_of(in.shape)),
        width_(size_of(in.dtype)),
        fill_(fill_kernel(value, element_count(out))) {}

  double cost_ns() const { return fill_.cost_ns(); }

  void operator()(const Buffers& b, int64_t begin, int64_t end) const {
    if (begin >= end) return;
    const size_t outer = out_.size() - 1;
    const int64_t n = out_[outer], first = starts_[outer], last = first + in_[outer];
    std::array<int64_t, max_rank> at;
    for (size_t d = outer, row = static_cast<size_t>(begin / n); d-- > 0; row /= static_cast<size_t>(out_[d]))
      at[d] = static_cast<int64_t>(row % static_cast<size_t>(out_[d]));
    for (int64_t row = begin / n * n; row < end; row += n) {
      const int64_t from = std::max(begin, row), to = std::min(end, row + n);
      const int64_t source = source_of(at);
      const int64_t kept = source < 0 ? to : std::clamp(row + first, from, to);
      const int64_t rest = source < 0 ? to : std::clamp(row + last, from, to);
      fill(b, from, kept);
      if (kept < rest)
        copy_bytes(b.out[0] + bytes(kept), b.in[0] + bytes(source + kept - row - first), size_t(bytes(rest - kept)));
      fill(b, rest, to);
      for (size_t d = outer; d-- > 0;) {
        if (++at[d] < out_[d]) break;
        at[d] = 0;
      }
    }
  }

 private:
  int64_t bytes(int64_t elements) const { return elements * static_cast<int64_t>(width_); }
  /// The first element of the operand's row for a result index; negative if there is none.
  int64_t source_of(const std::array<int64_t, max_rank>& at) const {
    int64_t source = 0;
    for (size_t d = 0; d + 1 < out_.size(); ++d) {
      const int64_t i = at[d] - starts_[d];
      if (i < 0 || i >= in_[d]) return -1;
      source += i * strides_[d];
    }
    return source;
  }
  void fill(const Buffers& b, int64_t begin, int64_t end) const {
    if (begin < end) fill_.phases()[0].part(b, begin, end);
  }

  Shape in_, starts_, out_, strides_;
  size_t width_;
  Kernel fill_;
};

}  // namespace

Kernel frame_kernel(const TensorSpec& in, const std::vector<int64_t>& starts, const Element& value, const Shape& out) {
  const Framed framed(in, starts, value, out);
  return Kernel::element_producer(element_count(out), 64, framed.cost_ns(), framed);
}

}  // namespace pxl
