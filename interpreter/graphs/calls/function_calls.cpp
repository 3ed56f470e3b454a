// Calls of functions as graphs: the graph of a function for given arguments, and functions that compute at once.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {
namespace {

const ast::Function* code_of(const Value& f) {
  if (auto* function = f.as<FunctionObject>()) return function->code.get();
  if (auto* outlined = f.as<OutlinedFunctionObject>()) return outlined->code.get();
  if (auto* method = f.as<MethodObject>()) return method->code.get();
  if (auto* m = f.as<ModuleInstance>()) return m->code->build;
  return nullptr;
}

/// Notes the tensors in an argument.
void add_given(Interpreter& in, const std::string& name, size_t position, const Value& v,
               std::vector<FunctionCall::Given>& given) {
  for (auto& [path, leaf] : tree_leaves(in, v))
    if (is_tensor_like(leaf)) given.push_back({name, position, path, leaf, 0});
}

}  // namespace

bool is_graph_value(const Value& v) {
  return v.as<GraphObject>() || v.as<BoundGraphObject>() || v.as<GradGraphObject>();
}

std::string title_of(const Value& f) {
  if (auto* d = f.as<DerivativeObject>()) return d->title;
  if (const ast::Function* code = code_of(f)) return f.as<ModuleInstance>() ? f.type_name() : code->name;
  if (auto* b = f.as<BuiltinObject>()) return b->name;
  return f.type_name();
}

GraphSource source_of_function(const Value& f, const Arguments& args) {
  if (f.as<FunctionObject>() || f.as<OutlinedFunctionObject>() || f.as<MethodObject>()) return source_of(f);
  if (!f.is_object() || !f.object()->callable()) return source_of(f);  // this error says which values have graphs
  std::vector<std::string> names = parameters_of(f);
  while (names.size() < args.positional.size()) names.push_back("x" + std::to_string(names.size()));
  return source_of_callee(f, title_of(f), names);
}

std::vector<std::string> parameters_of(const Value& f) {
  std::vector<std::string> names;
  if (auto* d = f.as<DerivativeObject>()) return d->parameters;
  if (const ast::Function* code = code_of(f)) {
    for (const ast::Parameter& p : code->parameters)
      if (!p.rest && !p.options) names.push_back(p.name);
  } else if (is_graph_value(f)) {
    const Callable c = to_callable(f, "grad");
    for (const Tensor* input : c.graph->inputs())
      if (!c.inputs.count(input)) names.push_back(input_name(*input));
  }
  return names;
}

std::vector<FunctionCall::Given> tensors_given(Interpreter& in, const Value& f, const Arguments& args) {
  std::vector<FunctionCall::Given> given;
  if (is_graph_value(f)) {
    const std::vector<std::string> names = parameters_of(f);
    for (size_t i = 0; i < args.positional.size(); ++i)
      add_given(in, i < names.size() ? names[i] : "", i, args.positional[i], given);
    for (const NamedArg& n : args.named) add_given(in, n.name, given.size(), n.value, given);
    return given;
  }
  const GraphSource source = source_of_function(f, args);
  Arguments copy = args;
  size_t position = 0;
  for (const GivenArgument& g : match_arguments(source.parameters(), copy))
    for (const Value* v : g.values) add_given(in, g.parameter->name, position++, *v, given);
  return given;
}

Callable graph_of_function(Interpreter& in, const Value& f, const Arguments& args) {
  if (is_graph_value(f)) return to_callable(f, "grad");
  const BuiltGraph built = shared_graph(in, source_of_function(f, args), args);
  return {graphs_of(in).target().ir, built.graph, built.captured, nullptr};
}

FunctionCall prepared_call(Interpreter& in, const Value& f, const Arguments& args) {
  FunctionCall made;
  made.callable = graph_of_function(in, f, args);
  made.given = tensors_given(in, f, args);
  const Graph& graph = *made.callable.graph;
  Arguments tensors;
  tensors.span = args.span;
  size_t slot = 0;
  for (FunctionCall::Given& g : made.given) {
    if (g.tensor.as_spec())
      throw Error("argument `" + g.argument + "` is a spec: a call takes a tensor").as(codes::graph_inputs);
    const auto is_taken = [&] { return made.callable.inputs.count(graph.inputs()[slot]) > 0; };
    while (slot < graph.inputs().size() && is_taken()) ++slot;
    g.slot = slot++;
    tensors.positional.push_back(g.tensor);
  }
  made.operands = operands_of(in, made.callable, tensors);
  return made;
}

