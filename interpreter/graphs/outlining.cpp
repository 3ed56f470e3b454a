// Outlined modules and functions: their graphs are shared between calls that would build the same one.
#include <fmt/format.h>

#include <atomic>

#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/graphs/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {
namespace {

/// Writes values as text such that equal texts mean equal graphs. Objects without structure count by identity.
class KeyWriter {
 public:
  KeyWriter(Interpreter& in, GraphWorld::Addresses& used) : in_(in), used_(used) {}
  std::string out;

  void value(const Value& v) {
    DepthGuard depth(in_);
    if (v.is_none()) {
      out += 'n';
      return;
    }
    if (v.is_bool()) {
      out += v.as_bool() ? 'T' : 'F';
      return;
    }
    if (v.is_int()) {
      tag('i', repr_of(in_, v));
      return;
    }
    if (v.is_float()) {
      double d = v.as_double();
      bytes('d', &d, sizeof d);
      return;
    }
    if (const std::string* s = v.as_string()) {
      tag('s', *s);
      return;
    }
    if (const DType* d = v.as_dtype()) {
      tag('D', std::string(name(*d)));
      return;
    }
    if (const TensorSpec* s = v.as_spec()) {
      tag('S', spec_key(*s));
      return;
    }
    if (Tensor* t = as_tensor(v)) {
      tag('S', spec_key(t->spec));
      return;
    }
    if (const Array* a = v.as_array()) {
      tag('A', text(a->spec()));
      if (a->bytes() <= 4096) {
        bytes('b', a->raw(), static_cast<size_t>(a->bytes()));
      } else {  // a shared buffer is never written to while this copy holds it
        const std::byte* p = a->raw();
        bytes('p', static_cast<const void*>(&p), sizeof p);
        used_.arrays.push_back(*a);
      }
      return;
    }
    Object* o = v.object().get();
    if (!seen_.insert(o).second) {
      identity('c', o, v);
      return;
    }  // in progress or written before
    if (auto* list = v.as<SequenceObject>()) {
      out += v.as<TupleObject>() ? '(' : '[';
      for (const Value& item : list->items) value(item);
      out += ']';
      seen_.erase(o);
    } else if (auto* dict = v.as<DictObject>()) {
      out += '{';
      for (const auto& [k, item] : dict->items) {
        value(k);
        value(item);
      }
      out += '}';
      seen_.erase(o);
    } else if (auto* tree = v.as<TreeObject>()) {
      out += '<';
      for (const auto& [k, item] : tree->items) {
        tag('k', k);
        value(item);
      }
      out += '>';
      seen_.erase(o);
    } else if (auto* record = v.as<RecordObject>()) {
      code('R', record->type->code);
      for (const Value& item : record->values) value(item);
      seen_.erase(o);
    } else if (auto* m = v.as<ModuleInstance>()) {
      instance(*m);
      seen_.erase(o);
    } else if (auto* module = v.as<ModuleObject>()) {
      code('m', module->code);
      for (const ast::Function* f : module->code->methods) captures(*f, module->closure);
      if (module->code->build) captures(*module->code->build, module->closure);
    } else if (auto* f = v.as<FunctionObject>()) {
      code('f', f->code);
      if (!f->self.is_none()) value(f->self);
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
      pointer('g', g->graph);
    } else if (auto* b = v.as<BoundGraphObject>()) {
      pointer('g', b->graph->graph);
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
    for (const ast::Function* f : m.code->methods) captures(*f, m.scope->outer);
    if (m.code->build) captures(*m.code->build, m.scope->outer);
    out += ';';
  }

  /// Values that names of the code find in the scopes around it, up to the prelude.
  void captures(const ast::Function& f, const ScopePtr& closure) {
    if (!visited_.insert({&f, closure.get()}).second) return;
    for (const std::string& name : names_in(f)) {
      bool parameter = false;
      for (const ast::Parameter& p : f.parameters) parameter = parameter || p.name == name;
      if (parameter) continue;
      for (const Scope* s = closure.get(); s && s != evaluator_of(in_).prelude().get(); s = s->outer.get()) {
        const Value* v = s->find_here(name);
        if (!v) continue;
        if (!as_tensor(*v)) {  // a captured tensor is refused where it is used
          tag('k', name);
          value(*v);
        }
        break;
      }
    }
  }

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
                        GraphWorld::Addresses& of_key) {
  KeyWriter w(in, of_key);
  w.code('C', source.code);
  if (source.self) {
    w.instance(*source.self);
  } else {
    w.captures(*source.code, source.closure);
    for (const Value& given : source.defaults) w.value(given);
  }
  const Ir& ir = *graphs_of(in).target().ir;
  w.tag('u', ir.ipu ? std::to_string(*ir.ipu) : "-");
  w.out += ir.io_tiles ? 'I' : 'C';
  Arguments copy = args;
  size_t matched = 0;
  for (const GivenArgument& given : match_arguments(source.code->parameters, copy)) {
    w.tag('a', given.parameter->name);
    for (const std::string& name : given.names) w.tag('n', name);
    for (const Value* v : given.values) w.value(*v);
    matched += given.values.size();
  }
  if (matched != args.positional.size() + args.named.size()) {  // a call that binding will refuse
    static std::atomic<size_t> unique = 0;
    w.tag('x', std::to_string(unique++));
  }
  return std::move(w.out);
}

BuiltGraph shared_graph(Interpreter& in, const GraphSource& source, const Arguments& args, const Value& cache) {
  std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  GraphWorld::Addresses of_key;
  std::string key = sharing_key(in, source, args, of_key);
  if (cache.is_object()) {
    key += fmt::format("|{}", fmt::ptr(cache.object().get()));
    of_key.objects.push_back(cache.object());
  }
  GraphWorld::PerIr& known = graphs_of(in).world().of(ir);
  auto found = known.shared.find(key);
  if (found != known.shared.end()) return {found->second.graph, found->second.factories};
  BuiltGraph built = build_graph(in, source, args);
  graphs_of(in).world().of(ir).shared[key] = {built.graph, built.factories, std::move(of_key)};
  return built;
}

Value call_outlined(Interpreter& in, const GraphSource& source, Arguments args, BuildState* state) {
  std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  Arguments given_args = args;
  Arguments call;
  call.span = args.span;
  for (const GivenArgument& given : match_arguments(source.code->parameters, given_args)) {
    auto take = [&](const Value& v) {
      if (v.as_spec())
        throw Error("argument `" + given.parameter->name + "` of " + source.what + " is a spec: a call takes a tensor")
            .as(codes::outlined);
      if (as_tensor(v)) call.positional.push_back(v);
    };
    for (const Value* v : given.values) {
      if (auto* list = v->as<SequenceObject>())
        for (const Value& item : list->items) take(item);
      else
        take(*v);
    }
  }
  BuiltGraph built = shared_graph(in, source, args);
  BoundInputs bound;
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
