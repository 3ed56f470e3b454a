// `param` and `add_variable_inputs`: named inputs of the graph that is being built, and what makes variables for them.
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/declarations.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/trees.hpp"
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
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {

Tensor* add_param(Interpreter& in, BuildRoot& root, const std::string& key, const TensorSpec& spec, bool by_ref,
                  const Value& factory) {
  const auto& targets = graphs_of(in).targets();
  auto at = targets.rbegin();
  while (at != targets.rend() && at->graph != root.graph && at->captures) ++at;
  if (at == targets.rend() || at->graph != root.graph)
    throw Error("param `" + key + "` is declared while another graph is being built",
                {"params belong to the graph of their build"})
        .as(codes::param);
  stamp(in, *root.ir);
  if (!factory.is_none()) root.factories->insert(key, factory);
  if (root.graph->is_main()) {
    if (factory.is_none())
      throw Error(
          "param `" + key + "` has no initial value, and a function of the program's body makes a variable of it",
          {"give it one, or make the module's graph with `create_graph` or `bound`"})
          .as(codes::param);
    const TargetScope main(in, root.ir, root.graph);
    const TreePtr made = make_tree(TreeKind::factories);
    made->insert(key, factory);
    Tensor* t = as_tensor(*init_factories(in, *made, "", {}, false)->find(key));
    root.params[key] = t;
    return t;
  }
  std::vector<std::string> scopes;  // scopes of another graph, if a function declares the param
  const bool elsewhere = at != targets.rbegin();
  if (elsewhere) scopes.swap(root.ir->name_scopes);
  size_t dot = key.rfind('.');
  Tensor* t = root.graph->add_input(spec, dot == std::string::npos ? key : key.substr(dot + 1), by_ref, key);
  if (elsewhere) scopes.swap(root.ir->name_scopes);
  root.params[key] = t;
  return t;
}

namespace {

/// The initial value of a state. A state that begins as a param gets the value that is drawn for the param.
Value initial_of_state(Interpreter& in, const BuildRoot& root, const std::string& name, const Value& init) {
  const Tensor* t = reached(in, as_tensor(init));
  if (!t) return init;
  for (const auto& [key, param] : root.params)
    if (param == t)
      if (const Value* factory = root.factories->find(key)) return *factory;
  throw Error("state `" + name + "` begins with a tensor, `" + t->name + "`, which is no param with an initial value",
              {"a state begins with a number, an array, an initialiser, or the value of a param"})
      .as(codes::param);
}

}  // namespace

void declare_param(Interpreter& in, const ast::ParamStmt& s, Activation& a) {
  const std::string kind = s.is_state ? "state" : "param";
  position_of(in).here = s.span;
  BuildState* state = graphs_of(in).world().current();
  if (!state || !state->root)
    throw Error(
        kind + " `" + s.name + "` is only allowed while a graph is being built",
        {"a module is bound before it is called: `net = Linear(3).bound(x)`, then `net(x)`; a tensor of a program "
         "is declared with `variable`"})
        .as(codes::param);
  if (!state->named)
    throw Error(kind + " `" + s.name + "` of " + state->what + " has no name here: the module is in no field",
                {"hold the module in a field of the module that calls it"})
        .as(codes::param);
  GraphTransaction::changing(*state->root->ir);
  std::string key = state->prefix + s.name;
  if (const auto [first, fresh] = state->declared.emplace(s.name, s.name_span); !fresh) {
    Error e(kind + " `" + s.name + "` occurs twice in " + state->what,
            {"first declared at " + place_text(first->second)});
    e.as(codes::param).locate(s.name_span, position_of(in).frames);
    throw e;
  }
  const VariablePlacement placement = declared_placement(in, s.options, a, s.is_state ? "state" : "param");
  const TensorSpec spec =
      placed_spec(declared_spec(in, *s.spec, a, "the spec of a param"), placement.shards, kind + " " + s.name);
  position_of(in).here = s.span;  // the spec's expressions moved it
  BuildRoot& root = *state->root;
  const auto bind = [&](Tensor* t) {
    if (s.is_state) state->states[s.name].holder = t;
    const Value made = tensor_value(root.ir, s.is_state ? state_now(in, t) : t);
    observed(check_in_progress(in), s.name_span, made);
    a.scope->bind(s.name, made);
  };
  auto known = root.params.find(key);
  if (known != root.params.end()) {  // a second call of an instance shares the instance's params
    Tensor* t = known->second;
    if (t->spec != spec)
      throw Error(kind + " `" + key + "` is " + text(t->spec) + " already, and " + text(spec) + " in this call of " +
                      state->what,
                  {"calls of one module share its " + kind + "s; use two modules for two shapes"})
          .as(codes::param);
    if (s.by_ref && !t->by_ref) throw Error("param `" + key + "` was declared without `ref` before").as(codes::param);
    bind(t);
    return;
  }
  Value factory;
  if (s.init) {
    auto f = make_ref<VariableFactoryObject>();
    f->name = s.name;
    f->spec = spec;
    f->init = evaluate(in, *s.init, a);
    f->is_state = s.is_state;
    if (s.is_state) f->init = initial_of_state(in, root, s.name, f->init);
    f->by_ref = s.by_ref;
    f->groups = placement.groups;
    if (!f->init.is_none()) factory = f;
  }
  bind(add_param(in, root, key, spec, s.by_ref, factory));
}

Value add_variable_inputs(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  BuildState* state = graphs_of(in).world().current();
  if (!state || !state->root)
    throw Error("add_variable_inputs is only allowed while a graph is being built",
                {"in a program, use `factories.init()`"})
        .as(codes::param);
  Value given = a.value("name");
  std::string name;
  if (given.is_int() && given.as_int() < 0)
    throw Error("add_variable_inputs: a name of type int must be positive, got " + std::to_string(given.as_int()))
        .as(codes::value);
  if (given.is_int())
    name = std::to_string(given.as_int());
  else
    name = a.string("name");
  auto tree = a.value("factories").ptr<TreeObject>();
  if (!tree || tree->kind != TreeKind::factories)
    type_error("add_variable_inputs takes the factories that create_graph gave, got " +
               a.value("factories").type_name());
  BuildRoot& root = *state->root;
  GraphTransaction::changing(*root.ir);
  if (root.factories->find(state->prefix + name) &&
      root.factories->find(state->prefix + name)->as<TreeObject>() == nullptr)
    throw Error("`" + name + "` already exists among the params of " + state->what).as(codes::param);
  TreePtr named = make_tree(TreeKind::tensors);
  for (auto& [leaf, value] : tree->leaves()) {
    auto* f = value.as<VariableFactoryObject>();
    if (!f) type_error("`" + leaf + "` is no variable factory, but a " + value.type_name());
    std::string key = state->prefix + name + "." + leaf;
    if (root.params.count(key))
      throw Error("`" + name + "." + leaf + "` already exists among the params of " + state->what).as(codes::param);
    Tensor* t = add_param(in, root, key, f->spec, f->by_ref, value);
    if (f->is_state) state_now(in, t);
    named->insert(leaf, tensor_value(root.ir, t));
  }
  return named;
}

void bind_param_builtins(Scope& p) {
  define(p, no_effects,
         {"add_variable_inputs(name, factories)",
          "Inputs of the graph that is being built, one for each factory, under a name; gives them as a tree.",
          R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
module Again {
  build(x) {
    inner = add_variable_inputs("inner", facts)
    return x @ inner.weight + inner.bias
  }
}
list(Again().create_graph(float32[2, 4])[0].keys_flat()))"},
         [](Interpreter& in, Arguments args) { return add_variable_inputs(in, args); });
}

}  // namespace pxl
