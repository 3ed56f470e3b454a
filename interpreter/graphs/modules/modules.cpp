// Modules: declaring one, making an instance, its members, and inlining its build.
#include "interpreter/graphs/modules/modules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {
namespace {

/// "Linear.build, inlined as fc2 in Net.build"
std::string inlined_frame(const std::string& what, const std::string* path, const BuildState* caller) {
  std::string out = what;
  if (path && !path->empty()) out += ", inlined as " + *path;
  if (caller && !caller->what.empty()) out += (path && !path->empty() ? " in " : ", inlined in ") + caller->what;
  return out;
}

/// The parts of a child's path that follow the caller's path.
std::vector<std::string> relative_scopes(const std::string& path, const std::string& caller_prefix) {
  std::string rest = path;
  if (rest.compare(0, caller_prefix.size(), caller_prefix) == 0) rest.erase(0, caller_prefix.size());
  std::vector<std::string> parts;
  for (size_t from = 0; from < rest.size();) {
    size_t dot = std::min(rest.find('.', from), rest.size());
    parts.push_back(rest.substr(from, dot - from));
    from = dot + 1;
  }
  return parts;
}

/// Adds name scopes to the Ir during its lifetime.
struct NameScopes {
  std::vector<std::string>& scopes;
  size_t before;
  NameScopes(std::vector<std::string>& s, const std::vector<std::string>& parts) : scopes(s), before(s.size()) {
    scopes.insert(scopes.end(), parts.begin(), parts.end());
  }
  ~NameScopes() { scopes.resize(std::min(before, scopes.size())); }
  NameScopes(const NameScopes&) = delete;
  NameScopes& operator=(const NameScopes&) = delete;
};

/// The build that receives the params of a module called here. It is the innermost build that has the module in a
/// field, among those that capturing functions connect to this place. Null outside a build.
struct BuildOfModule {
  std::shared_ptr<BuildState> state;
  const BuildState* caller = nullptr;
  const std::string* path = nullptr;  ///< path of the module below the root
};
BuildOfModule build_of(Interpreter& in, const ModuleInstance& m, std::string what) {
  const auto& builds = graphs_of(in).world().builds;
  BuildOfModule found;
  found.state = std::make_shared<BuildState>();
  found.state->what = std::move(what);
  found.caller = builds.empty() ? nullptr : builds.back().get();
  found.state->training = found.caller && found.caller->training;
  if (!found.caller || !found.caller->root) return found;
  found.state->root = found.caller->root;
  BuildRoot* outermost = nullptr;
  auto it = builds.rbegin();
  for (; it != builds.rend() && (*it)->root; ++it) {
    found.path = (*it)->root->path_of(&m);
    if (found.path) found.state->root = (*it)->root;
    if (found.path || !(*it)->root->captures) break;
    outermost = (*it)->root.get();
  }
  if (!found.path && outermost && (it == builds.rend() || !(*it)->root)) {  // a function of a program's body
    if (!outermost->of_main) {
      outermost->of_main = std::make_shared<BuildRoot>();
      outermost->of_main->ir = outermost->ir;
      outermost->of_main->graph = &outermost->ir->main();
      outermost->of_main->program = graphs_of(in).world().of(outermost->ir).fields.lock();
    }
    found.path = outermost->of_main->path_of(&m);
    if (found.path) found.state->root = outermost->of_main;
  }
  found.state->named = found.path != nullptr;
  if (found.path && !found.path->empty()) found.state->prefix = *found.path + ".";
  return found;
}

Value run_build_inline(Interpreter& in, const ModuleInstancePtr& m, Arguments args) {
  const ast::Function& f = *m->code->build;
  const auto [state, caller, path] = build_of(in, *m, m->code->name + ".build");
  CallFrame frame(in, inlined_frame(state->what, path, caller), args.span);
  try {
    BuildTarget target = graphs_of(in).target();
    NameScopes scopes(target.ir->name_scopes,
                      path ? relative_scopes(*path, caller ? caller->prefix : "") : std::vector<std::string>{});
    if (path)
      graphs_of(in).world().of(target.ir).modules.insert_or_assign(
          {target.graph, join_texts(target.ir->name_scopes, "/")}, m->code);
    Activation a;
    a.scope = scope_of_body(m->scope, f);
    a.scope->bind("self", m);
    a.self = m;
    a.build = state;
    a.kind = Activation::Kind::build;
    std::vector<std::pair<Tensor*, std::string>> protected_args;
    for (const GivenArgument& given : match_arguments(f.parameters, args)) {
      if (given.parameter->by_ref) continue;
      for (Value* v : given.values)
        if (Tensor* t = as_tensor(*v)) protected_args.emplace_back(t, given.parameter->name);
    }
    size_t first = target.graph->ops().size();
    bind_parameters(in, state->what, f.parameters, std::move(args), a.scope, m->scope);
    BuildScope scope(in, state);
    Value result = run_function(in, f, a);
    check_updates(*target.graph, first, protected_args, state->what);
    return result;
  } catch (Error& e) {
    e.locate(position_of(in).here, position_of(in).frames);
    throw;
  }
}

}  // namespace

