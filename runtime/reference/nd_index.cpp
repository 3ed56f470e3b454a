// Elements at positions on several axes. Source: ONNX, operators GatherND and ScatterND.
#include "runtime/kernels/indexing/nd_index.hpp"

#include "runtime/kernels/indexing/index.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// Calls f(element of t, element of the tensor at the positions), in the order of the positions.
template <class F>
void each_position(const ReferenceContext& c, F f) {
  const Wholes indices = c.indices(1);
  const int64_t batch = c.integer("batch_dims"), depth = c.shape(1).back();
  const NdShapes shapes(c.shape(0), c.shape(1), batch);
  if (element_count(shapes.elements) == 0) return;
  const Shape positions(c.shape(1).begin(), c.shape(1).end() - 1);
  const Shape rest(c.shape(0).begin() + batch + depth, c.shape(0).end());
  for (Place p(positions); p; p.next()) {
    Shape at(p.at().begin(), p.at().begin() + batch);
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t place = p.index() * depth + d;
      at.push_back(wrapped_index(indices.data()[place], place, batch + d, shapes.indexed[static_cast<size_t>(d)]));
    }
    for (Place r(rest); r; r.next()) {
      Shape from = at, to = p.at();
      from.insert(from.end(), r.at().begin(), r.at().end());
      to.insert(to.end(), r.at().begin(), r.at().end());
      f(offset(from, c.shape(0)), offset(to, shapes.elements));
    }
  }
}

}  // namespace

void gather_nd(ReferenceContext& c) {
  const Patterns t = c.pattern(0);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  each_position(c, [&](int64_t from, int64_t to) { y.data()[to] = t.data()[from]; });
  c.move(0, y);
}

void scatter_nd(ReferenceContext& c) {
  const NdUpdate update = *nd_update(c.string("reduction"));
  if (update == NdUpdate::none) {
    Patterns y = c.pattern(0);
    const Patterns updates = c.pattern(2);
    each_position(c, [&](int64_t to, int64_t from) { y.data()[to] = updates.data()[from]; });
    c.move(0, y);
    return;
  }
  const auto combine = [&](auto y, const auto& updates) {
    using T = typename std::decay_t<decltype(y)>::value_type;
    each_position(c, [&](int64_t to, int64_t from) {
      const T a = y.data()[to], b = updates.data()[from];
      y.data()[to] = update == NdUpdate::add   ? c.rounded<T>(a + b)
                     : update == NdUpdate::mul ? c.rounded<T>(a * b)
                     : update == NdUpdate::max ? larger(a, b)
                                               : smaller(a, b);
    });
    c.out(0, y);
  };
  if (is_floating(c.dtype(0)))
    combine(c.real(0), c.real(2));
  else if (c.dtype(0) == DType::uint64)
    combine(c.natural(0), c.natural(2));
  else
    combine(c.whole(0), c.whole(2));
}

}  // namespace pxl::reference
