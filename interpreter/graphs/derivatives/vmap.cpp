// `vmap(f)`: calls a function of one element for all elements of a batch.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/transform/vectorise.hpp"

namespace pxl {
namespace {

/// A tensor with one axis moved to another position.
Value moved_axis(Interpreter& in, const Value& tensor, int64_t from, int64_t to) {
  if (from == to) return tensor;
  std::vector<Value> order;
  const auto rank = static_cast<int64_t>(as_tensor(tensor)->spec.shape.size());
  for (int64_t i = 0; i < rank; ++i)
    if (i != from) order.emplace_back(i);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), Value(from));
  return op_by_name(in, "transpose", {tensor, make_list(std::move(order))});
}

int64_t checked_axis(const Value& v, int64_t rank, const char* what) {
  if (!v.is_int())
    type_error(std::string("vmap: `") + what + "` is an axis or none, got " + with_article(v.type_name()));
  const int64_t axis = v.as_int() < 0 ? v.as_int() + rank : v.as_int();
  if (axis < 0 || axis >= rank)
    throw Error(fmt::format("vmap: `{}` is {}, but there are {} axes", what, v.as_int(), rank)).as(codes::shape);
  return axis;
}

/// The batch: its size, its arguments, and the arguments for one element.
class Batched {
 public:
  Batched(Interpreter& in, const DerivativeObject& d) : in_(in), d_(d) {}
  Arguments all, one;
  int64_t size = -1;

  void read(const Arguments& args) {
    all = one = args;
    for (size_t i = 0; i < args.positional.size(); ++i) {
      const std::string name = i < d_.parameters.size() ? d_.parameters[i] : "";
      convert(all.positional[i], one.positional[i], axis_of(i, name), name);
    }
    for (size_t i = 0; i < args.named.size(); ++i)
      convert(all.named[i].value, one.named[i].value, axis_of(args.positional.size() + i, args.named[i].name),
              args.named[i].name);
    if (size < 0) throw Error("vmap: no argument is a tensor with an axis to map over").as(codes::shape);
  }

 private:
  /// The axis of an argument, or none. `whole` axes apply to all arguments.
  Value axis_of(size_t position, const std::string& name) const {
    const Value& axes = d_.parts[0];
    if (auto* dict = axes.as<DictObject>()) {
      const Value* found = dict->find(Value(name));
      return found ? *found : Value(int64_t{0});
    }
    if (auto* list = axes.as<SequenceObject>())
      return position < list->items.size() ? list->items[position] : Value(int64_t{0});
    return axes;
  }
  void convert(Value& whole, Value& element, const Value& axis, const std::string& name) {
    const bool by_argument = d_.parts[0].as<SequenceObject>() || d_.parts[0].as<DictObject>();
    const auto is_mapped = [&](const Value& leaf) {
      return as_tensor(leaf) && !axis.is_none() && (by_argument || !as_tensor(leaf)->spec.shape.empty());
    };
    whole = map_tree(in_, whole, [&](const Value& leaf, const std::string&) {
      if (!is_mapped(leaf)) return leaf;
      const auto rank = static_cast<int64_t>(as_tensor(leaf)->spec.shape.size());
      return moved_axis(in_, leaf, checked_axis(axis, rank, "axes"), 0);
    });
    element = map_tree(in_, whole, [&](const Value& leaf, const std::string&) {
      if (!is_mapped(leaf)) return leaf;
      TensorSpec spec = as_tensor(leaf)->spec;
      const int64_t extent = spec.shape[0];
      if (size >= 0 && extent != size)
        throw Error(fmt::format("vmap: `{}` has {} elements, where others have {}", name, extent, size),
                    {"all mapped arguments have one number of elements; `axes = none` of an argument keeps it whole"})
            .as(codes::shape);
      size = extent;
      spec.shape.erase(spec.shape.begin());
      return Value(spec);
    });
  }

  Interpreter& in_;
  const DerivativeObject& d_;
};

Value build_vmap(Interpreter& in, const DerivativeObject& d, LiftedArguments& lifted) {
  Batched batch(in, d);
  batch.read(lifted.args);
  const Callable f = graph_of_function(in, d.function, batch.one);
  for (const GraphState& s : states_of(*f.graph))
    if (s.next)
      throw Error("vmap: a call of " + f.graph->id() + " gives a next value to the state `" + input_name(*s.input) +
                      "`, which all elements share",
                  {"build the net without `training`, or freeze it: `net.frozen()`"})
          .as(codes::param);
  const std::vector<FunctionCall::Given> elements = tensors_given(in, d.function, batch.one);
  const std::vector<FunctionCall::Given> tensors = tensors_given(in, d.function, batch.all);
  const auto& inputs = f.graph->inputs();
  std::vector<bool> mapped;
  for (size_t i = 0, next = 0; i < inputs.size(); ++i)
    mapped.push_back(!f.inputs.count(inputs[i]) && next < elements.size() &&
                     elements[next++].tensor.as_spec() != nullptr);
  stamp(in, *f.ir);
  const Vectorised v = vectorise(*f.graph, batch.size, mapped);
  BoundInputs bound;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto at = f.inputs.find(inputs[i]); at != f.inputs.end()) bound.emplace(v.graph->inputs()[i], at->second);
  Arguments call;
  call.span = lifted.args.span;
  for (const FunctionCall::Given& g : tensors) call.positional.push_back(g.tensor);
  const Op* op = emit_call(in, f.ir, *v.graph, bound, call);
  std::vector<Value> results;
  for (size_t j = 0; j < v.mapped_outputs.size(); ++j) {
    Value y = tensor_value(f.ir, op->outputs[j]);
    Shape shape = op->outputs[j]->spec.shape;
    if (!v.mapped_outputs[j]) {
      shape.insert(shape.begin(), batch.size);
      y = op_by_name(in, "broadcast_to", {y, make_list(std::vector<Value>(shape.begin(), shape.end()))});
    }
    results.push_back(moved_axis(in, y, 0, checked_axis(d.parts[1], static_cast<int64_t>(shape.size()), "out")));
  }
  return in_result_form(in, f.ir, *f.graph, std::move(results));
}

}  // namespace

void bind_vmap_builtin(Scope& p) {
  define(
      p, no_effects,
      {"vmap(f, axes = 0, out = 0)",
       "A function that calls f for each element along an axis, as ops on all elements at once. axes: the axis that is "
       "mapped over, or one for each argument, as a list or by name; none: the argument is the same for all. Tensors "
       "of rank 0, captures, and what is no tensor are the same for all. out: the axis of the elements in results.",
       "vmap((x, w) => x @ w, axes = [0, none])([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])"},
      [](Interpreter&, Arguments args) -> Value {
        ArgReader a(args);
        const Value f = a.value("f");
        if (!f.is_object() || !f.object()->callable())
          type_error("vmap takes a function of tensors, got " + with_article(f.type_name()));
        auto d = make_ref<DerivativeObject>();
        d->key = d->title = "vmap";
        d->function = f;
        // `axes = none` alone would map nothing. `none` is meant for single arguments.
        d->parts = {a.has("axes") ? a.value("axes") : Value(int64_t{0}), a.value_or("out", Value(int64_t{0}))};
        d->parameters = parameters_of(f);
        d->build = build_vmap;
        return Value(d);
      });
}

}  // namespace pxl
