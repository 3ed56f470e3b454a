// Builds graphs: decides which arguments become graph inputs, and runs a body as a new graph with its params.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {

GraphWorld::PerIr& GraphWorld::of(const std::shared_ptr<Ir>& ir) {
  auto it = irs.find(ir.get());
  if (it != irs.end() && it->second.ir.lock() == ir) return it->second;
  std::erase_if(irs, [](const auto& entry) { return entry.second.ir.expired(); });
  PerIr& fresh = irs[ir.get()];
  fresh = PerIr{};
  fresh.ir = ir;
  return fresh;
}

BuildScope::BuildScope(Interpreter& in, std::shared_ptr<BuildState> state) : in_(in) {
  graphs_of(in).world().builds.push_back(std::move(state));
}
BuildScope::~BuildScope() { graphs_of(in_).world().builds.pop_back(); }

TargetScope::TargetScope(Interpreter& in, std::shared_ptr<Ir> ir, Graph* graph, std::shared_ptr<Captures> captures)
    : in_(in), ir_(ir) {
  GraphTransaction::changing(*ir_);
  scopes_ = std::move(ir_->name_scopes);
  ir_->name_scopes.clear();
  graphs_of(in).push_target(BuildTarget{std::move(ir), graph, std::move(captures)});
}
TargetScope::~TargetScope() {
  graphs_of(in_).pop_target();
  ir_->name_scopes = std::move(scopes_);
}

// ---- names of submodules

void BuildRoot::scan() {
  paths_.clear();
  struct Item {
    const Value* value;
    std::string path;
  };
  std::vector<Item> stack;
  std::deque<std::pair<ModuleInstance*, std::string>> modules;
  if (instance) {
    paths_[instance.get()] = "";
    modules.emplace_back(instance.get(), "");
  } else if (program) {
    modules.emplace_back(nullptr, "");
  }
  std::set<const Object*> containers;  // guards against a list that contains itself
  while (!modules.empty()) {
    auto [m, prefix] = modules.front();
    modules.pop_front();
    if (std::count(prefix.begin(), prefix.end(), '.') >= 100) continue;  // deeper modules get no name
    // All children of a module get their names before any of their own children do.
    std::vector<std::string> names;
    if (m)
      names = m->field_names();
    else
      for (const auto& [name, value] : program->entries()) names.push_back(name.text());
    const ScopePtr& scope = m ? m->scope : program;
    for (auto it = names.rbegin(); it != names.rend(); ++it)
      stack.push_back({scope->find_here(*it), prefix.empty() ? *it : prefix + "." + *it});
    while (!stack.empty()) {
      Item item = std::move(stack.back());
      stack.pop_back();
      if (auto* child = item.value->as<ModuleInstance>()) {
        if (paths_.emplace(child, item.path).second) modules.emplace_back(child, item.path);
      } else if (auto* list = item.value->as<SequenceObject>()) {
        if (!containers.insert(list).second) continue;
        for (size_t i = list->items.size(); i-- > 0;)
          stack.push_back({&list->items[i], item.path + "." + std::to_string(i)});
      } else if (auto* dict = item.value->as<DictObject>()) {
        if (!containers.insert(dict).second) continue;
        const size_t before = stack.size();
        for (const auto& [name, value] : dict->items)
          if (const std::string* key = name.as_string()) stack.push_back({&value, item.path + "." + *key});
        std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(before), stack.end());
      }
    }
  }
}

const std::string* BuildRoot::path_of(const ModuleInstance* m) {
  auto it = paths_.find(m);
  if (it == paths_.end()) {
    scan();  // fields may have changed since the last scan
    it = paths_.find(m);
  }
  return it == paths_.end() ? nullptr : &it->second;
}

// ---- arguments

bool is_tensor_like(const Value& v) { return as_tensor(v) || v.as_spec(); }

