// Variable factories: a param with an initial value results in one, and it makes variables and inputs.
#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

std::string VariableFactoryObject::repr(Interpreter& in) {
  return "VariableFactory[" + name + " " + text(spec) + " = " + repr_of(in, init) + "]";
}

namespace {

using In = Interpreter&;
using FactoryRef = VariableFactoryObject&;
using A = const Arguments&;
using Got = std::optional<Value>;
/// The initial value of a factory's variable, which has this full name.
Array drawn(In in, const VariableFactoryObject& f, const TensorSpec& spec, const ReplicaGroups& groups,
            const std::string& name) {
  if (auto* of = f.init.as<VariableFactoryObject>()) return drawn(in, *of, spec, groups, name);
  if (auto* i = f.init.as<InitialiserObject>(); i && i->of_name) {
    const std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
    std::string unique = name;  // nets with equal names have values of their own
    for (int n = 1; ir->main().find_tensor(unique); ++n) unique = name + "#" + std::to_string(n);
    auto named = make_ref<InitialiserObject>();
    named->text = i->text;
    named->draw = [i, unique](In k, const TensorSpec& s) { return i->of_name(k, s, unique); };
    return initial_values(in, Value(named), spec, groups, "state " + name);
  }
  return initial_values(in, f.init, spec, groups, (f.is_state ? "state " : "param ") + name);
}

constexpr Member<VariableFactoryObject> variable_factory_rows[] = {
    {"name", "The name of the param.", "f.name", [](In, FactoryRef f) -> Got { return Value(f.name); }},
    {"spec", "Dtype and shape of the variables that it makes.", "f.spec",
     [](In, FactoryRef f) -> Got { return Value(f.spec); }},
    {"shape", "The extents, as a tuple of ints.", "f.shape",
     [](In, FactoryRef f) -> Got { return make_tuple(std::vector<Value>(f.spec.shape.begin(), f.spec.shape.end())); }},
    {"dtype", "The dtype of the elements.", "f.dtype", [](In, FactoryRef f) -> Got { return Value(f.spec.dtype); }},
    {"by_ref", "Whether calls pass the param by reference.", "f.by_ref",
     [](In, FactoryRef f) -> Got { return Value(f.by_ref); }},
    {"next_data", "()", "An initial value, as an array: the next draw of a random initialiser.", "f.next_data()",
     [](In in, FactoryRef f, A args) -> Value {
       ArgReader a(args);
       return Value(drawn(in, f, f.spec, f.groups, f.name));
     }},
    {"create_tensor", "(name = none)", "A variable of the graph that is being built, with the next initial value.",
     "f.create_tensor('bias')",
     [](In in, FactoryRef f, A args) -> Value {
       ArgReader a(args);
       const std::string as = a.string_or("name", f.name);
       const BuildTarget target = graphs_of(in).target();
       Array data = drawn(in, f, f.spec, f.groups, as);
       stamp(in, *target.ir);
       return tensor_value(target.ir, target.graph->add_variable(std::move(data), as, f.groups, f.spec.shard_groups));
     }},
};
constexpr std::span<const Member<VariableFactoryObject>> variable_factory_table(variable_factory_rows);

}  // namespace

MemberTable variable_factory_members() {
  return member_table("variable factory",
                      "The result of a `param` with an initial value: it makes a variable. `init` of a tree of "
                      "factories makes all of them.",
                      "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])\nf = facts.bias",
                      variable_factory_table);
}

std::optional<Value> VariableFactoryObject::member(Interpreter& in, std::string_view member_name) {
  return member_of_table(in, variable_factory_table, *this, member_name);
}

std::vector<std::string> VariableFactoryObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, variable_factory_table);
  return names;
}

