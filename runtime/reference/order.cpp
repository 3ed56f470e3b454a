// Definitions that depend on the order of elements: medians, the places of extrema, sorting, counts between levels.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// The elements of an operand, in the type in which they are compared.
template <class F>
void compared(const ReferenceContext& c, F f) {
  if (is_floating(c.dtype(0)))
    f(c.real(0));
  else if (c.dtype(0) == DType::uint64)
    f(c.natural(0));
  else
    f(c.whole(0));
}

// The positions 0..n-1 in the order of value(i); equal ones keep theirs.
template <class Value>
std::vector<int64_t> sorted(int64_t n, bool descending, Value value) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return descending ? precedes(value(j), value(i)) : precedes(value(i), value(j));
  });
  return order;
}

// The first k of each line along an axis, and their places in it.
void first_of_order(ReferenceContext& c, bool descending) {
  const size_t axis = c.axis("axis");
  const Shape& shape = c.shape(0);
  Patterns values = Patterns::from_shape(extents(c.out_shape()));
  Wholes places = Wholes::from_shape(extents(c.out_shape()));
  const Patterns pattern = c.pattern(0);
  compared(c, [&](const auto& x) {
    Shape lines = c.out_shape();
    const int64_t k = lines[axis];
    lines[axis] = k == 0 ? 0 : 1;
    for (Place line(lines); line; line.next()) {
      Shape from = line.at(), to = line.at();
      const auto element = [&](int64_t i) {
        from[axis] = i;
        return offset(from, shape);
      };
      const std::vector<int64_t> order =
          sorted(shape[axis], descending, [&](int64_t i) { return x.data()[element(i)]; });
      for (to[axis] = 0; to[axis] < k; ++to[axis]) {
        const int64_t place = order[static_cast<size_t>(to[axis])];
        values.data()[offset(to, c.out_shape())] = pattern.data()[element(place)];
        places.data()[offset(to, c.out_shape())] = place;
      }
    }
  });
  c.move(0, values);
  c.out(1, places);
}

// The place along an axis of the first element that no other is better than; the first NaN is better than all.
Wholes places_of_best(const ReferenceContext& c, bool largest) {
  const size_t axis = c.axis("axis");
  const Shape& shape = c.shape(0);
  Shape lines = shape;
  lines[axis] = shape[axis] == 0 ? 0 : 1;
  Wholes places = Wholes::from_shape(extents(lines));
  compared(c, [&](const auto& x) {
    for (Place line(lines); line; line.next()) {
      Shape from = line.at();
      const auto value = [&](int64_t i) {
        from[axis] = i;
        return x.data()[offset(from, shape)];
      };
      int64_t best = 0;
      for (int64_t i = 1; i < shape[axis]; ++i) {
        const auto v = value(i), top = value(best);
        if (top == top && (v != v || (largest ? v > top : v < top))) best = i;
      }
      places.data()[line.index()] = best;
    }
  });
  return places;
}

void place_of_best(ReferenceContext& c, bool largest) {
  c.out(0, Wholes(xt::reshape_view(places_of_best(c, largest), extents(c.out_shape()))));
}

}  // namespace

void sort(ReferenceContext& c) { first_of_order(c, c.boolean("descending")); }
void topk(ReferenceContext& c) { first_of_order(c, c.boolean("largest")); }
void argmax(ReferenceContext& c) { place_of_best(c, true); }
void argmin(ReferenceContext& c) { place_of_best(c, false); }
void hardmax(ReferenceContext& c) {
  const size_t axis = c.axis("axis");
  const Wholes best = places_of_best(c, true);
  const Shape lines = shape_of(best);
  Reals y = Reals::from_shape(extents(c.out_shape()));
  for (Place p(c.out_shape()); p; p.next()) {
    Shape line = p.at();
    line[axis] = 0;
    y.data()[p.index()] = best.data()[offset(line, lines)] == p[axis] ? 1 : 0;
  }
  c.out(0, y);
}

// Element (n - 1) / 2 of the reduced ones in order; a NaN, which is last in order, where there is one.
void median_indices(ReferenceContext& c) {
  const std::vector<int64_t> axes = c.axes("axis");
  const Shape& shape = c.shape(0);
  Shape lines = shape, reduced;
  for (int64_t axis : axes) {
    reduced.push_back(shape[static_cast<size_t>(axis)]);
    lines[static_cast<size_t>(axis)] = 1;
  }
  Patterns values = Patterns::from_shape(extents(lines));
  Wholes places = Wholes::from_shape(extents(lines));
  const Patterns pattern = c.pattern(0);
  compared(c, [&](const auto& x) {
    for (Place line(lines); line; line.next()) {
      std::vector<int64_t> elements;
      for (Place p(reduced); p; p.next()) {
        Shape at = line.at();
        for (size_t i = 0; i < axes.size(); ++i) at[static_cast<size_t>(axes[i])] = p[i];
        elements.push_back(offset(at, shape));
      }
      const auto value = [&](int64_t i) { return x.data()[elements[static_cast<size_t>(i)]]; };
      const auto n = static_cast<int64_t>(elements.size());
      const std::vector<int64_t> order = sorted(n, false, value);
      const bool has_nan = value(order.back()) != value(order.back());
      const int64_t place = has_nan ? order.back() : order[static_cast<size_t>((n - 1) / 2)];
      // Finds the first of the equal elements.
      int64_t first = 0;
      while (precedes(value(first), value(place)) || precedes(value(place), value(first))) ++first;
      values.data()[line.index()] = pattern.data()[elements[static_cast<size_t>(first)]];
      places.data()[line.index()] = first;
    }
  });
  c.move(0, Patterns(xt::reshape_view(values, extents(c.out_shape(0)))));
  c.out(1, Wholes(xt::reshape_view(places, extents(c.out_shape(1)))));
}

void histogram(ReferenceContext& c) {
  const auto& levels = std::get<std::vector<double>>(c.site().attr("levels"));
  Wholes counts = Wholes::from_shape(extents(c.out_shape()));
  counts.fill(0);
  for (double v : c.real(0)) {
    if (c.boolean("absolute_of_input")) v = std::abs(v);
    // NaN is treated as above all levels.
    counts(static_cast<size_t>(
        std::count_if(levels.begin(), levels.end(), [&](double level) { return !(v < level); }))) += 1;
  }
  c.out(0, counts);
}

}  // namespace pxl::reference
