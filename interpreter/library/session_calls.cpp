// `session.call`: a bound graph of a session's program, called on arrays, in a program of its own.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/streams.hpp"
#include "runtime/execute/variables.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {
namespace {

using CallMember = SessionObject::CallMember;

constexpr size_t kept_members = 32;

/// The part that a name means: a list's or dict's element, a named tree's leaf or tree.
std::optional<Value> part_of(const Value& v, const std::string& name) {
  if (const auto* list = v.as<SequenceObject>()) {
    const bool is_number = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    const size_t i = is_number && name.size() < 9 ? std::stoul(name) : list->items.size();
    return i < list->items.size() ? std::optional(list->items[i]) : std::nullopt;
  }
  const Value* found = nullptr;
  if (const auto* dict = v.as<DictObject>()) found = dict->find(Value(name));
  if (const auto* tree = v.as<TreeObject>()) found = tree->find(name);
  return found ? std::optional(*found) : std::nullopt;
}

/// The value that the session's program has under a name: "net", "nets.0".
Value named_in_program(const SessionObject& s, const std::string& name, const char* where) {
  const auto* program = s.program.as<IrObject>();
  std::optional<Value> found;
  std::vector<std::string> all;
  if (program && program->fields) {
    size_t at = std::min(name.find('.'), name.size());
    if (const Value* first = program->fields->find_here(name.substr(0, at))) found = *first;
    while (found && at < name.size()) {
      const size_t end = std::min(name.find('.', at + 1), name.size());
      found = part_of(*found, name.substr(at + 1, end - at - 1));
      at = end;
    }
    for (const auto& [field, value] : program->fields->entries())
      if (value.as<BoundGraphObject>() || value.as<TreeObject>()) all.push_back(field.text());
  }
  if (found) return *found;
  const std::string hint = did_you_mean(name, all);
  throw Error(
      fmt::format("session.{}: program {} has no `{}`{}", where, s.ir->name(), name, hint.empty() ? "" : "; " + hint),
      {"its trees and bound graphs: " + (all.empty() ? std::string("none") : join_texts(all, ", "))})
      .as(codes::key);
}

Ref<BoundGraphObject> bound_meant(const SessionObject& s, const Value& given) {
  const std::string* name = given.as_string();
  const Value v = name ? named_in_program(s, *name, "call") : given;
  auto bound = v.ptr<BoundGraphObject>();
  if (!bound)
    throw Error("session.call takes a bound graph of the program, or its name, and then arrays; got " +
                    with_article(v.type_name()),
                {"`net = module.bound(x)` in the program makes one"})
        .as(codes::type);
  if (bound->graph->ir != s.ir)
    throw Error(fmt::format("session.call: the bound graph belongs to program {}, not to {}", bound->graph->ir->name(),
                            s.ir->name()))
        .as(codes::other_graph);
  if (!bound->graph->origin)
    throw Error("session.call: " + shown_name(*bound->graph->graph) + " is not of a module's build",
                {"a member for the arrays is made from the build of a module"})
        .as(codes::program);
  return bound;
}

/// The arguments of a call, in the places of the arguments with which the graph was made. Tensors there are arrays
/// here.
class Matched {
 public:
  Matched(Interpreter& in, const GraphOrigin& origin, const Arguments& given)
      : args(origin.args), in_(in), source_(origin.source), given_(given) {
    args.span = given.span;
    args.spans.clear();
    for (size_t i = 0; i < args.positional.size(); ++i) {
      const bool is_parameter = i < source_.parameters().size();
      const std::string name = is_parameter ? source_.parameters()[i].name : fmt::format("argument {}", i + 1);
      match(args.positional[i], name);
    }
    for (NamedArg& n : args.named) match(n.value, n.name);
    for (const NamedArg& n : given_.named)
      if (!used_.contains(n.name)) refuse(n.name);
    if (next_ < given_.positional.size())
      throw Error(
          fmt::format("session.call: {} takes {} arrays, got {}", source_.what, next_, given_.positional.size()))
          .as(codes::arguments);
  }
  Arguments args;  ///< with specs for the arrays
  std::vector<std::string> names;
  std::vector<Array> arrays;  ///< by spec in `args`, in order
  bool is_known = true;

