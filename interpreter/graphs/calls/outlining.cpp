// Outlined modules and functions: calls that would build equal graphs share one.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/families.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {
namespace {

/// Writes values as text such that equal texts mean equal graphs. Objects without structure are compared by identity.
class KeyWriter {
 public:
  KeyWriter(Interpreter& in, GraphWorld::Addresses& used) : in_(in), used_(used) {}
  std::string out;
  std::vector<Value> reached_by_names;     ///< tensors, each once
  bool of_arguments = false;               ///< tensors are inputs, so their specs are part of the key
  std::vector<NamedKey>* names = nullptr;  ///< receives the value of each name, inner ones first; null: nobody asks

  void value(const Value& v) {
    DepthGuard depth(in_);
    if (leaf(v)) return;
    Object* o = v.object().get();
    if (!seen_.insert(o).second)
      identity('c', o, v);  // the object is being written, or was written before
    else if (container(v))
      seen_.erase(o);
    else
      definition(o, v);
  }

  /// Writes a value without further values. Returns false for others.
  bool leaf(const Value& v) {
    if (v.is_none()) {
      out += 'n';
    } else if (v.is_bool()) {
      out += v.as_bool() ? 'T' : 'F';
    } else if (v.is_int()) {
      tag('i', repr_of(in_, v));
    } else if (v.is_float()) {
      double d = v.as_double();
      bytes('d', &d, sizeof d);
    } else if (const std::string* s = v.as_string()) {
      tag('s', *s);
    } else if (const DType* d = v.as_dtype()) {
      tag('D', std::string(name(*d)));
    } else if (const TensorSpec* spec = v.as_spec()) {
      tag('S', spec_key(*spec));
    } else if (Tensor* t = as_tensor(v)) {
      if (of_arguments)
        tag('S', spec_key(t->spec));
      else
        tensor(v);
    } else if (const Array* a = v.as_array()) {
      array(*a);
    } else {
      return false;
    }
    return true;
  }

  void array(const Array& a) {
    tag('A', text(a.spec()));
    if (a.bytes() <= 4096) return bytes('b', a.raw(), static_cast<size_t>(a.bytes()));
    // While this copy holds the shared buffer, it is not written to.
    const std::byte* p = a.raw();
    bytes('p', static_cast<const void*>(&p), sizeof p);
    used_.arrays.push_back(a);
  }

  /// Writes an object that is its parts. Returns false for others.
  bool container(const Value& v) {
    if (auto* list = v.as<SequenceObject>()) {
      out += v.as<TupleObject>() ? '(' : '[';
      for (const Value& item : list->items) value(item);
      out += ']';
    } else if (auto* dict = v.as<DictObject>()) {
      out += '{';
      for (const auto& [k, item] : dict->items) {
        value(k);
        value(item);
      }
      out += '}';
    } else if (auto* tree = v.as<TreeObject>()) {
      out += '<';
      for (const auto& [k, item] : tree->items) {
        tag('k', k);
        value(item);
      }
      out += '>';
    } else if (auto* record = v.as<RecordObject>()) {
      code('R', record->type->code);
      for (const Value& item : record->values) value(item);
    } else if (auto* m = v.as<ModuleInstance>()) {
      instance(*m);
    } else {
      return false;
    }
    return true;
  }

  /// Writes an object that has code or a graph, with the values that it has captured.
  void definition(Object* o, const Value& v) {
    if (auto* module = v.as<ModuleObject>()) {
      code('m', module->code);
      module_captures(*module->code, module->closure);
    } else if (auto* f = v.as<FunctionObject>()) {
      code('f', f->code);
      for (const Value& given : f->defaults) value(given);
      captures(*f->code, f->closure);
    } else if (auto* of = v.as<OutlinedFunctionObject>()) {
      code('f', of->code);
      for (const Value& given : of->defaults) value(given);
      captures(*of->code, of->closure);
    } else if (auto* method = v.as<MethodObject>()) {
      code('f', method->code);
      if (ModuleInstancePtr self = method->instance()) value(Value(self));
    } else if (auto* g = v.as<GraphObject>()) {
      graph(*g, {});
    } else if (auto* b = v.as<BoundGraphObject>()) {
      graph(*b->graph, b->inputs);
    } else if (auto* d = v.as<DerivativeObject>()) {
      tag('d', d->key);
      value(d->function);
      for (const Value& part : d->parts) value(part);
    } else if (auto* factory = v.as<VariableFactoryObject>()) {
      tag('V', text(factory->spec));
      for (int64_t group : factory->groups) tag('g', std::to_string(group));
      value(factory->init);
    } else {
      identity('o', o, v);
    }
  }