FunctionCall call_function(Interpreter& in, const Value& f, const Arguments& args) {
  FunctionCall made = prepared_call(in, f, args);
  made.op = add_call(in, *made.callable.graph, made.operands);
  return made;
}

// ---- arguments

namespace {

bool is_number_list(const Value& v) {
  auto* list = v.as<SequenceObject>();
  if (!list || list->items.empty()) return false;
  return std::all_of(list->items.begin(), list->items.end(),
                     [](const Value& x) { return (x.is_number() && !x.is_bool()) || is_number_list(x); });
}

/// The dtype of the first floating-point array or tensor; float64 if there is none.
DType dtype_of_floats(Interpreter& in, const Arguments& args) {
  std::optional<DType> found;
  const auto look = [&](const Value& v) {
    if (found) return;
    if (is_number_list(v)) {
      const DType type = to_array(in, v).dtype();
      if (is_floating(type)) found = type;
      return;
    }
    for (const auto& [path, leaf] : tree_leaves(in, v)) {
      const Tensor* t = as_tensor(leaf);
      const Array* a = leaf.as_array();
      if (!t && !a) continue;
      const DType type = t ? t->spec.dtype : a->dtype();
      if (!found && is_floating(type)) found = type;
    }
  };
  for (const Value& v : args.positional) look(v);
  for (const NamedArg& n : args.named) look(n.value);
  return found.value_or(DType::float64);
}

}  // namespace

void refuse_int(const std::string& title, const Arguments& args, size_t position, const std::string& name) {
  const std::string which = name.empty() ? "the argument" : fmt::format("`{}`", name);
  Error e(fmt::format("{}: only floats have gradients, and {} is an int, which is a constant", title, which),
          {"a number with a point is a float: `3.0`"});
  if (position < args.spans.size() && args.spans[position]) {
    const Span at = args.spans[position];
    const std::string_view text = at.text();
    if (text.find_first_not_of("0123456789-") == text.npos) e.offer(at, std::string(text) + ".0");
    e.locate(at, nullptr);
  }
  throw std::move(e).as(codes::gradient);
}

LiftedArguments lift_arguments(Interpreter& in, const DerivativeObject& d, Arguments args,
                               const std::function<Value(const Array&)>& lift) {
  const DType floats = dtype_of_floats(in, args);
  LiftedArguments out;
  bool any = d.differentiated.empty() && !d.all_differentiated;  // an operand for which a gradient is wanted
  std::optional<std::pair<size_t, std::string>> constant;        // the first int in place of one
  const auto is_differentiated = [&](size_t position, const std::string& name) {
    return d.all_differentiated ||
           std::any_of(d.differentiated.begin(), d.differentiated.end(), [&](const Value& which) {
             if (which.is_int()) return static_cast<size_t>(which.as_int()) == position;
             const std::string* text = which.as_string();
             return text && *text == name;
           });
  };
  const auto convert = [&](Value& v, size_t position, const std::string& name) {
    const bool differentiated = is_differentiated(position, name);
    if (is_number_list(v)) {
      any = any || differentiated;
      v = lift(to_array(in, v));
      return;
    }
    v = map_tree(in, v, [&](const Value& leaf, const std::string& path) {
      any = any || (differentiated && (leaf.as_array() || leaf.is_float() || as_tensor(leaf) || leaf.as_spec()));
      if (const Array* a = leaf.as_array()) return lift(*a);
      if (leaf.is_int() && differentiated && !constant) constant.emplace(position, path.empty() ? name : path);
      if (!leaf.is_float() || !differentiated) return leaf;
      Value number = lift(to_array(in, leaf, floats, d.title));
      out.numbers.insert(as_tensor(number));
      return number;
    });
  };
  for (size_t i = 0; i < args.positional.size(); ++i)
    convert(args.positional[i], i, i < d.parameters.size() ? d.parameters[i] : "");
  for (NamedArg& n : args.named) {
    const auto at = std::find(d.parameters.begin(), d.parameters.end(), n.name);
    convert(n.value, static_cast<size_t>(at - d.parameters.begin()), n.name);
  }
  if (!any && constant) refuse_int(d.title, args, constant->first, constant->second);
  out.args = std::move(args);
  return out;
}

