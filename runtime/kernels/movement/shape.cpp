// Data movement kernels: one or a few strided copies each.
#include "runtime/kernels/movement/shape.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/threads/parallel_copy.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/indexing/index.hpp"
#include "runtime/kernels/movement/frame.hpp"
#include "runtime/kernels/movement/strided.hpp"

namespace pxl {
namespace {

void need_rank(std::string_view what, size_t given, size_t rank) {
  if (given != rank) {
    throw Error(std::string(what) + ": " + std::to_string(given) + " entries for a tensor of rank " +
                std::to_string(rank))
        .as(codes::shape);
  }
}

/// Element offset of `starts`, and strides times steps. Throws if a window with extents `size` leaves `shape`.
struct Window {
  int64_t base = 0;
  Shape strides;
};
Window window(std::string_view what, const Shape& shape, const std::vector<int64_t>& starts,
              const std::vector<int64_t>& steps, const Shape& size) {
  need_rank(what, starts.size(), shape.size());
  need_rank(what, steps.size(), shape.size());
  need_rank(what, size.size(), shape.size());
  Window w;
  w.strides = strides_of(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (steps[d] == 0) throw Error(std::string(what) + " with step 0 on axis " + std::to_string(d)).as(codes::shape);
    if (size[d] < 0)
      throw Error(std::string(what) + " of negative extent on axis " + std::to_string(d)).as(codes::shape);
    if (size[d] > 0) {
      // Number of elements that fit after the first; no step overflows.
      const uint64_t step = steps[d] > 0 ? static_cast<uint64_t>(steps[d]) : 0 - static_cast<uint64_t>(steps[d]);
      const uint64_t room = static_cast<uint64_t>(steps[d] > 0 ? shape[d] - 1 - starts[d] : starts[d]);
      if (starts[d] < 0 || starts[d] >= shape[d] || static_cast<uint64_t>(size[d] - 1) > room / step) {
        throw Error(std::string(what) + " leaves axis " + std::to_string(d) + " of extent " + std::to_string(shape[d]),
                    {"start " + std::to_string(starts[d]) + ", step " + std::to_string(steps[d]) + ", " +
                     std::to_string(size[d]) + " elements"})
            .as(codes::shape);
      }
      w.base += starts[d] * w.strides[d];
    }
    w.strides[d] *= size[d] > 1 ? steps[d] : 1;
  }
  return w;
}

/// Copies from in[0], at byte offset `from`, to out[0].
Kernel copying(StridedCopy copy, size_t from = 0) {
  return Kernel::parallel(
      copy.iterations(), copy.grain(), copy.cost_ns(),
      [copy, from](const Buffers& b, int64_t begin, int64_t end) { copy.part(b.in[0] + from, b.out[0], begin, end); });
}

/// The same for a dense result with n elements, in element order unless the copy is a transposition.
Kernel in_order(const StridedCopy& copy, size_t from, int64_t n) {
  if (copy.is_transposition()) return copying(copy, from);
  return Kernel::element_producer(n, 64, copy.cost_ns(), [copy, from](const Buffers& b, int64_t begin, int64_t end) {
    copy.elements(b.in[0] + from, b.out[0], begin, end);
  });
}

/// A result with shape `out`. The elements in the window from `starts` are in[0]; the others are `value`.
Kernel filled(std::string_view what, const TensorSpec& in, const std::vector<int64_t>& starts,
              const std::vector<int64_t>& steps, const Element& value, const Shape& out) {
  const Window w = window(what, out, starts, steps, in.shape);
  const size_t width = size_of(in.dtype);
  if (std::ranges::count(steps, 1) == std::ssize(steps) && !out.empty() && in.size() > 0)
    return frame_kernel(in, starts, value, out);
  const Kernel fill = fill_kernel(value, element_count(out));
  const StridedCopy copy(width, in.shape, strides_of(in.shape), w.strides);
  std::vector<Phase> phases = fill.phases();
  phases.push_back({copy.iterations(), copy.grain(),
                    [copy, base = static_cast<size_t>(w.base) * width](const Buffers& b, int64_t begin, int64_t end) {
                      copy.part(b.in[0], b.out[0] + base, begin, end);
                    }});
  return Kernel::parallel(std::move(phases), fill.cost_ns() + copy.cost_ns());
}

double copy_cost_ns(size_t rows, size_t bytes) {
  return copy_ns_per_byte * static_cast<double>(rows) * static_cast<double>(bytes);
}

std::vector<int64_t> ones(size_t n) { return std::vector<int64_t>(n, 1); }

/// The window of a dynamic op: its axes, the largest start on each axis, and the element stride of a start.
struct Dynamic {
  DType index;
  std::vector<int64_t> axes, last, strides;