  void instance(const ModuleInstance& m) {
    code('M', m.code);
    out += m.outlined ? '1' : '0';
    for (const std::string& name : m.field_names()) {
      tag('k', name);
      value(*m.scope->find_here(name));
    }
    module_captures(*m.code, m.scope->outer);
    out += ';';
  }

  /// Writes what the methods and the build of a module find outside it: its configuration and its fields are inside.
  void module_captures(const ast::ModuleStmt& m, const ScopePtr& closure) {
    std::vector<std::string> own;
    for (const ast::Parameter& p : m.parameters) own.push_back(p.name);
    for (const ast::Stmt* s : m.fields) std::ranges::copy(names_of(*s).bound, std::back_inserter(own));
    for (const ast::Function* f : m.methods) captures(*f, closure, own);
    if (m.build) captures(*m.build, closure, own);
  }

  /// Writes the values that names in the code find in the enclosing scopes, up to the prelude. `own`: names that are
  /// found before that.
  void captures(const ast::Function& f, const ScopePtr& closure, const std::vector<std::string>& own = {}) {
    if (!visited_.insert({&f, closure.get()}).second) return;
    for (const std::string& name : names_in(f)) {
      if (std::ranges::find(own, name) != own.end()) continue;
      // A name that the program's own body binds is no value from outside.
      if (names && std::ranges::find(f.own.slots, Name(std::string_view(name))) != f.own.slots.end()) continue;
      for (const Scope* s = closure.get(); s && s != evaluator_of(in_).prelude().get(); s = s->outer.get()) {
        const Value* v = s->find_here(name);
        if (!v) continue;
        tag('k', name);
        const bool before = std::exchange(of_arguments, false);
        const size_t begin = out.size();
        value(*v);
        if (names) names->push_back({name, out.substr(begin), shown(*v)});
        of_arguments = before;
        break;
      }
    }
  }

  /// The text of a number or a string; empty for other values.
  std::string shown(const Value& v) { return v.is_number() || v.as_string() ? repr_of(in_, v) : std::string(); }

  void tag(char kind, const std::string& s) {
    out += kind;
    out += std::to_string(s.size());
    out += ':';
    out += s;
  }
  template <class T>
  void code(char kind, const ast::Held<T>& held) {
    pointer(kind, held.get());
    used_.code.push_back(held);
  }

 private:
  /// Writes a tensor that a name reaches: its spec, and the number of its first occurrence.
  void tensor(const Value& v) {
    size_t i = 0;
    while (i < reached_by_names.size() && as_tensor(reached_by_names[i]) != as_tensor(v)) ++i;
    if (i == reached_by_names.size()) reached_by_names.push_back(v);
    tag('t', std::to_string(i));
    tag('S', spec_key(as_tensor(v)->spec));
  }
  /// Writes a graph, and the tensors that a call of it receives implicitly.
  void graph(const GraphObject& g, const BoundInputs& bound) {
    pointer('g', g.graph);
    const auto& known = facts_of(in_, g.ir, g.graph).captured;
    for (Tensor* input : g.graph->inputs()) {
      const auto is_input = [&](const auto& c) { return c.first == input; };
      if (const auto at = bound.find(input); at != bound.end())
        value(at->second);
      else if (const auto own = g.captured.find(input); own != g.captured.end())
        value(own->second);
      else if (const auto c = std::find_if(known.begin(), known.end(), is_input); c != known.end())
        tensor(tensor_value(g.ir, c->second));
    }
  }
  void pointer(char kind, const void* p) { bytes(kind, static_cast<const void*>(&p), sizeof p); }
  void bytes(char kind, const void* data, size_t n) {
    out += kind;
    out += std::to_string(n);
    out += ':';
    out.append(static_cast<const char*>(data), n);
  }
  void identity(char kind, const Object* o, const Value& v) {
    pointer(kind, o);
    used_.objects.push_back(v.object());
  }

  Interpreter& in_;
  GraphWorld::Addresses& used_;
  std::set<const Object*> seen_;
  std::set<std::pair<const ast::Function*, const Scope*>> visited_;
};

}  // namespace

