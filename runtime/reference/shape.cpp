// Ops that move elements: their patterns, whatever the dtype.
#include <algorithm>
#include <numeric>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

using Ints = std::vector<int64_t>;

// Element p of the result is element place(p) of t.
template <class Where>
void taken(ReferenceContext& c, Where place) {
  const Patterns t = c.pattern(0);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  for (Place p(c.out_shape()); p; p.next()) y.data()[p.index()] = t.data()[offset(place(p), c.shape(0))];
  c.move(0, y);
}

// Copies `into`, with element p of operand `slot` at place(p).
template <class Where>
Patterns placed(const ReferenceContext& c, Patterns into, size_t slot, Where place) {
  const Patterns t = c.pattern(slot);
  const Shape shape = shape_of(into);
  for (Place p(c.shape(slot)); p; p.next()) into.data()[offset(place(p), shape)] = t.data()[p.index()];
  return into;
}

Patterns filled(const Shape& shape, uint64_t pattern) {
  Patterns y = Patterns::from_shape(extents(shape));
  y.fill(pattern);
  return y;
}

// Maps positions in a slice to the operand, by the slice's starts and steps.
auto window(const ReferenceContext& c) {
  return [starts = c.integers("starts"), steps = c.integers("steps")](const Place& p) {
    Shape at = p.at();
    for (size_t i = 0; i < at.size(); ++i) at[i] = starts[i] + at[i] * steps[i];
    return at;
  };
}

// The start of a window that an index tensor places: the window has extents `size`, and lies in `whole`.
Shape dynamic_start(const ReferenceContext& c, const Shape& size, const Shape& whole) {
  const Ints axes = c.integers("axes");
  const Wholes index = c.indices(1);
  Shape start(whole.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalise_axis(axes[i], static_cast<int64_t>(whole.size())));
    start[axis] = index.data()[i];
    check_dynamic_start(start[axis], static_cast<int64_t>(axis), whole[axis] - size[axis]);
  }
  return start;
}

auto from_start(const Shape& start) {
  return [start](const Place& p) {
    Shape at = p.at();
    for (size_t i = 0; i < at.size(); ++i) at[i] += start[i];
    return at;
  };
}

}  // namespace

void transpose(ReferenceContext& c) {
  const auto rank = static_cast<int64_t>(c.shape(0).size());
  Ints permutation;
  if (c.is_none("permutation"))
    for (int64_t i = rank; i-- > 0;) permutation.push_back(i);
  else
    for (int64_t i : c.integers("permutation")) permutation.push_back(normalise_axis(i, rank));
  c.move(0, xt::transpose(c.pattern(0), permutation));
}

void broadcast_to(ReferenceContext& c) { c.move(0, c.pattern(0)); }
void slice_window(ReferenceContext& c) { taken(c, window(c)); }
void slice_grad(ReferenceContext& c) { c.move(0, placed(c, filled(c.out_shape(), 0), 0, window(c))); }

void subsample(ReferenceContext& c) {
  const Ints strides = c.integers("strides");
  taken(c, [&](const Place& p) {
    Shape at = p.at();
    for (size_t i = 0; i < strides.size(); ++i) at[i] *= strides[i];
    return at;
  });
}

void pad(ReferenceContext& c) {
  const Ints padding = c.integers("padding");  // before each axis, then after each
  c.move(0, placed(c, filled(c.out_shape(), c.element_pattern("value")), 0,
                   from_start(Shape(padding.begin(), padding.begin() + static_cast<ptrdiff_t>(padding.size() / 2)))));
}

void flip(ReferenceContext& c) {
  taken(c, [axes = c.axes("axes"), &shape = c.shape(0)](const Place& p) {
    Shape at = p.at();
    for (int64_t axis : axes)
      at[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)] - 1 - p[static_cast<size_t>(axis)];
    return at;
  });
}

void roll(ReferenceContext& c) {
  taken(c, [axis = c.axis("axis"), shift = c.integer("shift"), &shape = c.shape(0)](const Place& p) {
    Shape at = p.at();
    const int64_t extent = shape[axis], back = (p[axis] - shift % extent) % extent;
    at[axis] = back < 0 ? back + extent : back;
    return at;
  });
}

void concat(ReferenceContext& c) {
  const size_t axis = c.axis("axis");
  Patterns y = filled(c.out_shape(), 0);
  Shape start(c.out_shape().size(), 0);
  for (size_t i = 0; i < c.operands(); ++i) {
    y = placed(c, y, i, from_start(start));
    start[axis] += c.shape(i)[axis];
  }
  c.move(0, y);
}

void split(ReferenceContext& c) {
  const size_t axis = c.axis("axis");
  const Patterns t = c.pattern(0);
  int64_t begin = 0;
  for (size_t i = 0; i < c.site().out.size(); ++i) {
    Patterns part = Patterns::from_shape(extents(c.out_shape(i)));
    for (Place p(c.out_shape(i)); p; p.next()) {
      Shape at = p.at();
      at[axis] += begin;
      part.data()[p.index()] = t.data()[offset(at, c.shape(0))];
    }
    c.move(i, part);
    begin += c.out_shape(i)[axis];
  }
}

void dynamic_slice(ReferenceContext& c) { taken(c, from_start(dynamic_start(c, c.out_shape(), c.shape(0)))); }
void dynamic_slice_grad(ReferenceContext& c) {
  c.move(0, placed(c, filled(c.out_shape(), 0), 0, from_start(dynamic_start(c, c.shape(0), c.out_shape()))));
}
void dynamic_update(ReferenceContext& c) {
  c.move(0, placed(c, c.pattern(0), 2, from_start(dynamic_start(c, c.shape(2), c.shape(0)))));
}

}  // namespace pxl::reference