namespace {

using NamedFactories = std::vector<std::pair<std::string, VariableFactoryObject*>>;

/// The factories in a tree, in alphabetical order. States that begin with a param's value come last.
NamedFactories sorted_factories(const TreeObject& factories) {
  NamedFactories all;
  for (auto& [name, leaf] : factories.leaves()) {
    auto* f = leaf.as<VariableFactoryObject>();
    if (!f) type_error("init: `" + name + "` is no variable factory, but " + with_article(leaf.type_name()));
    all.emplace_back(name, f);
  }
  std::ranges::sort(all, {}, &NamedFactories::value_type::first);
  std::stable_partition(all.begin(), all.end(),
                        [](const auto& x) { return !x.second->init.template as<VariableFactoryObject>(); });
  return all;
}

std::string full_name(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

/// The initial values for the variables of an `init`, in the order of the factories.
std::vector<Array> drawn_all(In in, const NamedFactories& all, const std::string& prefix,
                             const VariablePlacement& placement, bool zero) {
  std::vector<Array> values;
  for (const auto& [name, f] : all) {
    const ReplicaGroups& groups = f->groups.empty() ? placement.groups : f->groups;
    const TensorSpec spec = f->spec.is_shard() ? f->spec : shard_spec(f->spec, placement.shards);
    const auto* of = f->init.as<VariableFactoryObject>();
    const auto param = std::ranges::find(all, of, &NamedFactories::value_type::second);
    if (zero)
      values.push_back(initial_values(in, Value(int64_t{0}), spec, groups, "param " + name));
    else if (of && static_cast<size_t>(param - all.begin()) < values.size())
      values.push_back(values[static_cast<size_t>(param - all.begin())]);
    else
      values.push_back(drawn(in, *f, spec, groups, full_name(prefix, name)));
  }
  return values;
}

/// Stacks arrays of one spec along a new first axis.
Array stacked(const std::vector<Array>& rows) {
  Shape shape = rows.front().shape();
  shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
  if (!rows.front().has_elements()) return Array::unevaluated(rows.front().dtype(), shape);
  Array all(rows.front().dtype(), shape);
  const int64_t bytes = rows.front().bytes();
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(rows[i].raw(), bytes, all.mutable_raw() + static_cast<int64_t>(i) * bytes);
  return all;
}

}  // namespace

TreePtr init_factories(Interpreter& in, const TreeObject& factories, const std::string& prefix,
                       const VariablePlacement& placement, bool zero, std::optional<int64_t> copies) {
  BuildTarget target = graphs_of(in).target();
  if (!target.graph->is_main())
    throw Error("variables live in the main graph only: init can't be called while " + shown_name(*target.graph) +
                    " is being built",
                {"`add_variable_inputs(name, factories)` makes inputs of this graph for them"})
        .as(codes::param);
  const NamedFactories all = sorted_factories(factories);
  std::vector<std::vector<Array>> values;  // by factory: a row for each copy
  values.resize(all.size());
  for (int64_t copy = 0; copy < copies.value_or(1); ++copy) {
    const std::string of_copy = copies ? full_name(prefix, std::to_string(copy)) : prefix;
    std::vector<Array> row = drawn_all(in, all, of_copy, placement, zero);
    for (size_t i = 0; i < row.size(); ++i) values[i].push_back(std::move(row[i]));
  }
  TreePtr out = make_tree(TreeKind::tensors);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [name, f] = all[i];
    const ReplicaGroups& groups = f->groups.empty() ? placement.groups : f->groups;
    const TensorSpec spec = f->spec.is_shard() ? f->spec : shard_spec(f->spec, placement.shards);
    if (copies && (!groups.empty() || !spec.shard_groups.empty()))
      throw Error("init: `copies` is not for variables with groups of replicas, as `" + name + "` has")
          .as(codes::replicas);
    stamp(in, *target.ir);
    Array data = copies ? stacked(values[i]) : std::move(values[i].front());
    Tensor* made = target.graph->add_variable(std::move(data), full_name(prefix, name), groups, spec.shard_groups,
                                              placement.remote);
    if (!prefix.empty()) made->path = {prefix, name};
    made->is_state = f->is_state;
    out->insert(name, tensor_value(target.ir, made));
  }
  return out;
}

TreePtr init_undefined(Interpreter& in, const TreeObject& factories) {
  TreePtr out = make_tree(TreeKind::tensors);
  for (auto& [name, leaf] : factories.leaves()) {
    auto* f = leaf.as<VariableFactoryObject>();
    if (!f) type_error("init_undef: `" + name + "` is no variable factory, but " + with_article(leaf.type_name()));
    Arguments args;
    args.span = position_of(in).here;
    if (f->spec.is_shard())
      throw Error("init_undef: `" + name + "` is a shard, " + text(f->spec) + ", which memory of its own is not",
                  {"`replica_sharded_slice` makes a shard of a tensor"})
          .as(codes::replicas);
    args.positional = {make_list(std::vector<Value>(f->spec.shape.begin(), f->spec.shape.end())), Value(f->spec.dtype)};
    out->insert(name, call_op(in, get_op("init"), std::move(args)));
  }
  return out;
}

