// Ops that read or write at the positions in an index tensor. An index out of range is an error, unless something else
// is requested.
#include "runtime/kernels/indexing/index.hpp"

#include <limits>
#include <map>
#include <vector>

#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

int64_t checked(const Wholes& indices, int64_t position, size_t axis, int64_t extent) {
  return wrapped_index(indices.data()[position], position, static_cast<int64_t>(axis), extent);
}

// Calls f(position in t, position in the gathered tensor) for the elements that a gather takes. Both tensors have the
// first `batch` axes; the other axes of the indices replace `axis`. If `may_be_out`, indices out of range are skipped.
template <class F>
void each_gathered(const Wholes& indices, const Shape& t, size_t axis, size_t batch, bool may_be_out, F f) {
  const Shape at_indices = shape_of(indices);
  Shape gathered(t.begin(), t.begin() + static_cast<ptrdiff_t>(axis));
  gathered.insert(gathered.end(), at_indices.begin() + static_cast<ptrdiff_t>(batch), at_indices.end());
  gathered.insert(gathered.end(), t.begin() + static_cast<ptrdiff_t>(axis) + 1, t.end());
  const size_t own = at_indices.size() - batch;
  for (Place p(gathered); p; p.next()) {
    Shape which(p.at().begin(), p.at().begin() + static_cast<ptrdiff_t>(batch)), from;
    which.insert(which.end(), p.at().begin() + static_cast<ptrdiff_t>(axis),
                 p.at().begin() + static_cast<ptrdiff_t>(axis + own));
    const int64_t position = offset(which, at_indices), index = indices.data()[position];
    if (may_be_out && (index < 0 || index >= t[axis])) continue;
    for (size_t i = 0; i < t.size(); ++i)
      from.push_back(i < axis ? p[i] : i == axis ? checked(indices, position, axis, t[axis]) : p[i + own - 1]);
    f(offset(from, t), p.index());
  }
}

void gather_along(ReferenceContext& c, size_t axis, size_t batch) {
  const Patterns t = c.pattern(0);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  y.fill(0);
  each_gathered(c.indices(1), c.shape(0), axis, batch, c.boolean("zero_OOR"),
                [&](int64_t from, int64_t to) { y.data()[to] = t.data()[from]; });
  c.move(0, y);
}

// Calls f(element of t, element of the indices), if there is an index for each element.
template <class F>
void each_along(const ReferenceContext& c, F f) {
  const Wholes indices = c.indices(1);
  const size_t axis = c.axis("axis");
  for (Place p(c.shape(1)); p; p.next()) {
    Shape at = p.at();
    at[axis] = checked(indices, p.index(), axis, c.shape(0)[axis]);
    f(offset(at, c.shape(0)), p.index());
  }
}

// f(element of the reduced tensor, element of the data): the index of an element, or of its slice along the axis.
template <class F>
void each_reduced(const ReferenceContext& c, const Shape& data, const Shape& reduced, size_t axis, F f) {
  const Wholes indices = c.indices(1);
  const bool by_slice = c.shape(1) != data;
  for (Place p(data); p; p.next()) {
    Shape at = p.at();
    at[axis] = checked(indices, by_slice ? p[axis] : p.index(), axis, reduced[axis]);
    f(offset(at, reduced), p.index());
  }
}

// f(row that is named, position of the index) in their order.
template <class F>
void each_named_row(const ReferenceContext& c, size_t slot, int64_t extent, F f) {
  const Wholes indices = c.indices(slot);
  for (int64_t i = 0; i < std::ssize(indices); ++i) {
    const int64_t given = indices.data()[i];
    if (!c.boolean("ignore_OOR"))
      f(checked(indices, i, 0, extent), i);
    else if (given >= 0 && given < extent)
      f(given, i);
  }
}

// 1 where a label names class k, else 0: -1 is the last class, a label outside names none.
size_t is_label(int64_t label, int64_t k, int64_t classes) { return label == k || label == k - classes ? 1 : 0; }

// The strides of the classes in a shape that has them at `axis`.
Shape without(Shape at, size_t axis) {
  at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
  return at;
}

}  // namespace

void gather(ReferenceContext& c) { gather_along(c, c.axis("axis"), 0); }
void groupedgather(ReferenceContext& c) {
  gather_along(c, static_cast<size_t>(normalise_axis(c.integer("axis"), rank_of(c.site().input(0)) - 1)) + 1, 1);
}
void gather_grad(ReferenceContext& c) {
  if (c.site().out[0].size() == 0) return;
  const auto add_up = [&](const auto& g) {
    std::decay_t<decltype(g)> y = xt::zeros<typename std::decay_t<decltype(g)>::value_type>(extents(c.out_shape()));
    each_gathered(c.indices(1), c.out_shape(), static_cast<size_t>(c.integer("axis")),
                  static_cast<size_t>(c.integer("batch")), c.boolean("zero_OOR"),
                  [&](int64_t to, int64_t from) { y.data()[to] += g.data()[from]; });
    c.out(0, y);
  };
  is_floating(c.dtype(0)) ? add_up(c.real(0)) : add_up(c.whole(0));
}