std::vector<GivenArgument> match_arguments(const std::vector<ast::Parameter>& parameters, Arguments& args) {
  std::vector<GivenArgument> out;
  size_t next = 0;
  for (const ast::Parameter& p : parameters) {
    GivenArgument given{&p, {}, {}};
    if (p.rest) {
      while (next < args.positional.size()) given.values.push_back(&args.positional[next++]);
    } else if (p.options) {
      for (NamedArg& n : args.named) {
        if (std::any_of(parameters.begin(), parameters.end(), [&](const auto& q) { return q.name == n.name; }))
          continue;
        given.values.push_back(&n.value);
        given.names.push_back(n.name);
      }
    } else if (!p.by_name && next < args.positional.size()) {
      given.values.push_back(&args.positional[next++]);
    } else {
      for (NamedArg& n : args.named)
        if (n.name == p.name) given.values.push_back(&n.value);
    }
    out.push_back(std::move(given));
  }
  return out;
}

namespace {

const TensorSpec& input_spec(const Value& v) {
  Tensor* t = as_tensor(v);
  return t ? t->spec : *v.as_spec();
}

/// Whether a value is a list or tuple that contains only tensors.
bool is_tensor_list(const Value& v) {
  auto* list = v.as<SequenceObject>();
  return list && !list->items.empty() && std::all_of(list->items.begin(), list->items.end(), is_tensor_like);
}

class InputMaker {
 public:
  InputMaker(Interpreter& in, std::shared_ptr<Ir> ir, Graph& graph, GraphFacts& facts)
      : in_(in), ir_(std::move(ir)), graph_(graph), facts_(facts) {}

  /// Replaces the tensors and specs in a parameter's arguments with graph inputs.
  void convert(GivenArgument& given) {
    const ast::Parameter& p = *given.parameter;
    size_t first = graph_.inputs().size();
    if (p.rest) {
      for (size_t i = 0; i < given.values.size(); ++i) convert(*given.values[i], p.name + "_" + std::to_string(i), p);
      note(p.name, first, true);
      return;
    }
    for (size_t k = 0; k < given.values.size(); ++k) {
      Value* v = given.values[k];
      const std::string& name = p.options ? given.names[k] : p.name;
      first = graph_.inputs().size();
      if (convert(*v, name, p)) {
        note(name, first, !is_tensor_like(*v));
      } else if (p.by_ref) {
        throw Error("argument `" + name + "` is `ref`: it takes a tensor, got " + v->type_name()).as(codes::annotation);
      } else {
        facts_.baked.push_back(name);
      }
    }
  }
  /// Replaces the tensors in a tree with inputs. Returns false if the tree has no tensor.
  bool convert(Value& v, const std::string& name, const ast::Parameter& p) {
    if (!holds_tensors(in_, v)) return false;
    const char* separator = is_tensor_list(v) ? "_" : ".";
    v = map_tree(in_, v, [&](const Value& leaf, const std::string& path) {
      if (!is_tensor_like(leaf)) return leaf;
      return make(leaf, path.empty() ? name : name + separator + path, p.by_ref);
    });
    return true;
  }
  Value make(const Value& v, const std::string& name, bool by_ref) {
    return tensor_value(ir_, graph_.add_input(input_spec(v), name, by_ref));
  }
  /// If a parameter's default is a spec, the parameter becomes an input too.
  void convert_default(const ast::Parameter& p, Scope& scope) {
    const Value* v = scope.find_here(p.name);
    if (!v || !v->as_spec()) {
      facts_.baked.push_back(p.name);
      return;
    }
    const size_t first = graph_.inputs().size();
    scope.bind(p.name, make(*v, p.name, p.by_ref));
    note(p.name, first, false);
  }
  void note(const std::string& name, size_t first, bool is_list) {
    if (graph_.inputs().size() > first) facts_.groups.push_back({name, first, graph_.inputs().size() - first, is_list});
  }

 private:
  Interpreter& in_;
  std::shared_ptr<Ir> ir_;
  Graph& graph_;
  GraphFacts& facts_;
};

}  // namespace

