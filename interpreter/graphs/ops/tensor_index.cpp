// `t[key]` on tensors, as PopXL builds it. Ints and slices become one Slice, a Subsample if a step is larger than one,
// and a Reshape that drops the axes of ints. A tensor or array of ints gathers on axis 0. A bool mask keeps the shape
// and zeroes the other elements.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/ops/tensor_index.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

[[noreturn]] void bad_key(const Value& v, size_t axis) {
  Error e("a tensor is indexed by ints, slices, `...` and none, or by one tensor or array alone; not by " +
          with_article(v.type_name()));
  if (as_tensor(v) || v.as_array())
    e.first().notes.push_back(fmt::format("`gather(t, k, axis = {})` takes elements of an axis", axis));
  throw e.as(codes::index);
}

struct Basic {
  std::vector<int64_t> start, stop, step, axes;
  Shape shape;            ///< shape of the result
  bool reshaped = false;  ///< ints drop axes, `none` adds them
};

Basic read_basic(const Tensor& t, const std::vector<Value>& given) {
  std::vector<Value> parts = given;
  int64_t used = 0;
  int ellipses = 0;
  for (const Value& p : parts) {
    if (p.as<EllipsisObject>())
      ++ellipses;
    else if (!p.is_none())
      ++used;
  }
  const auto rank = static_cast<int64_t>(t.spec.shape.size());
  if (ellipses > 1) throw Error("an index can hold only one `...`").as(codes::index);
  if (used > rank) {
    throw Error(fmt::format("too many subscripts: {} for a tensor of shape {}", used, bracket_text(t.spec.shape)))
        .as(codes::index);
  }
  if (!ellipses) parts.push_back(make_ref<EllipsisObject>());
  Basic b;
  size_t axis = 0;
  for (const Value& p : parts) {
    if (p.as<EllipsisObject>()) {
      for (int64_t i = rank - used; i > 0; --i) b.shape.push_back(t.spec.shape[axis++]);
      continue;
    }
    if (p.is_none()) {
      b.shape.push_back(1);
      b.reshaped = true;
      continue;
    }
    const int64_t extent = t.spec.shape[axis];
    auto take = [&](int64_t start, int64_t stop, int64_t step) {
      b.start.push_back(start);
      b.stop.push_back(stop);
      b.step.push_back(step);
      b.axes.push_back(static_cast<int64_t>(axis));
    };
    if (auto* s = p.as<SliceObject>()) {
      const SliceRange r = resolve_slice(*s, extent);
      if (r.count == 0) {
        throw Error(fmt::format("the slice of axis {} is empty: the axis has {} elements", axis, extent))
            .as(codes::index);
      }
      // An end before the first element is written as the op expects it: below -extent. The range includes the elements
      // after the last one that a larger step takes. A slice of the whole axis then needs no Slice before the
      // Subsample.
      const int64_t last = r.start + (r.count - 1) * r.step;
      const int64_t past = r.step < 0 ? last - 1 : last + std::min(r.step, extent - last);
      if (r.start != 0 || r.step != 1 || r.count != extent) take(r.start, past < 0 ? -extent - 1 : past, r.step);
      b.shape.push_back(r.count);
    } else {
      if (!p.is_int() && !(p.as_array() && p.as_array()->rank() == 0)) bad_key(p, axis);
      const int64_t i = wrap_index(to_index(p, "index"), extent, fmt::format("axis {} of the tensor", axis));
      take(i, i + 1, 1);
      b.reshaped = true;
    }
    ++axis;
  }
  return b;
}

}  // namespace

Value tensor_index(Interpreter& in, const Value& tensor, const Value& key) {
  Tensor* t = as_tensor(tensor);
  // Handles index tensors and arrays.
  const Array* array = key.as_array();
  const bool list = key.as<ListObject>() != nullptr;
  if (as_tensor(key) || list || (array && array->rank() > 0)) {
    const Value indices = list ? Value(to_array(in, key)) : key;
    const DType type = as_tensor(indices) ? as_tensor(indices)->spec.dtype : indices.as_array()->dtype();
    if (type == DType::boolean) return op_by_name(in, "where", {indices, tensor, Value(0)});
    if (!is_integer(type))
      throw Error(fmt::format("an index tensor holds ints or bools, not {}", name(type))).as(codes::index);
    return op_by_name(in, "gather", {tensor, indices});
  }
  auto* tuple = key.as<TupleObject>();
  const Basic b = read_basic(*t, tuple ? tuple->items : std::vector<Value>{key});
  BuildTarget at = graphs_of(in).target();
  if (&t->graph->ir() != at.ir.get()) {
    throw Error(fmt::format("tensor `{}` belongs to program `{}`, but ops are being added to `{}`", shown_name(*t),
                            t->graph->ir().name(), at.ir->name()))
        .as(codes::other_graph);
  }
  stamp(in, *at.ir);
  GraphOpBuilder builder(*at.graph);
  Expr e = builder.of(reached(in, t));
  if (!b.axes.empty() || !b.reshaped) {
    e = builder.one("slice", {e}, {{"start", b.start}, {"stop", b.stop}, {"step", b.step}, {"axis", b.axes}});
  }
  if (b.reshaped) e = builder.one("reshape", {e}, {{"shape", b.shape}});
  return tensor_value(at.ir, e.tensor());
}

}  // namespace pxl