  /// Element offset. Throws a run-time Error if the window leaves the tensor.
  int64_t offset(const std::byte* data) const {
    int64_t at = 0;
    for (size_t j = 0; j < axes.size(); ++j) {
      int64_t start = 0;
      read_indices(index, data + j * size_of(index), 1, &start);
      check_dynamic_start(start, axes[j], last[j]);
      at += start * strides[j];
    }
    return at;
  }
};
Dynamic dynamic(const Shape& whole, const Shape& part, const TensorSpec& index, const std::vector<int64_t>& axes) {
  need_rank("a dynamic window", part.size(), whole.size());
  if (!is_integer(index.dtype) || index.size() != static_cast<int64_t>(axes.size())) {
    throw Error("the index of a dynamic slice is one integer per axis, not " + text(index)).as(codes::shape);
  }
  Dynamic d{index.dtype, {}, {}, {}};
  const Shape strides = strides_of(whole);
  for (int64_t axis : axes) {
    const int64_t a = normalise_axis(axis, static_cast<int64_t>(whole.size()));
    const size_t i = static_cast<size_t>(a);
    d.axes.push_back(a);
    d.last.push_back(whole[i] - part[i]);
    d.strides.push_back(strides[i]);
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool moves = std::count(d.axes.begin(), d.axes.end(), static_cast<int64_t>(i)) > 0;
    if (part[i] > whole[i] || part[i] < 0 || (!moves && part[i] != whole[i])) {
      throw Error("a window of shape " + bracket_text(part) + " does not fit " + bracket_text(whole) + " on axis " +
                  std::to_string(i))
          .as(codes::shape);
    }
  }
  return d;
}

/// A transposition of a dense tensor. Short rows that stay together, the parts of complex numbers for example, move as
/// one wider element.
StridedCopy transposition(size_t width, Shape extents, Shape from) {
  const StridedCopy plain(width, extents, from, strides_of(extents));
  if (extents.size() < 3 || from.back() != 1) return plain;
  const int64_t row = extents.back(), bytes = row * static_cast<int64_t>(width);
  if (row < 2 || bytes > 8 || !std::has_single_bit(static_cast<uint64_t>(bytes))) return plain;
  extents.pop_back(), from.pop_back();
  for (int64_t& stride : from) stride /= row;
  const StridedCopy wide(static_cast<size_t>(bytes), extents, from, strides_of(extents));
  return wide.is_transposition() ? wide : plain;
}

}  // namespace

Kernel copy_kernel(const TensorSpec& spec) {
  constexpr int64_t grain = 64;  // bytes; a cache line
  const int64_t bytes = spec.bytes();
  return Kernel::parallel(bytes, grain, copy_ns_per_byte * static_cast<double>(bytes),
                          [](const Buffers& b, int64_t begin, int64_t end) {
                            if (b.in[0] != b.out[0]) std::copy(b.in[0] + begin, b.in[0] + end, b.out[0] + begin);
                          });
}

Kernel transpose_kernel(const TensorSpec& in, const std::vector<int64_t>& permutation) {
  need_rank("transpose", permutation.size(), in.shape.size());
  const Shape strides = strides_of(in.shape);
  Shape extents, from;
  std::vector<bool> seen(in.shape.size(), false);
  for (int64_t p : permutation) {
    const size_t a = static_cast<size_t>(normalise_axis(p, static_cast<int64_t>(in.shape.size())));
    if (seen[a])
      throw Error("transpose: axis " + std::to_string(p) + " appears twice in the permutation").as(codes::shape);
    seen[a] = true;
    extents.push_back(in.shape[a]);
    from.push_back(strides[a]);
  }
  return copying(transposition(size_of(in.dtype), std::move(extents), std::move(from)));
}

Kernel slice_kernel(const TensorSpec& in, const std::vector<int64_t>& starts, const std::vector<int64_t>& steps,
                    const Shape& out) {
  const Window w = window("slice", in.shape, starts, steps, out);
  const size_t width = size_of(in.dtype);
  return in_order(StridedCopy(width, out, w.strides, strides_of(out)), static_cast<size_t>(w.base) * width,
                  element_count(out));
}

Kernel slice_grad_kernel(const TensorSpec& dy, const std::vector<int64_t>& starts, const std::vector<int64_t>& steps,
                         const Shape& out) {
  return filled("slice", dy, starts, steps, Element(dy.dtype), out);
}

Kernel write_back_kernel(DType dtype, const StridedLayout& from, const StridedLayout& to) {
  const size_t width = size_of(dtype);
  const StridedCopy copy(width, to.shape, from.strides, to.strides);
  return Kernel::parallel(
      copy.iterations(), copy.grain(), copy.cost_ns(),
      [copy, in = static_cast<size_t>(from.offset) * width, out = static_cast<size_t>(to.offset) * width](
          const Buffers& b, int64_t begin, int64_t end) { copy.part(b.in[1] + in, b.out[0] + out, begin, end); });
}

Kernel pad_kernel(const TensorSpec& in, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                  const Element& value) {
  need_rank("pad", before.size(), in.shape.size());
  need_rank("pad", after.size(), in.shape.size());
  Shape out = in.shape;
  for (size_t d = 0; d < out.size(); ++d) {
    if (before[d] < 0 || after[d] < 0)
      throw Error("pad by a negative amount on axis " + std::to_string(d)).as(codes::shape);
    out[d] += before[d] + after[d];
  }
  if (in.size() == 0) return fill_kernel(value, element_count(out));
  return filled("pad", in, before, ones(out.size()), value, out);
}

namespace {

/// Calls f(buffers, first, last) for blocks of rows that stay in L1; a row has `bytes` bytes. A call covers all parts
/// of its rows, so a cache line that two parts share is loaded once.
template <class F>
auto in_row_blocks(size_t bytes, F f) {
  const int64_t rows = std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(1, static_cast<int64_t>(bytes)));
  return [f = std::move(f), rows](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += rows) f(b, at, std::min(end, at + rows));
  };
}

}  // namespace