Value outlined(Interpreter& in, const Value& v, const std::string& name) {
  if (auto* m = v.as<ModuleInstance>()) {
    if (!m->code->build)
      throw Error("outlined " + name + ": module " + m->code->name + " has no build").as(codes::outlined);
    m->outlined = true;
    return v;
  }
  if (auto* list = v.as<SequenceObject>()) {
    for (const Value& item : list->items) {
      if (item.as<SequenceObject>() || !item.is_object())
        type_error("outlined " + name + " takes a module or a list of modules, got a list with " +
                       with_article(item.type_name()),
                   codes::outlined);
      outlined(in, item, name);
    }
    return v;
  }
  type_error("outlined " + name + " takes a module or a list of modules, got " + with_article(v.type_name()),
             codes::outlined);
}

Value outlined_function(Interpreter& in, const ast::Function& f, Activation& a) {
  auto o = make_ref<OutlinedFunctionObject>();
  o->code = ast::held(f);
  o->closure = a.closure();
  o->defaults = make_defaults(in, f, a);
  return o;
}

std::string sharing_key(Interpreter& in, const GraphSource& source, const Arguments& args,
                        GraphWorld::Addresses& of_key, std::vector<Value>& reached_by_names) {
  KeyWriter w(in, of_key);
  if (!source.code) {
    w.value(source.callee);
  } else if (w.code('C', source.code); source.self) {
    w.instance(*source.self);
  } else {
    w.captures(*source.code, source.closure);
    for (const Value& given : source.defaults) w.value(given);
  }
  if (is_training(in, source)) w.out += 'L';
  const Ir& ir = *graphs_of(in).target().ir;
  w.tag('u', ir.ipu ? std::to_string(*ir.ipu) : "-");
  w.out += ir.io_tiles ? 'I' : 'C';
  Arguments copy = args;
  size_t matched = 0;
  w.of_arguments = true;
  for (const GivenArgument& given : match_arguments(source.parameters(), copy)) {
    w.tag('a', given.parameter->name);
    for (const std::string& name : given.names) w.tag('n', name);
    for (const Value* v : given.values) w.value(*v);
    matched += given.values.size();
  }
  if (matched != args.positional.size() + args.named.size()) {  // binding will refuse this call
    static std::atomic<size_t> unique = 0;
    w.tag('x', std::to_string(unique++));
  }
  reached_by_names = std::move(w.reached_by_names);
  return std::move(w.out);
}

std::vector<NamedKey> keys_of_program(Interpreter& in, const ast::Function& code, const ScopePtr& closure,
                                      const Arguments& args, GraphWorld::Addresses& of_key) {
  std::vector<NamedKey> names;
  KeyWriter w(in, of_key);
  w.names = &names;
  w.captures(code, closure);
  const auto add = [&](const std::string& name, const Value& v) {
    const size_t begin = w.out.size();
    w.value(v);
    names.push_back({name, w.out.substr(begin), w.shown(v)});
  };
  for (size_t i = 0; i < args.positional.size(); ++i) add(fmt::format("argument {}", i + 1), args.positional[i]);
  for (const NamedArg& n : args.named) add(n.name, n.value);
  return names;
}

std::vector<Value> tensors_reached_by(Interpreter& in, const Value& f) {
  GraphWorld::Addresses of_key;
  KeyWriter w(in, of_key);
  w.value(f);
  return std::move(w.reached_by_names);
}

