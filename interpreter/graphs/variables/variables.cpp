// `variable` and `constant`: the statements and the functions.
#include <fmt/format.h>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/declarations.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/execute/checkpoints/match_variables.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

Value add_variable(Interpreter& in, Array data, const std::string& name, const VariablePlacement& placement) {
  BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  return tensor_value(target.ir, target.graph->add_variable(std::move(data), name, placement.groups, placement.shards,
                                                            placement.remote));
}
Value add_constant(Interpreter& in, Array data, const std::string& name) {
  BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  return tensor_value(target.ir, target.graph->add_constant(std::move(data), name));
}

Array host_data(Interpreter& in, const ArgReader& a, const char* where) {
  Value data = a.value("data");
  if (const auto spec = unknown_spec(data))
    return Array(a.has("dtype") ? to_dtype(a.value("dtype"), where) : narrowed(spec->dtype), spec->shape);
  if (as_tensor(data) || data.as_spec() || data.is_none())
    type_error(std::string(where) + " takes a number, a list or an array, got " + with_article(data.type_name()));
  if (data.as<InitialiserObject>())
    type_error(std::string(where) + " can't know the shape of `" + data.as<InitialiserObject>()->text +
               "`: give it a shape");
  if (a.has("dtype")) {
    const DType dtype = to_dtype(a.value("dtype"), where);
    if (!is_float8(dtype)) return to_array(in, data, dtype, where);
    Array array = to_array(in, data);
    if (array.dtype() == dtype) return array;
    return to_float8(array, dtype, a.integer_or("log2_scale", 0), float8_overflow(a));
  }
  Array array = to_array(in, data);
  return a.boolean_or("downcast", true) ? narrowed(std::move(array), where) : array;
}

}  // namespace

void declare_variable(Interpreter& in, const ast::VariableStmt& s, Activation& a) {
  const bool constant = s.kind == ast::StmtKind::constant;
  const std::string what = (constant ? "constant " : "variable ") + s.name;
  VariablePlacement placement = declared_placement(in, s.options, a, constant ? "constant" : "variable");
  Value init;
  if (s.init) init = evaluate(in, *s.init, a);
  if (init.is_none())
    throw Error(what + " needs a value", {"write `" + what + ": float32[...] = 0`"}).as(codes::initial_value);
  Array data;
  if (const auto unknown = unknown_spec(init); unknown && !s.spec)
    data = Array(narrowed(unknown->dtype), unknown->shape);
  else if (s.spec) {
    const TensorSpec spec =
        placed_spec(declared_spec(in, *s.spec, a, "the spec of a variable"), placement.shards, what);
    placement.shards = spec.shard_groups;
    data = initial_values(in, init, spec, placement.groups, what);
  } else
    data = narrowed(to_array(in, init), what);
  position_of(in).here = s.span;
  const std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  declare_once(in, ir, s, s.name, s.name_span, false, constant ? "constant" : "variable");
  const Value made =
      constant ? add_constant(in, std::move(data), s.name) : add_variable(in, std::move(data), s.name, placement);
  graphs_of(in).world().of(ir).add_declared(s.name, s, {as_tensor(made), false, s.name_span, position_of(in).frames});
  a.scope->bind(s.name, made);
}

void bind_variable_builtins(Scope& p) {
  define(p, no_effects,
         {"variable(data, dtype = none, name = none, downcast = true, log2_scale = 0, nan_on_overflow = true, "
          "replica_grouping = none, shard_over = none)",
          "A tensor of the main graph that keeps its value between runs. Its name is that which it is assigned to, if "
          "none "
          "is given: `w = variable(0.0)` is `w`.",
          R"(w = variable([1.0, 2.0])
w.name, w.spec)"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("variable", args,
                       {"data", "dtype", "name", "downcast", "log2_scale", "nan_on_overflow", "replica_grouping",
                        "shard_over"});
           const Ir& ir = *graphs_of(in).target().ir;
           const VariablePlacement placement{to_variable_groups(a.value_or("replica_grouping", {}), ir),
                                             to_shard_groups(a.value_or("shard_over", {}), ir)};
           const Value made = add_variable(in, host_data(in, a, "variable"),
                                           a.string_or("name", target_name(in, args.span, "t")), placement);
           if (a.has("name")) as_tensor(made)->path.path = base_name(as_tensor(made)->name);
           return made;
         });
  define(p, no_effects,
         {"constant(data, dtype = none, name = none, downcast = true, log2_scale = 0, nan_on_overflow = true)",
          "A tensor that never changes, in the graph that is being built.", "eval(constant([1.0, 2.0]) + 1)"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           return add_constant(in, host_data(in, a, "constant"), a.string_or("name", target_name(in, args.span, "t")));
         });
}

}  // namespace pxl