Kernel concat_kernel(const std::vector<TensorSpec>& in, int64_t axis) {
  if (in.empty()) throw Error("concat needs at least one tensor");
  const size_t a = static_cast<size_t>(normalise_axis(axis, static_cast<int64_t>(in[0].shape.size())));
  const size_t width = size_of(in[0].dtype);
  size_t rows = 1, total = 0;
  for (size_t d = 0; d < a; ++d) rows *= static_cast<size_t>(in[0].shape[d]);
  std::vector<size_t> bytes;  // per row of each input
  for (const TensorSpec& s : in) {
    need_rank("concat", s.shape.size(), in[0].shape.size());
    size_t row = width;
    for (size_t d = 0; d < s.shape.size(); ++d) {
      if (d != a && s.shape[d] != in[0].shape[d]) {
        throw Error("concat: shapes " + bracket_text(in[0].shape) + " and " + bracket_text(s.shape) +
                    " differ on axis " + std::to_string(d))
            .as(codes::shape);
      }
      if (d >= a) row *= static_cast<size_t>(s.shape[d]);
    }
    if (s.dtype != in[0].dtype)
      throw Error("concat: " + text(in[0]) + " and " + text(s) + " differ in dtype").as(codes::dtype);
    bytes.push_back(row);
    total += row;
  }
  // Rows of one element are interleaved, without a call to memcpy for each.
  const auto row = static_cast<int64_t>(total / width);
  const StridedCopy column(width, {static_cast<int64_t>(rows)}, {1}, {row});
  const auto part = in_row_blocks(total, [=](const Buffers& b, int64_t begin, int64_t end) {
    size_t at = 0;
    for (size_t i = 0; i < bytes.size(); at += bytes[i++]) {
      if (bytes[i] == 0) continue;
      if (bytes[i] == width) {
        column.part(b.in[i], b.out[0] + at, begin, end);
        continue;
      }
      const auto step = static_cast<int64_t>(bytes[i]), whole = static_cast<int64_t>(total);
      copy_rows(b.out[0] + begin * whole + at, whole, b.in[i] + begin * step, step, bytes[i], end - begin);
    }
  });
  return Kernel::parallel(static_cast<int64_t>(rows), 1, copy_cost_ns(rows, total), part);
}