bool needs_graph(Interpreter& in, const DerivativeObject& d, const Arguments& args) {
  const auto has_tensor = [&](const Value& v) { return !tensors_in(in, v).empty(); };
  if (std::any_of(args.positional.begin(), args.positional.end(), has_tensor) ||
      std::any_of(args.named.begin(), args.named.end(), [&](const NamedArg& n) { return has_tensor(n.value); }))
    return true;
  return !tensors_reached_by(in, Value(ObjectPtr::to(const_cast<DerivativeObject*>(&d)))).empty();
}

Value DerivativeObject::call(Interpreter& in, Arguments args) {
  const auto self = static_ref_cast<DerivativeObject>(shared_from_this());
  if (check_in_progress(in) && holds_unknown(args)) return unknown_value();
  if (!needs_graph(in, *this, args)) return compute_at_once(in, self, args);
  LiftedArguments lifted = lift_arguments(in, *this, std::move(args), [&](const Array& a) {
    const BuildTarget target = graphs_of(in).target();
    stamp(in, *target.ir);
    return tensor_value(target.ir, target.graph->add_constant(a, "t"));
  });
  return build(in, *this, lifted);
}

// ---- at once

namespace {

/// A program that computes a function on arrays.
struct ProgramOfFunction {
  std::shared_ptr<Ir> ir;
  std::unique_ptr<Session> session;
  std::vector<const Stream*> inputs, outputs;
  Value result;                  ///< with specs in place of arrays
  std::vector<bool> is_number;   ///< by output
  GraphWorld::Addresses of_key;  ///< keeps what the key names by address
};

/// Programs by key.
struct Programs {
  std::unordered_map<std::string, std::shared_ptr<ProgramOfFunction>> by_key;
};
constexpr size_t kept_programs = 256;  // each is a small graph with its session

void build_program(Interpreter& in, const DerivativeObject& d, const Arguments& args, ProgramOfFunction& p) {
  Graph& main = p.ir->main();
  LiftedArguments lifted = lift_arguments(in, d, args, [&](const Array& a) {
    Stream& s = p.ir->add_stream(a.spec(), "x" + std::to_string(p.inputs.size()), true);
    p.inputs.push_back(&s);
    return tensor_value(p.ir, main.add_host_load(s, s.name())->outputs[0]);
  });
  const Value result = d.build(in, d, lifted);
  const bool all_numbers = lifted.numbers.size() == p.inputs.size();
  p.result = map_tree(in, result, [&](const Value& leaf, const std::string&) {
    Tensor* t = as_tensor(leaf);
    if (!t) return leaf;
    p.is_number.push_back((all_numbers && t->spec.shape.empty()) || lifted.number_results.count(t) > 0);
    Stream& s = p.ir->add_stream(t->spec, "y" + std::to_string(p.outputs.size()), false);
    p.outputs.push_back(&s);
    main.add_host_store(s, t);
    return Value(t->spec);
  });
}

}  // namespace

Value compute_at_once(Interpreter& in, const Ref<DerivativeObject>& d, const Arguments& args) {
  auto& programs = of_thread<Programs>().by_key;
  auto program = std::make_shared<ProgramOfFunction>();
  program->ir = std::make_shared<Ir>(d->title);
  const TargetScope target(in, program->ir, &program->ir->main());
  std::vector<Array> arrays;
  const LiftedArguments specs = lift_arguments(in, *d, args, [&](const Array& a) {
    arrays.push_back(a);
    return Value(a.spec());
  });
  std::vector<Value> tensors;
  const GraphSource source = source_of_function(Value(d), specs.args);
  const std::string key = sharing_key(in, source, specs.args, program->of_key, tensors) + default_engine();
  const bool may_run = permits(Effect::computes);
  auto found = programs.find(key);
  if (found == programs.end()) {
    if (programs.size() >= kept_programs) programs.clear();
    build_program(in, *d, args, *program);
    if (!may_run) return unknown_value();
    program->session = std::make_unique<Session>(program->ir, "cpu", std::string(default_engine()));
    found = programs.emplace(key, program).first;
  }
  if (!may_run) return unknown_value();
  ProgramOfFunction& p = *found->second;
  StreamData inputs;
  for (size_t i = 0; i < arrays.size(); ++i) inputs.emplace(p.inputs[i], arrays[i]);
  StreamMap<Array> results = p.session->run(inputs);
  size_t next = 0;
  return map_tree(in, p.result, [&](const Value& leaf, const std::string&) {
    if (!leaf.as_spec() || next >= p.outputs.size()) return leaf;
    const Array& a = results.at(p.outputs[next]);
    return p.is_number[next++] ? element_value(a, 0) : Value(a);
  });
}

}  // namespace pxl