void declare_module(Interpreter& in, const ast::ModuleStmt& s, Activation& a) {
  auto m = make_ref<ModuleObject>();
  m->code = ast::held(s);
  m->closure = a.closure();
  for (const ast::Function* f : s.methods) m->methods.emplace_back(f->name);
  m->plain = take_values(s.parameters) &&
             std::ranges::none_of(s.parameters, [](const ast::Parameter& p) { return p.name == "cache"; });
  bind_name(in, a, s.name, m);
}

std::optional<Value> ModuleObject::member(Interpreter&, std::string_view name) {
  if (name == "name") return Value(code->name);
  if (name == "doc") return Value(code->doc);
  return std::nullopt;
}

std::string ModuleObject::note_on_missing(std::string_view name) const {
  if (name != "create_graph" && name != "build") return {};
  return fmt::format("make an instance first: `{}(...).{}(...)`", code->name, name);
}

namespace {

/// The first argument of a configuration that only the build declares, such as lr in `SGD(lr = 0.1)`; empty if there is
/// none.
std::string build_argument(const ast::ModuleStmt& code, const Arguments& args) {
  if (!code.build) return {};
  const auto has = [](const std::vector<ast::Parameter>& parameters, const std::string& name) {
    return std::any_of(parameters.begin(), parameters.end(), [&](const ast::Parameter& p) { return p.name == name; });
  };
  for (const NamedArg& named : args.named)
    if (!has(code.parameters, named.name) && has(code.build->parameters, named.name)) return named.name;
  return {};
}

}  // namespace

ModuleInstancePtr ModuleObject::new_instance() const {
  auto m = make_ref<ModuleInstance>();
  m->code = code;
  m->scope = make_ref<Scope>(closure);
  m->scope->instance = true;
  m->scope->reserve(code->parameters.size() + methods.size() + code->fields.size());
  return m;
}

bool ModuleObject::admits(const Value* values, size_t count) const {
  return have_kinds(code->parameters, values, count);
}

Value ModuleObject::call_by_position(Interpreter& in, const Value* values, size_t count) {
  if (!takes_by_position(count) || in.checking || !admits(values, count))
    return Object::call_by_position(in, values, count);
  ModuleInstancePtr m = new_instance();
  for (size_t i = 0; i < count; ++i) m->scope->bind(code->parameters[i].interned, values[i]);
  return finished(in, std::move(m), in.here);
}

Value ModuleObject::call(Interpreter& in, Arguments args) {
  ModuleInstancePtr m = new_instance();
  const bool has_cache = std::any_of(code->parameters.begin(), code->parameters.end(),
                                     [](const ast::Parameter& p) { return p.name == "cache"; });
  if (!has_cache) {  // every module accepts `cache = true`
    for (auto it = args.named.begin(); it != args.named.end(); ++it)
      if (it->name == "cache") {
        m->cached = truth_of(in, it->value);
        args.named.erase(it);
        break;
      }
  }
  for (const ast::Parameter& p : code->parameters)
    if (p.by_ref)
      throw Error("module " + code->name + ": `ref` belongs to arguments of a build, not to the configuration")
          .as(codes::misplaced);
  const Span at = args.span;
  const std::string of_build = build_argument(*code, args);
  try {
    bind_parameters(in, code->name, code->parameters, std::move(args), m->scope, closure);
  } catch (Error& e) {
    if (!of_build.empty())
      e.first().notes.push_back("`" + of_build +
                                "` is an argument of its build: it is given where the instance is called");
    throw;
  }
  // A module may declare `cache` itself, to change the default.
  if (has_cache) m->cached = truth_of(in, *m->scope->find_here("cache"));
  return finished(in, std::move(m), at);
}