Kernel split_kernel(const TensorSpec& in, const std::vector<int64_t>& sizes, int64_t axis) {
  const size_t a = static_cast<size_t>(normalise_axis(axis, static_cast<int64_t>(in.shape.size())));
  size_t rows = 1, row = size_of(in.dtype);
  for (size_t d = 0; d < in.shape.size(); ++d) {
    if (d < a) rows *= static_cast<size_t>(in.shape[d]);
    if (d > a) row *= static_cast<size_t>(in.shape[d]);
  }
  int64_t sum = 0;
  std::vector<size_t> bytes;
  for (int64_t s : sizes) {
    if (s < 0 || s > in.shape[a])
      throw Error("split into a part of " + std::to_string(s) + " of " + std::to_string(in.shape[a])).as(codes::shape);
    sum += s;
    bytes.push_back(static_cast<size_t>(s) * row);
  }
  if (sum != in.shape[a]) {
    throw Error("the parts of a split add up to " + std::to_string(sum) + ", not to the extent " +
                std::to_string(in.shape[a]))
        .as(codes::shape);
  }
  const size_t total = static_cast<size_t>(in.shape[a]) * row;
  if (const size_t each = bytes.empty() ? 0 : bytes[0];
      each > 0 && std::ranges::count(bytes, each) == std::ssize(bytes)) {
    const size_t width = size_of(in.dtype);
    const auto n = static_cast<int64_t>(rows), run = static_cast<int64_t>(each / width);
    const StridedCopy copy(width, {n, run}, {static_cast<int64_t>(total / width), 1}, {run, 1});
    if (!copy.is_transposition())
      return Kernel::element_producer(n * run, 64, copy_cost_ns(rows, total),
                                      [copy, each, parts = bytes.size()](const Buffers& b, int64_t begin, int64_t end) {
                                        constexpr int64_t block = 1024;  // elements of a part, which stay in L1
                                        for (int64_t at = begin; at < end; at += block)
                                          for (size_t i = 0; i < parts; ++i)
                                            copy.elements(b.in[0] + i * each, b.out[i], at, std::min(end, at + block));
                                      });
  }
  const auto part = in_row_blocks(total, [=](const Buffers& b, int64_t begin, int64_t end) {
    size_t at = 0;
    for (size_t i = 0; i < bytes.size(); at += bytes[i++]) {
      if (bytes[i] == 0) continue;
      const auto step = static_cast<int64_t>(bytes[i]), whole = static_cast<int64_t>(total);
      copy_rows(b.out[i] + begin * step, step, b.in[0] + begin * whole + at, whole, bytes[i], end - begin);
    }
  });
  return Kernel::parallel(static_cast<int64_t>(rows), 1, copy_cost_ns(rows, total), part);
}

Kernel broadcast_to_kernel(DType dtype, const Shape& from, const Shape& to) {
  return in_order(StridedCopy(size_of(dtype), to, broadcast_strides(from, to), strides_of(to)), 0, element_count(to));
}

Kernel flip_kernel(const TensorSpec& in, const std::vector<int64_t>& axes) {
  std::vector<int64_t> starts(in.shape.size(), 0), steps = ones(in.shape.size());
  for (int64_t axis : axes) {
    const size_t a = static_cast<size_t>(normalise_axis(axis, static_cast<int64_t>(in.shape.size())));
    starts[a] = std::max<int64_t>(in.shape[a] - 1, 0);
    steps[a] = -1;
  }
  return slice_kernel(in, starts, steps, in.shape);
}