 private:
  const Value* given_for(const std::string& name, bool takes_arrays) {
    for (const NamedArg& n : given_.named)
      if (n.name == name) {
        used_.insert(name);
        return &n.value;
      }
    return takes_arrays && next_ < given_.positional.size() ? &given_.positional[next_++] : nullptr;
  }
  void match(Value& v, const std::string& name) {
    if (name == "training") {  // of an older build
      v = Value(false);
      return;
    }
    const bool takes_arrays = holds_tensors(in_, v);
    const Value* given = given_for(name, takes_arrays);
    if (!given && takes_arrays)
      throw Error(fmt::format("session.call: {} needs an array for `{}`", source_.what, name)).as(codes::arguments);
    if (!given) return;
    v = takes_arrays ? map_tree(in_, v,
                                [&](const Value& leaf, const std::string& path) {
                                  return leaf.as_spec()
                                             ? spec_of(at_path(*given, path), leaf.as_spec()->dtype, name, path)
                                             : leaf;
                                })
                     : *given;
  }
  Value at_path(const Value& given, const std::string& path) {
    std::optional<Value> at = given;
    for (size_t begin = 0; at && begin < path.size();) {
      if (is_unknown(*at)) return *at;
      const size_t end = std::min(path.find('.', begin), path.size());
      at = part_of(*at, path.substr(begin, end - begin));
      begin = end + 1;
    }
    if (!at) throw Error(fmt::format("session.call: nothing is given for `{}`", path)).as(codes::arguments);
    return *at;
  }
  Value spec_of(const Value& v, DType dtype, const std::string& name, const std::string& path) {
    names.push_back(path.empty() ? name : name + "." + path);
    if (is_unknown(v)) {
      const std::optional<TensorSpec> spec = unknown_spec(v);
      is_known = is_known && spec;
      return Value(spec ? TensorSpec{spec->shape, dtype, {}} : TensorSpec{{}, dtype, {}});
    }
    const std::string what = fmt::format("session.call: `{}`", names.back());
    if (as_tensor(v)) type_error(what + " takes an array, got a tensor, whose value exists only inside a run");
    const Array* array = v.as_array();
    arrays.push_back(array ? convert_safely(*array, dtype, what) : to_array(in_, v, dtype, what));
    return Value(arrays.back().spec());
  }
  [[noreturn]] void refuse(const std::string& name) const {
    std::vector<std::string> all;
    for (const ast::Parameter& p : source_.parameters()) all.push_back(p.name);
    const std::string hint = did_you_mean(name, all);
    throw Error(fmt::format("session.call: {} was made without an argument `{}`{}", source_.what, name,
                            hint.empty() ? "" : "; " + hint))
        .as(codes::arguments);
  }

  Interpreter& in_;
  const GraphSource& source_;
  const Arguments& given_;  ///< without the bound graph
  size_t next_ = 0;
  std::set<std::string> used_;
};

/// The tensors that streams bring, in the places of the specs.
void load_streams(Interpreter& in, const std::shared_ptr<Ir>& ir, Matched& call, CallMember& member) {
  size_t next = 0;
  const auto loaded = [&](Value& v) {
    if (!holds_tensors(in, v)) return;
    v = map_tree(in, v, [&](const Value& leaf, const std::string&) {
      if (!leaf.as_spec()) return leaf;
      Stream& stream = ir->add_stream(*leaf.as_spec(), call.names[next++], true);
      member.in.push_back(&stream);
      return tensor_value(ir, ir->main().add_host_load(stream, stream.name())->outputs[0]);
    });
  };
  for (Value& v : call.args.positional) loaded(v);
  for (NamedArg& n : call.args.named) loaded(n.value);
}

/// Builds the program that calls a bound graph on arrays of these specs.
std::shared_ptr<Ir> build_member(Interpreter& in, const SessionObject& s, const BoundGraphObject& bound, Matched& call,
                                 CallMember& member) {
  const auto ir = std::make_shared<Ir>(s.ir->name() + ".call");
  ir->called_at = call.args.span;
  const TargetScope target(in, ir, &ir->main());
  const BuildScope scope(in, std::make_shared<BuildState>());
  stamp(in, *ir);
  load_streams(in, ir, call, member);
  GraphSource source = origin_of(*bound.graph)->source;
  source.training = false;
  Arguments specs = call.args;
  const BuiltGraph built = build_graph(in, source, call.args);
  Arguments vars;
  vars.positional.emplace_back(Ref<BoundGraphObject>(
      static_ref_cast<BoundGraphObject>(const_cast<BoundGraphObject&>(bound).shared_from_this())));
  const Value net = bind_graph(in, graph_value(ir, built.graph, built.captured).ptr<GraphObject>(), nullptr, vars);
  const auto* callee = net.as<BoundGraphObject>();
  const Callable frozen = frozen_states(in, {ir, built.graph, callee->all_inputs(), callee->vars});
  Arguments tensors;
  for (const Value& v : specs.positional)
    if (holds_tensors(in, v)) tensors.positional.push_back(v);
  for (const NamedArg& n : specs.named)
    if (holds_tensors(in, n.value)) tensors.named.push_back(n);
  const Op* op = emit_call(in, ir, *frozen.graph, frozen.inputs, tensors);
  const auto stored = [&](const Value& leaf, const std::string&) {
    Tensor* t = as_tensor(leaf);
    if (!t) return leaf;
    Stream& stream = ir->add_stream(t->spec, fmt::format("result_{}", member.out.size()), false);
    ir->main().add_host_store(stream, t);
    member.out.push_back(&stream);
    return Value(static_cast<int64_t>(member.out.size() - 1));
  };
  member.result = map_tree(in, call_result(in, ir, *op), stored);
  return ir;
}

Value with_arrays(Interpreter& in, const CallMember& member, const std::function<Value(const Stream*)>& array_of) {
  return map_tree(in, member.result, [&](const Value& leaf, const std::string&) {
    return leaf.is_int() ? array_of(member.out[static_cast<size_t>(leaf.as_int())]) : leaf;
  });
}

/// The member for a call: the one that is kept, or a new one.
CallMember& member_for(Interpreter& in, SessionObject& s, const Ref<BoundGraphObject>& bound, Matched& call) {
  GraphWorld::Addresses addresses;
  std::vector<Value> reached;
  std::string key = fmt::format("{} ", static_cast<const void*>(bound.get()));
  key += sharing_key(in, origin_of(*bound->graph)->source, call.args, addresses, reached);
  const auto known = std::ranges::find(s.called, key, &CallMember::key);
  if (known != s.called.end()) {
    std::rotate(s.called.begin(), known, known + 1);
    return s.called.front();
  }
  CallMember member{std::move(key), bound, {}, {}, {}, {}};
  const std::shared_ptr<Ir> ir = build_member(in, s, *bound, call, member);
  auto made = make_ref<SessionObject>();
  made->ir = ir;
  made->device = s.device;
  made->engine = s.engine;
  made->estimating = s.estimating;
  if (s.session)
    made->session =
        std::make_unique<Session>(ir, s.device, s.engine, std::make_shared<const tiles::EstimateOptions>(s.estimating),
                                  std::vector<const Session*>{s.session.get()});
  member.session = std::move(made);
  if (s.called.size() == kept_members) s.called.pop_back();
  s.called.insert(s.called.begin(), std::move(member));
  return s.called.front();
}

}  // namespace