void each_alias(Tensor* t, const std::function<bool(Tensor*)>& stop) {
  std::vector<Tensor*> open{t};
  std::unordered_set<const Tensor*> seen{t};
  while (!open.empty()) {
    t = open.back();
    open.pop_back();
    if (!t) continue;
    if (stop(t)) return;
    const Op* p = t->producer;
    if (!p || t->output_index != 0) continue;
    for (size_t slot = 0; slot < p->inputs.size(); ++slot)
      if (p->aliases(slot) && seen.insert(p->inputs[slot]).second) open.push_back(p->inputs[slot]);
  }
}

namespace {

void add_outputs(Interpreter& in, Graph& graph, GraphFacts& facts, const Value& result, const std::string& what) {
  auto add = [&](const Value& v, const std::string& path) {
    Tensor* t = reached(in, as_tensor(v));
    if (const Array* a = v.as_array()) t = graph.add_constant(*a, "t");
    if (!t)
      throw Error(what + ": a graph returns none, a tensor, or a list, dict or tree of tensors, got " +
                  with_article(v.type_name()) + (path.empty() ? "" : " at `" + path + "`"))
          .as(codes::type);
    if (t->graph != &graph)
      throw Error(what + ": the returned tensor `" + shown_name(*t) + "` belongs to another graph",
                  {"pass it as an argument, or return a tensor that is made in the graph"})
          .as(codes::other_graph);
    graph.add_output(t);
    return Value(t->spec);
  };
  facts.form = ResultForm::nothing;
  if (result.is_none()) return;
  facts.result = map_tree(in, result, add);
  facts.form = as_tensor(result)                                                                    ? ResultForm::single
               : is_tensor_list(result) || (result.as<SequenceObject>() && graph.outputs().empty()) ? ResultForm::tuple
                                                                                                    : ResultForm::tree;
}

}  // namespace

void check_updates(const Graph& graph, size_t first, const std::vector<std::pair<Tensor*, std::string>>& protected_args,
                   const std::string& what) {
  if (protected_args.empty()) return;
  const auto& ops = graph.ops();
  for (size_t i = first; i < ops.size(); ++i) {
    const Op& op = *ops[i];
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      if (!op.inputs[slot] || !op.modifies(slot)) continue;
      const std::string* name = nullptr;
      each_alias(op.inputs[slot], [&](Tensor* t) {
        for (const auto& [argument, its_name] : protected_args)
          if (argument == t) name = &its_name;
        return name != nullptr;
      });
      if (!name) continue;
      Error e("`" + *name + "` is changed in place, but it is no `ref` of " + what,
              {"write `ref " + *name + "` to change the caller's tensor, or use the form that makes a new one"});
      e.as(codes::in_place);
      e.locate(op.origin.span, op.origin.frames);
      throw e;
    }
  }
}

// ---- graphs

/// The error about a module without a build. A method that other frameworks call may be meant as one.
Error no_build(const ast::ModuleStmt& m) {
  Error e("module " + m.name + " has no build: no graph can be made of it");
  for (const ast::Function* f : m.methods) {
    if (f->name != "forward" && f->name != "call" && f->name != "__call__") continue;
    e.first().notes.push_back(
        fmt::format("what a call computes is written `build(x) {{ ... }}`, not `def {}`", f->name));
    e.relate(f->span, "the method");
    const std::string head = "def " + f->name;
    const std::string_view text = f->span.file->text();
    const size_t at = text.rfind(head, f->span.begin + head.size());
    if (at != text.npos && at + 200 > f->span.begin)
      e.offer({f->span.file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + head.size())}, "build");
  }
  return std::move(e).as(codes::program);
}

GraphSource source_of_instance(const ModuleInstancePtr& m) {
  if (!m->code->build) throw no_build(*m->code);
  GraphSource s;
  s.title = m->code->name;
  s.what = s.frame = m->code->name + ".build";
  s.code = ast::held(*m->code->build);
  s.closure = m->scope;
  s.self = m;
  s.refs_only = true;
  return s;
}