Kernel roll_kernel(const TensorSpec& in, int64_t shift, int64_t axis) {
  const size_t a = static_cast<size_t>(normalise_axis(axis, static_cast<int64_t>(in.shape.size())));
  size_t rows = 1, row = size_of(in.dtype);
  for (size_t d = 0; d < in.shape.size(); ++d) (d < a ? rows : row) *= static_cast<size_t>(in.shape[d]);
  const int64_t n = in.shape[a];
  if (in.size() == 0) return [](const Buffers&) {};
  const size_t width = size_of(in.dtype);
  const size_t head = static_cast<size_t>(((shift % n) + n) % n) * (row / static_cast<size_t>(n));
  // The elements of a row in order: first the end of the operand's row, then the rest.
  return Kernel::element_producer(
      in.size(), 64, copy_cost_ns(rows, row), [=](const Buffers& b, int64_t begin, int64_t end) {
        size_t at = static_cast<size_t>(begin) * width;
        for (const size_t stop = static_cast<size_t>(end) * width; at < stop;) {
          const size_t first = at / row * row, inside = at - first;
          const bool turned = inside < head;
          const size_t run = std::min(stop - at, (turned ? head : row) - inside);
          copy_bytes(b.out[0] + at, b.in[0] + first + (turned ? inside + row : inside) - head, run);
          at += run;
        }
      });
}

void check_dynamic_start(int64_t start, int64_t axis, int64_t last) {
  if (start < 0 || start > last)
    throw run_error("dynamic index " + index_text(start) + " is out of range on axis " + std::to_string(axis),
                    {"the window fits from 0 to " + std::to_string(last)})
        .as(codes::index);
}

Kernel dynamic_slice_kernel(const TensorSpec& t, const TensorSpec& index, const std::vector<int64_t>& axes,
                            const std::vector<int64_t>& sizes) {
  need_rank("dynamic slice sizes", sizes.size(), axes.size());
  Shape part = t.shape;
  for (size_t j = 0; j < axes.size(); ++j)
    part[static_cast<size_t>(normalise_axis(axes[j], static_cast<int64_t>(part.size())))] = sizes[j];
  const size_t width = size_of(t.dtype);
  return [width, d = dynamic(t.shape, part, index, axes),
          copy = StridedCopy(width, part, strides_of(t.shape), strides_of(part))](const Buffers& b) {
    copy(b.in[0] + static_cast<size_t>(d.offset(b.in[1])) * width, b.out[0]);
  };
}

Kernel dynamic_update_kernel(const TensorSpec& t, const TensorSpec& index, const TensorSpec& update,
                             const std::vector<int64_t>& axes) {
  if (update.dtype != t.dtype)
    throw Error("dynamic update of " + text(t) + " by " + text(update) + ": the dtypes differ").as(codes::dtype);
  const size_t width = size_of(t.dtype);
  return [width, bytes = static_cast<size_t>(t.bytes()), d = dynamic(t.shape, update.shape, index, axes),
          copy = StridedCopy(width, update.shape, strides_of(update.shape), strides_of(t.shape))](const Buffers& b) {
    const size_t at = static_cast<size_t>(d.offset(b.in[1])) * width;
    if (bytes != 0 && b.out[0] != b.in[0]) std::memmove(b.out[0], b.in[0], bytes);
    copy(b.in[2], b.out[0] + at);
  };
}

Kernel dynamic_slice_grad_kernel(const TensorSpec& dy, const TensorSpec& index, const std::vector<int64_t>& axes,
                                 const Shape& out) {
  const size_t width = size_of(dy.dtype);
  return [width, bytes = static_cast<size_t>(element_count(out)) * width, d = dynamic(out, dy.shape, index, axes),
          copy = StridedCopy(width, dy.shape, strides_of(dy.shape), strides_of(out))](const Buffers& b) {
    const size_t at = static_cast<size_t>(d.offset(b.in[1])) * width;
    if (bytes != 0) std::memset(b.out[0], 0, bytes);
    copy(b.in[0], b.out[0] + at);
  };
}

}  // namespace pxl