void onehot(ReferenceContext& c) {
  const auto axis = static_cast<size_t>(normalise_axis(c.integer("axis"), rank_of(c.site().out[0])));
  const Wholes labels = c.indices(0);
  const Patterns off_on = c.pattern(1);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  for (Place p(c.out_shape()); p; p.next())
    y.data()[p.index()] =
        off_on(is_label(labels.data()[offset(without(p.at(), axis), c.shape(0))], p[axis], c.out_shape()[axis]));
  c.move(0, y);
}
void onehot_grad(ReferenceContext& c) {
  const auto axis = static_cast<size_t>(c.integer("axis"));
  const Wholes labels = c.indices(1);
  const Reals g = c.real(0);
  Reals sums = xt::zeros<double>({size_t{2}});
  for (Place p(c.shape(0)); p; p.next())
    sums(is_label(labels.data()[offset(without(p.at(), axis), c.shape(1))], p[axis], c.shape(0)[axis])) +=
        g.data()[p.index()];
  c.out(0, sums);
}

void take_along(ReferenceContext& c) {
  const Patterns t = c.pattern(0);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  each_along(c, [&](int64_t from, int64_t to) { y.data()[to] = t.data()[from]; });
  c.move(0, y);
}
void scatter(ReferenceContext& c) {
  Patterns y = c.pattern(0);
  const Patterns values = c.pattern(2);
  each_along(c, [&](int64_t to, int64_t from) { y.data()[to] = values.data()[from]; });
  c.move(0, y);
}
void scatter_zero(ReferenceContext& c) {
  Patterns y = c.pattern(0);
  each_along(c, [&](int64_t to, int64_t) { y.data()[to] = 0; });
  c.move(0, y);
}

void scatter_reduce(ReferenceContext& c) {
  const std::string& reduction = c.string("reduction");
  const size_t axis = c.axis("axis");
  const auto reduce = [&](const auto& data, auto initial) {
    using T = typename std::decay_t<decltype(data)>::value_type;
    // The value of elements that are not written: 0, or the number that no number of the dtype is above, or below.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double start = reduction == "max" ? -infinity : reduction == "min" ? infinity : 0;
    std::decay_t<decltype(data)> y = std::decay_t<decltype(data)>::from_shape(extents(c.out_shape()));
    y.fill(start == 0 ? T(0) : c.extreme<T>(start > 0));
    if (c.has(2)) y = initial();
    each_reduced(c, c.shape(0), c.out_shape(), axis, [&](int64_t to, int64_t from) {
      T& element = y.data()[to];
      const T value = data.data()[from];
      if (reduction == "sum")
        element += value;
      else if (reduction == "max")
        element = larger(element, value);
      else if (reduction == "min")
        element = smaller(element, value);
      else
        element = value;
    });
    c.out(0, y);
  };
  if (is_floating(c.dtype(0)))
    reduce(c.real(0), [&] { return c.real(2); });
  else if (c.dtype(0) == DType::uint64)
    reduce(c.natural(0), [&] { return c.natural(2); });
  else
    reduce(c.whole(0), [&] { return c.whole(2); });
}
void scatter_reduce_grad(ReferenceContext& c) {
  const Patterns g = c.pattern(0);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  each_reduced(c, c.out_shape(), c.shape(0), static_cast<size_t>(c.integer("axis")),
               [&](int64_t from, int64_t to) { y.data()[to] = g.data()[from]; });
  c.move(0, y);
}

void sum_duplicates(ReferenceContext& c) {
  const Reals rows = c.real(1);
  const int64_t n = c.shape(1)[0], inner = n == 0 ? 0 : std::ssize(rows) / n;
  std::map<int64_t, std::vector<int64_t>> positions;
  each_named_row(c, 0, c.integer("extent"), [&](int64_t row, int64_t i) { positions[row].push_back(i); });
  Wholes unique = Wholes::from_shape({static_cast<size_t>(n)});
  unique.fill(-1);
  Reals sums = Reals::from_shape(extents(c.shape(1)));
  sums.fill(0);
  int64_t next = 0;
  for (const auto& [row, at] : positions) {
    unique.data()[next] = row;
    for (const int64_t i : at)
      for (int64_t j = 0; j < inner; ++j) sums.data()[next * inner + j] += rows.data()[i * inner + j];
    ++next;
  }
  c.out(0, unique);
  c.out(1, sums);
}
void index_copy_(ReferenceContext& c) {
  Patterns y = c.pattern(0);
  const Patterns values = c.pattern(2);
  const int64_t n = c.shape(1)[0], inner = n == 0 ? 0 : std::ssize(values) / n;
  each_named_row(c, 1, c.shape(0)[0], [&](int64_t row, int64_t i) {
    for (int64_t j = 0; j < inner; ++j) y.data()[row * inner + j] = values.data()[i * inner + j];
  });
  c.move(0, y);
}

}  // namespace pxl::reference