GraphSource source_of_callee(const Value& callee, std::string title, const std::vector<std::string>& parameters) {
  GraphSource s;
  s.title = s.what = s.frame = std::move(title);
  s.callee = callee;
  s.captures = true;
  auto named = std::make_shared<std::vector<ast::Parameter>>();
  for (const std::string& name : parameters) {
    ast::Parameter& p = named->emplace_back();
    p.name = name;
    p.interned = Name(std::string_view(name));
  }
  s.callee_parameters = std::move(named);
  return s;
}

Value take_callee(Arguments& args) {
  if (args.positional.empty())
    throw Error("create_graph takes a def or a module, then the arguments of its graph").as(codes::arguments);
  Value callee = std::move(args.positional.front());
  args.positional.erase(args.positional.begin());
  if (!args.spans.empty()) args.spans.erase(args.spans.begin());
  return callee;
}

void take_training(Interpreter& in, GraphSource& source, Arguments& args) {
  const auto is_it = [](const auto& named) { return named.name == "training"; };
  if (std::ranges::any_of(source.parameters(), is_it)) return;
  const auto at = std::ranges::find_if(args.named, is_it);
  if (at == args.named.end()) return;
  source.training = truth_of(in, at->value);
  args.named.erase(at);
}

bool is_training(Interpreter& in, const GraphSource& source) {
  const BuildState* around = graphs_of(in).world().current();
  return source.training.value_or(around && around->training);
}

GraphSource source_of(const Value& callee) {
  GraphSource s;
  if (auto m = callee.ptr<ModuleInstance>()) return source_of_instance(m);
  if (auto* f = callee.as<FunctionObject>()) {
    s.code = f->code;
    s.closure = f->closure;
    s.defaults = f->defaults;
    s.title = f->code->name;
    s.refs_only = f->code->outlined;
  } else if (auto* o = callee.as<OutlinedFunctionObject>()) {
    s.code = o->code;
    s.closure = o->closure;
    s.defaults = o->defaults;
    s.title = o->code->name;
    s.refs_only = true;
  } else if (auto* m2 = callee.as<MethodObject>()) {
    s.self = m2->instance();
    if (!s.self) throw Error("the module that `" + m2->code->name + "` belongs to is gone").as(codes::program);
    s.code = m2->code;
    s.closure = s.self->scope;
    s.title = s.self->code->name + "." + m2->code->name;
    s.refs_only = m2->code->outlined;
  } else if (callee.as<ModuleObject>()) {
    throw Error("a graph is made from a configured module: write `" + callee.as<ModuleObject>()->code->name + "(...)`")
        .as(codes::program);
  } else {
    throw Error("a graph is made from a def or a module, got " + with_article(callee.type_name())).as(codes::program);
  }
  s.what = s.frame = s.title;
  s.captures = true;
  return s;
}