Value call_of_session(Interpreter& in, SessionObject& s, const Arguments& args) {
  if (args.positional.empty())
    throw Error("session.call takes a bound graph of the program, or its name, and then arrays").as(codes::arguments);
  if (is_unknown(args.positional[0])) return unknown_value();
  const Ref<BoundGraphObject> bound = bound_meant(s, args.positional[0]);
  Arguments arrays = args;
  arrays.positional.erase(arrays.positional.begin());
  if (!arrays.spans.empty()) arrays.spans.erase(arrays.spans.begin());
  Matched call(in, *origin_of(*bound->graph), arrays);
  if (!call.is_known) return unknown_value();
  if (!s.session) {
    CallMember member;
    build_member(in, s, *bound, call, member);
    return with_arrays(in, member, [](const Stream* stream) { return unknown_array(stream->spec()); });
  }
  const std::vector<Array> given = std::move(call.arrays);
  CallMember& member = member_for(in, s, bound, call);
  StreamData data;
  for (size_t i = 0; i < member.in.size(); ++i) data.emplace(member.in[i], given[i]);
  const StreamMap<Array> results = member.session->session->run(data);
  return with_arrays(in, member, [&](const Stream* stream) { return Value(results.at(stream)); });
}

Tensor* variable_of(const SessionObject& s, Tensor* t) {
  if (&t->graph->ir() == s.ir.get()) return t;
  const Tensor* root = t->shared ? t->shared.get() : t;
  for (Tensor* v : s.ir->variables())
    if (v == root || v->shared.get() == root) return v;
  return nullptr;
}

std::vector<std::pair<std::string, Tensor*>> variables_meant(Interpreter& in, const SessionObject& s,
                                                             const Value& given, const char* where) {
  const std::string* name = given.as_string();
  const Value v = name ? named_in_program(s, *name, where) : given;
  std::vector<TreeLeaf> leaves;
  if (const auto* bound = v.as<BoundGraphObject>()) {
    leaves = bound->vars->leaves();
    for (TreeLeaf& state : bound->states->leaves()) leaves.push_back(std::move(state));
  } else {
    leaves = tree_leaves(in, v);
  }
  std::vector<std::pair<std::string, Tensor*>> variables;
  for (const auto& [path, leaf] : leaves) {
    Tensor* t = as_tensor(leaf);
    if (!t)
      throw Error(fmt::format("session.{} takes a tree of variables, a bound graph, or its name in the program; {} {}",
                              where, path.empty() ? "got" : "`" + path + "` is", with_article(leaf.type_name())))
          .as(codes::type);
    Tensor* variable = variable_of(s, t);
    if (!variable || variable->kind != TensorKind::variable)
      throw Error(fmt::format("session.{}: `{}` is no variable of program {}", where, shown_name(*t), s.ir->name()))
          .as(codes::session);
    variables.emplace_back(path, variable);
  }
  return variables;
}

}  // namespace pxl