Value ModuleObject::finished(Interpreter& in, ModuleInstancePtr m, const Span& at) const {
  for (size_t i = 0; i < methods.size(); ++i) {
    auto method = make_ref<MethodObject>();
    method->code = {code, code->methods[i]};
    method->weak = m;
    m->scope->bind(methods[i], std::move(method));
  }
  Activation a;
  a.scope = m->scope;
  a.self = m;
  a.kind = Activation::Kind::function;
  const CallFrame frame(in, code->name, at);
  for (const ast::Stmt* s : code->fields) execute(in, *s, a);
  return m;
}

namespace {

/// Scopes of modules that wait for their destruction, and whether a destructor works them off.
struct Graves {
  std::vector<ScopePtr> waiting;
  bool digging = false;
};

}  // namespace

// Destroys a chain of modules that hold each other one by one, not by recursion.
ModuleInstance::~ModuleInstance() {
  auto& [graves, digging] = of_thread<Graves>();
  graves.push_back(std::move(scope));
  if (digging) return;
  digging = true;
  while (!graves.empty()) {
    ScopePtr dying = std::move(graves.back());
    graves.pop_back();
    dying.reset();  // may add graves
  }
  digging = false;
}

const ast::Function* ModuleInstance::method(std::string_view name) const {
  for (const ast::Function* f : code->methods)
    if (f->name == name) return f;
  return nullptr;
}

bool ModuleInstance::is_configured(Name name) const {
  return std::any_of(code->parameters.begin(), code->parameters.end(),
                     [&](const ast::Parameter& p) { return p.interned == name; });
}

std::vector<std::string> ModuleInstance::field_names() const {
  std::vector<std::string> fields, config;
  for (const auto& [name, value] : scope->entries()) {
    if (own_method(value)) continue;
    (is_configured(name) ? config : fields).push_back(name.text());
  }
  fields.insert(fields.end(), config.begin(), config.end());
  return fields;
}

std::string ModuleInstance::repr(Interpreter& in) {
  std::string out = code->name + "(";
  bool first = true;
  for (const ast::Parameter& p : code->parameters) {
    const Value* v = scope->find_here(p.name);
    if (!v) continue;
    if (!first) out += ", ";
    first = false;
    out += p.name + " = " + (v->as<ModuleInstance>() ? v->type_name() : repr_of(in, *v));
  }
  return out + ")";
}

Ref<GraphObject> graph_of_instance(Interpreter& in, const GraphSource& source, const Arguments& args,
                                   const BuiltGraph& built) {
  auto graph = graph_value(graphs_of(in).target().ir, built.graph, built.captured).ptr<GraphObject>();
  auto origin = make_ref<GraphOrigin>(source, args);
  const auto spec_of = [&](Value& v) {
    if (!holds_tensors(in, v)) return;
    v = map_tree(in, v, [](const Value& leaf, const std::string&) {
      const Tensor* t = as_tensor(leaf);
      return t ? Value(t->spec) : leaf;
    });
  };
  for (Value& v : origin->args.positional) spec_of(v);
  for (NamedArg& n : origin->args.named) spec_of(n.value);
  graph->origin = std::move(origin);
  return graph;
}