namespace {

/// Runs a source's body with graph inputs in place of tensors. Returns what the body returned.
Value run_source(Interpreter& in, const GraphSource& source, InputMaker& maker, GraphFacts& facts, Arguments args,
                 const std::shared_ptr<BuildState>& state) {
  std::vector<GivenArgument> given = match_arguments(source.parameters(), args);
  for (GivenArgument& g : given) maker.convert(g);
  const BuildScope scope(in, state);
  if (!source.code) return invoke(in, source.callee, std::move(args));
  Activation a;
  a.scope = scope_of_body(source.closure, *source.code);
  if (source.self) {
    a.scope->bind("self", source.self);
    a.self = source.self;
  }
  a.build = state;
  a.kind = Activation::Kind::build;
  std::vector<const ast::Parameter*> absent;
  for (const GivenArgument& g : given)
    if (g.values.empty() && !g.parameter->rest) absent.push_back(g.parameter);
  bind_parameters(in, source.what, source.code->parameters, std::move(args), a.scope, source.closure, source.defaults);
  for (const ast::Parameter* p : absent) maker.convert_default(*p, *a.scope);
  Value result = run_function(in, *source.code, a);
  if (source.self && source.code.get() == source.self->code->build && source.self->replaces_transforms()) {
    facts.differentiable = source.self;
    for (const auto& [name, value] : a.scope->entries())
      if (Tensor* t = as_tensor(value); t && t->graph == graphs_of(in).target().graph) facts.names[name.text()] = t;
  }
  return result;
}

bool is_captured(const Captures* captures, const Tensor* input) {
  return captures && std::any_of(captures->all.begin(), captures->all.end(),
                                 [&](const Captures::One& c) { return c.input == input; });
}

/// Captured inputs come after all others.
void finish_captures(Graph& graph, const Captures& captures, GraphFacts& facts) {
  if (captures.all.empty()) return;
  std::vector<Tensor*> inputs, last;
  for (const Captures::One& c : captures.all) {
    last.push_back(c.input);
    facts.captured.emplace_back(c.input, c.origin);
  }
  for (Tensor* t : graph.inputs())
    if (std::find(last.begin(), last.end(), t) == last.end()) inputs.push_back(t);
  inputs.insert(inputs.end(), last.begin(), last.end());
  graph.set_inputs(std::move(inputs));
  graph.set_captured_inputs(last.size());
}

/// Reserves the keys of fields that hold modules, so that they come first in the tree of factories, in the order of the
/// fields.
void reserve_fields(const ModuleInstance& m, TreeObject& factories) {
  for (const std::string& name : m.field_names()) {
    const Value* v = m.scope->find_here(name);
    auto* list = v->as<SequenceObject>();
    if (v->as<ModuleInstance>()) factories.reserve(name);
    for (size_t i = 0; list && i < list->items.size(); ++i)
      if (list->items[i].as<ModuleInstance>()) factories.reserve(name + "." + std::to_string(i));
  }
}

}  // namespace

BuiltGraph build_graph(Interpreter& in, const GraphSource& source, Arguments args) {
  const BuildTarget around = graphs_of(in).target();
  std::shared_ptr<Ir> ir = around.ir;
  if (ir->frozen)
    throw Error("the program `" + ir->name() + "` belongs to a session already: nothing can be added to it")
        .as(codes::complete);
  stamp(in, *ir);
  Graph& graph = ir->create_graph(source.title);
  auto root = std::make_shared<BuildRoot>();
  root->ir = ir;
  root->graph = &graph;
  root->instance = source.self;
  root->captures = source.captures;
  auto state = std::make_shared<BuildState>();
  state->root = root;
  state->what = source.what;
  state->training = is_training(in, source);
  GraphFacts facts;
  if (source.self) reserve_fields(*source.self, *root->factories);
  const auto captures = source.captures ? std::make_shared<Captures>() : nullptr;
  CallFrame frame(in, source.frame, args.span);
  try {
    TargetScope target(in, ir, &graph, captures);
    stamp(in, *ir);
    InputMaker maker(in, ir, graph, facts);
    const Value result = run_source(in, source, maker, facts, std::move(args), state);
    add_outputs(in, graph, facts, result, source.what);
    finish_states(in, graph);
    if (source.refs_only) {
      std::vector<std::pair<Tensor*, std::string>> protected_args;
      for (Tensor* t : graph.inputs())
        if (!t->by_ref && !is_captured(captures.get(), t))
          protected_args.emplace_back(t, t->key.empty() ? t->name : t->key);
      check_updates(graph, 0, protected_args, source.what);
    }
    if (captures) {
      finish_captures(graph, *captures, facts);
      pass_changes_by_reference(graph, *captures, around.captures.get(), source.what);
    }
  } catch (Error& e) {
    e.locate(position_of(in).here, position_of(in).frames);
    throw;
  }
  root->factories->prune();
  for (auto& [name, leaf] : root->factories->leaves()) facts.with_factory.insert(name);
  const bool custom = facts.differentiable != nullptr;
  BuiltGraph built{&graph, root->factories, {}};
  for (const auto& [input, origin] : facts.captured) built.captured.emplace(input, tensor_value(ir, origin));
  auto& world = graphs_of(in).world().of(ir);
  world.graphs[&graph] = std::move(facts);
  if (root->instance) world.modules.insert_or_assign({&graph, ""}, root->instance->code);
  if (custom) use_methods_of_graph(in, ir, graph);
  return built;
}

}  // namespace pxl