namespace {

BuildState& build_of_factory(Interpreter& in, const char* where) {
  BuildState* state = graphs_of(in).world().current();
  if (!state || !state->root)
    throw Error(std::string(where) + " is only allowed while a graph is being built",
                {"in a program, `factories.init()` makes variables"})
        .as(codes::param);
  if (!state->named)
    throw Error(std::string(where) + ": " + state->what + " has no name here: the module is in no field",
                {"hold the module in a field of the module that calls it"})
        .as(codes::param);
  return *state;
}

Value declare_input(Interpreter& in, const char* where, const std::string& name, const Ref<VariableFactoryObject>& f) {
  BuildState& state = build_of_factory(in, where);
  const std::string key = state.prefix + name;
  if (state.root->params.count(key))
    throw Error("`" + name + "` already exists among the params of " + state.what).as(codes::param);
  return tensor_value(state.root->ir, add_param(in, *state.root, key, f->spec, f->by_ref, Value(f)));
}

Value make_factory(Interpreter& in, const Arguments& args) {
  ArgReader a("VariableFactory", args, {"init", "spec", "name", "by_ref", "replica_grouping", "shard_over"});
  auto f = make_ref<VariableFactoryObject>();
  f->init = a.value("init");
  if (a.has("spec"))
    f->spec = to_spec(in, a.value("spec"), "the spec of a factory");
  else if (f->init.is_number() || f->init.as_array() || f->init.as<SequenceObject>())
    f->spec = to_array(in, f->init).spec();
  else
    throw Error("VariableFactory: an initialiser or a function needs a spec", {"give it one: `spec = float32[...]`"})
        .as(codes::arguments);
  f->name = a.string_or("name", "t");
  f->by_ref = a.boolean_or("by_ref", false);
  if (a.has("replica_grouping"))
    f->groups = to_variable_groups(a.value("replica_grouping"), *graphs_of(in).target().ir);
  if (a.has("shard_over"))
    f->spec = placed_spec(f->spec, to_shard_groups(a.value("shard_over"), *graphs_of(in).target().ir), f->name);
  return f;
}

}  // namespace

void bind_factory_builtins(Scope& p) {
  define(
      p, no_effects,
      {"VariableFactory(init, spec = none, name = \"t\", by_ref = false, replica_grouping = none, shard_over = none)",
       "Makes variables with the initial value of a `param`; without a spec, they have that of the value.",
       R"(factory = VariableFactory(normal(0, 0.1), float32[3], name = "scale")
factory.spec)"},
      [](Interpreter& in, Arguments args) { return make_factory(in, args); });
  define(p, no_effects,
         {"add_variable_input(name, init, spec = none, by_ref = false, replica_grouping = none, shard_over = none)",
          "A param whose name is computed: a named input of the graph that is being built, with its factory.",
          R"(module Scales {
  build(x) {
    for i in range(2) { x = x * add_variable_input(f"scale{i}", ones(), float32[2]) }
    return x
  }
}
facts, graph = Scales().create_graph(float32[2])
list(facts.keys_flat()))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           Arguments made;
           made.span = args.span;
           for (const char* option : {"init", "spec", "name", "by_ref", "replica_grouping", "shard_over"})
             if (a.has(option)) made.named.push_back({option, a.value(option), args.span});
           auto f = make_factory(in, made).ptr<VariableFactoryObject>();
           return declare_input(in, "add_variable_input", a.string("name"), f);
         });
  define(p, no_effects,
         {"add_variable_factory(factory, name = none)",
          "A named input of the graph that is being built, made by a factory that exists.",
          R"(shared = VariableFactory(ones(), float32[2], name = "scale")
module Scaled {
  build(x) { return x * add_variable_factory(shared) }
}
facts, graph = Scaled().create_graph(float32[2])
list(facts.keys_flat()))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           auto f = a.value("factory").ptr<VariableFactoryObject>();
           if (!f) type_error("add_variable_factory takes a VariableFactory, got " + a.value("factory").type_name());
           return declare_input(in, "add_variable_factory", a.string_or("name", f->name), f);
         });
}

}  // namespace pxl