namespace {

using InstanceRef = ModuleInstance&;

/// Removes a named argument from a call and returns it.
std::optional<Value> take_named(Arguments& args, std::string_view name) {
  for (auto it = args.named.begin(); it != args.named.end(); ++it)
    if (it->name == name) {
      Value v = std::move(it->value);
      args.named.erase(it);
      return v;
    }
  return std::nullopt;
}

Value bound_of(Interpreter& in, InstanceRef m, const Arguments& given) {
  GraphSource source = source_of_instance(static_ref_cast<ModuleInstance>(m.shared_from_this()));
  for (const ast::Parameter& p : source.code->parameters)
    if (p.name == "vars" || p.name == "name" || p.name == "training")
      throw Error("bound: " + source.what + " has an argument `" + p.name + "` of its own",
                  {"write `facts, graph = ....create_graph(...)` and `graph.bind(facts.init())`"})
          .as(codes::arguments);
  Arguments args = given;
  const auto spec_of_stream = [&](Value& v) {
    const auto spec_of = [](const Value& leaf, const std::string&) {
      const auto* s = leaf.as<StreamObject>();
      return s ? Value(s->stream->spec()) : leaf;
    };
    if (first_stream(v)) v = map_tree(in, v, spec_of);
  };
  for (Value& v : args.positional) spec_of_stream(v);
  for (NamedArg& n : args.named) spec_of_stream(n.value);
  take_training(in, source, args);
  const std::optional<Value> vars = take_named(args, "vars"), name = take_named(args, "name");
  std::string prefix = target_name(in, given.span, "");
  if (name && !name->is_none()) {
    if (!name->as_string()) type_error("bound: `name` is a text, got " + with_article(name->type_name()));
    prefix = *name->as_string();
  }
  const BuiltGraph built = m.cached ? shared_graph(in, source, args) : build_graph(in, source, args);
  const Ref<GraphObject> graph = graph_of_instance(in, source, args, built);
  Arguments tree;
  tree.span = given.span;
  if (vars && !vars->is_none()) {
    tree.positional.push_back(*vars);
  } else if (!built.factories->items.empty()) {
    const TreePtr made = init_factories(in, *built.factories, prefix, {}, false);
    if (!name || name->is_none())  // then the finished program's name for the bound graph counts in checkpoints
      for (const auto& [key, leaf] : made->leaves()) as_tensor(leaf)->path = {};
    tree.positional.emplace_back(made);
  }
  return bind_graph(in, graph, nullptr, tree);
}
constexpr Member<ModuleInstance> instance_rows[] = {
    {"create_graph", "(*inputs, name = value, training = false, ...)",
     "The factories of its params and states, and a graph of its build. Tensors and specs are inputs, other arguments "
     "are constants. training: what `self.training` is in the build, and in those of the modules that it calls.",
     "layer.create_graph(float32[2, 4])",
     [](Interpreter& in, InstanceRef m, const Arguments& args) -> Value {
       const auto self = static_ref_cast<ModuleInstance>(m.shared_from_this());
       GraphSource source = source_of_instance(self);
       Arguments inputs = args;
       take_training(in, source, inputs);
       const BuiltGraph built = m.cached ? shared_graph(in, source, inputs) : build_graph(in, source, inputs);
       return make_tuple({Value(built.factories->copy()), Value(graph_of_instance(in, source, inputs, built))});
     }},
    {"bound", "(*inputs, vars = none, name = none, training = false, ...)",
     "A graph of its build with variables for its params and states: `create_graph`, `init` and `bind`. name: what the "
     "variables' names begin with; by default the name that the bound graph is assigned to. vars: a tree or a bound "
     "graph that has the variables; none are made. training: what `self.training` is.",
     "layer.bound(ones([2, 4])).vars", bound_of},
    {"fields", "A dict of its fields, then of its configuration, by name.", "layer.fields",
     [](Interpreter&, InstanceRef m) -> std::optional<Value> {
       auto fields = make_ref<DictObject>();
       for (const std::string& name : m.field_names()) fields->put(Value(name), *m.scope->find_here(name));
       return Value(fields);
     }},
    {"training",
     "Whether a build is for training: `create_graph` and `bound` say so, and modules that the build calls inherit it.",
     "layer.training",
     [](Interpreter& in, InstanceRef) -> std::optional<Value> {
       const BuildState* running = graphs_of(in).world().current();
       return Value(running && running->training);
     }},
    {"build", "(...)", "Adds its ops to the graph that is being built: `layer(x)`, by its long name.", "",
     [](Interpreter& in, InstanceRef m, const Arguments& args) { return m.call(in, args); }},
};
constexpr std::span<const Member<ModuleInstance>> instance_table(instance_rows);

}  // namespace

MemberTable module_instance_members() {
  return member_table("module instance",
                      "A module that was called with its configuration. Its fields and methods are members too.",
                      "from nn import Linear\nlayer = Linear(3)", instance_table);
}

std::optional<Value> ModuleInstance::member(Interpreter& in, std::string_view name) {
  auto self = static_ref_cast<ModuleInstance>(shared_from_this());
  if (const Value* v = scope->find_here(name); v && !own_method(*v)) return *v;
  if (const ast::Function* f = method(name)) {
    auto m = make_ref<MethodObject>();
    m->code = ast::held(*f);
    m->weak = self;
    m->strong = self;
    return Value(m);
  }
  if (name != "build" || code->build)
    if (std::optional<Value> found = member_of_table(in, instance_table, *this, name)) return found;
  // Inside a build, the instance has the params that it declared there, for weight tying.
  for (auto it = graphs_of(in).world().builds.rbegin(); it != graphs_of(in).world().builds.rend(); ++it) {
    if (!*it || !(*it)->root) continue;
    BuildRoot& root = *(*it)->root;
    const std::string* path = root.path_of(this);
    if (!path) continue;
    auto found = root.params.find(path->empty() ? std::string(name) : *path + "." + std::string(name));
    if (found != root.params.end()) return tensor_value(root.ir, found->second);
    break;
  }
  return std::nullopt;
}