namespace {

/// The number of the captured tensor for each captured input. If the graph uses a tensor that is not in the list,
/// nullopt and the tensor's name.
std::optional<std::vector<size_t>> numbers_of(const BuiltGraph& built, const std::vector<Value>& tensors,
                                              std::string& out_of_reach) {
  std::vector<size_t> numbers;
  const auto& inputs = built.graph->inputs();
  for (size_t i = inputs.size() - built.graph->captured_inputs(); i < inputs.size(); ++i) {
    const Tensor* outer = as_tensor(built.captured.at(inputs[i]));
    const auto is_outer = [&](const Value& v) { return as_tensor(v) == outer; };
    const auto at = std::find_if(tensors.begin(), tensors.end(), is_outer);
    if (at == tensors.end()) {
      out_of_reach = shown_name(*outer);
      return std::nullopt;
    }
    numbers.push_back(static_cast<size_t>(at - tensors.begin()));
  }
  return numbers;
}

/// The graph with this walk's tensors, which replace those from the walk that built it.
BuiltGraph hit(const GraphWorld::Shared& shared, const std::vector<Value>& tensors) {
  BuiltGraph built{shared.graph, shared.factories, {}};
  const auto& inputs = shared.graph->inputs();
  const size_t first = inputs.size() - shared.captured.size();
  for (size_t i = 0; i < shared.captured.size(); ++i)
    built.captured.emplace(inputs[first + i], tensors[shared.captured[i]]);
  return built;
}

/// Whether a shared graph changes no captured tensor, or has the captures with which it was built. Building the graph
/// checks which tensors a function may change, and whether two of them share memory.
bool changes_the_same(Interpreter& in, const std::shared_ptr<Ir>& ir, const BuiltGraph& shared) {
  const auto& built = facts_of(in, ir, shared.graph).captured;
  if (std::none_of(built.begin(), built.end(), [](const auto& c) { return c.first->by_ref; })) return true;
  return std::all_of(built.begin(), built.end(),
                     [&](const auto& c) { return as_tensor(shared.captured.at(c.first)) == c.second; });
}

}  // namespace

BuiltGraph shared_graph(Interpreter& in, const GraphSource& source, const Arguments& args, const Value& cache) {
  std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  GraphWorld::Addresses of_key;
  std::vector<Value> tensors;
  std::string key = sharing_key(in, source, args, of_key, tensors);
  if (cache.is_object()) {
    key += fmt::format("|{}", fmt::ptr(cache.object().get()));
    of_key.objects.push_back(cache.object());
  }
  GraphWorld::PerIr& known = graphs_of(in).world().of(ir);
  const auto found = known.shared.find(key);
  const bool is_new = found == known.shared.end();
  if (!is_new) {
    BuiltGraph shared = hit(found->second, tensors);
    if (changes_the_same(in, ir, shared)) return shared;
  }
  BuiltGraph built = build_graph(in, source, args);
  GraphFacts& facts = graphs_of(in).world().of(ir).graphs[built.graph];
  std::optional<std::vector<size_t>> captured = numbers_of(built, tensors, facts.out_of_reach);
  if (captured && is_new)
    graphs_of(in).world().of(ir).shared[key] = {built.graph, built.factories, std::move(of_key), std::move(*captured)};
  return built;
}

Value call_outlined(Interpreter& in, const GraphSource& source, Arguments args, BuildState* state) {
  std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  Arguments given_args = args;
  Arguments call;
  call.span = args.span;
  for (const GivenArgument& given : match_arguments(source.parameters(), given_args)) {
    auto take = [&](const Value& v) {
      if (v.as_spec())
        throw Error("argument `" + given.parameter->name + "` of " + source.what + " is a spec: a call takes a tensor")
            .as(codes::outlined);
      if (as_tensor(v)) call.positional.push_back(v);
    };
    for (const Value* v : given.values)
      for (const auto& [path, leaf] : tree_leaves(in, *v)) take(leaf);
  }
  BuiltGraph built = shared_graph(in, source, args);
  BoundInputs bound = built.captured;
  for (const Tensor* input : built.graph->inputs()) {
    if (input->key.empty()) continue;
    if (!state)
      throw Error(source.what + " has params, but it is called outside a graph's build",
                  {"`facts, graph = module.create_graph(...)` and `graph.bind(facts.init())` give them variables"})
          .as(codes::outlined);
    if (!state->named)
      throw Error("the params of " + source.what + " have no name here: the module is in no field",
                  {"hold the module in a field of the module that calls it"})
          .as(codes::outlined);
    std::string key = state->prefix + input->key;
    auto known = state->root->params.find(key);
    Tensor* t = nullptr;
    if (known != state->root->params.end()) {
      t = known->second;
      if (t->spec != input->spec)
        throw Error("param `" + key + "` is " + text(t->spec) + " already, and " + text(input->spec) + " in this call",
                    {"calls of one module share its params; use two modules for two shapes"})
            .as(codes::outlined);
    } else {
      const Value* factory = built.factories->find(input->key);
      t = add_param(in, *state->root, key, input->spec, input->by_ref, factory ? *factory : Value());
    }
    bound[input] = tensor_value(ir, t);
  }
  Op* op = emit_call(in, ir, *built.graph, bound, call);
  return call_result(in, ir, *op);
}

}  // namespace pxl