std::vector<std::string> ModuleInstance::member_names() const {
  std::vector<std::string> names = own_names();
  names.insert(names.end(), {"create_graph"});
  if (code->build) names.push_back("build");
  return names;
}

std::vector<std::string> ModuleInstance::own_names() const {
  std::vector<std::string> names = field_names();
  for (const ast::Function* f : code->methods) names.push_back(f->name);
  return names;
}

std::string ModuleInstance::note_on_missing(std::string_view name) const {
  for (const MemberTable& table : member_tables())
    if (table.kind == "graph" || table.kind == "bound graph")
      for (const MemberInfo* row : table.rows)
        if (row->name == name)
          return fmt::format("a {} has it: `facts, graph = {}(...).create_graph(x)` makes a graph{}", table.kind,
                             code->name, table.kind == "graph" ? "" : ", and `graph.bind(facts.init())` a bound one");
  return {};
}

void ModuleInstance::set_member(Interpreter& in, std::string_view name, Value value) {
  if (method(name))
    throw Error("`" + std::string(name) + "` is a method of " + code->name + ": it can't be assigned")
        .as(codes::assignment);
  evaluator_of(in).remember(scope);  // a field may hold, through others, the module itself
  if (forgets_changes && is_recorded()) {
    scope->bind(name, unknown_value());
    return;
  }
  changing();
  scope->bind(name, std::move(value));
}

std::function<void()> ModuleInstance::state() {
  // The scope object stays the same, since methods hold it.
  return [this, entries = scope->entries()] { scope->restore(entries); };
}

Value ModuleInstance::call(Interpreter& in, Arguments args) {
  auto self = static_ref_cast<ModuleInstance>(shared_from_this());
  if (!code->build)
    throw Error("module " + code->name + " has no build: it can't be called",
                {"call one of its methods, or give it a `build(x) { ... }`"})
        .as(codes::type);
  // A build with its own gradients stays a graph, so that it can be differentiated as a whole.
  if (!outlined && !replaces_transforms()) return run_build_inline(in, self, std::move(args));
  GraphSource source = source_of_instance(self);
  const auto [state, caller, path] = build_of(in, *this, source.what);
  if (state->root)
    source.frame +=
        path && !path->empty() ? ", outlined as " + *path + " in " + caller->what : ", outlined in " + caller->what;
  return call_outlined(in, source, std::move(args), state->root ? state.get() : nullptr);
}

std::string MethodObject::repr(Interpreter&) {
  ModuleInstancePtr m = instance();
  return "<method " + (m ? m->code->name + "." : std::string()) + code->name + ">";
}

Value MethodObject::call(Interpreter& in, Arguments args) {
  ModuleInstancePtr m = instance();
  if (!m) throw Error("the module that `" + code->name + "` belongs to is gone").as(codes::type);
  const std::string what = m->code->name + "." + code->name;
  if (code->outlined) {
    const GraphSource source = source_of(Value(shared_from_this()));
    const auto [state, caller, path] = build_of(in, *m, what);
    return call_outlined(in, source, std::move(args), state->root ? state.get() : nullptr);
  }
  Activation a;
  a.scope = scope_of_body(m->scope, *code);
  a.scope->bind("self", m);
  a.self = m;
  CallFrame frame(in, what, args.span);
  try {
    bind_parameters(in, what, code->parameters, std::move(args), a.scope, m->scope);
    return run_function(in, *code, a);
  } catch (Error& e) {
    e.locate(position_of(in).here, position_of(in).frames);
    throw;
  }
}

Value OutlinedFunctionObject::call(Interpreter& in, Arguments args) {
  GraphSource source = source_of(Value(shared_from_this()));
  BuildState* caller = graphs_of(in).world().current();
  return call_outlined(in, source, std::move(args), caller && caller->root ? caller : nullptr);
}

}  // namespace pxl
