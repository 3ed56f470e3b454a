// autodiff and backward: gradient graphs, their connections, and gradients by tensor and name.
#include "interpreter/graphs/derivatives/gradients.hpp"

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/wanted.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {
namespace {

/// The meaning of a gradient graph's input or output.
struct ConnectionObject final : Object {
  std::shared_ptr<Ir> ir;
  ExpectedConnection connection;
  ConnectionObject(std::shared_ptr<Ir> i, ExpectedConnection c) : ir(std::move(i)), connection(c) {}
  const char* kind() const { return connection.type == ConnectionType::fwd ? "Fwd" : "FwdGrad"; }
  std::string type_name() const override { return "connection"; }
  std::string repr(Interpreter&) override {
    return "(" + std::string(kind()) + ", " + text(*connection.fwd_tensor) + ")";
  }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name == "connection_type") return Value(kind());
    if (name == "fwd_tensor") return tensor_value(ir, connection.fwd_tensor);
    return std::nullopt;
  }
  std::vector<std::string> member_names() const override { return {"connection_type", "fwd_tensor"}; }
};

Value connections(const std::shared_ptr<Ir>& ir, const std::vector<ExpectedConnection>& list) {
  std::vector<Value> out;
  for (const ExpectedConnection& c : list) out.push_back(make_ref<ConnectionObject>(ir, c));
  return make_list(std::move(out));
}

CallInfoObject& to_info(const Value& v, const char* where) {
  auto* info = v.as<CallInfoObject>();
  if (!info) type_error(std::string(where) + " takes what call_with_info gave, got " + with_article(v.type_name()));
  return *info;
}

std::optional<std::vector<Tensor*>> optional_tensors(Interpreter& in, const ArgReader& a, const char* name) {
  if (!a.has(name)) return std::nullopt;
  return to_tensors(in, a.value(name), name);
}

}  // namespace

Value make_autodiff(Interpreter& in, const Value& graph, const Arguments& args) {
  ArgReader a("autodiff", args, {"graph", "grads_provided", "grads_required", "called_graphs_grad_info"});
  Ref<GraphObject> g = to_graph(graph, "autodiff");
  if (g->ir->frozen)
    throw Error("the program `" + g->ir->name() + "` belongs to a session already: nothing can be added to it")
        .as(codes::complete);
  const std::map<Graph*, GradGraphInfoPtr> known = to_grad_infos(a.value_or("called_graphs_grad_info", {}));
  auto provided = optional_tensors(in, a, "grads_provided");
  auto required = optional_tensors(in, a, "grads_required");
  stamp(in, *g->ir);
  return grad_graph_value(g->ir, autodiff(*g->graph, std::move(provided), std::move(required), known));
}

Value grad_graph_value(const std::shared_ptr<Ir>& ir, GradGraphInfoPtr info) {
  auto out = make_ref<GradGraphObject>();
  out->ir = ir;
  out->graph = make_ref<GraphObject>(ir, info->graph);
  out->info = std::move(info);
  return out;
}

std::map<Graph*, GradGraphInfoPtr> to_grad_infos(const Value& v) {
  std::map<Graph*, GradGraphInfoPtr> infos;
  if (v.is_none()) return infos;
  auto* d = v.as<DictObject>();
  if (!d) type_error("called_graphs_grad_info takes a dict from graphs to their gradient graphs");
  for (const auto& [k, item] : d->items) {
    auto* grad = item.as<GradGraphObject>();
    if (!grad) type_error("called_graphs_grad_info: values are gradient graphs, got " + with_article(item.type_name()));
    infos[to_graph(k, "called_graphs_grad_info")->graph] = grad->info;
  }
  return infos;
}

// ---- gradient graphs

std::string GradGraphObject::repr(Interpreter&) {
  std::string out = "GradGraphInfo[\n  graph=" + info->graph->id() + "\n  expected_inputs=[\n";
  auto list = [&](const std::vector<ExpectedConnection>& connections_) {
    for (const ExpectedConnection& c : connections_)
      out += std::string("    (") + (c.type == ConnectionType::fwd ? "Fwd" : "FwdGrad") + ", " + text(*c.fwd_tensor) +
             ")\n";
  };
  list(info->expected_inputs);
  out += "  ]\n  expected_outputs=[\n";
  list(info->expected_outputs);
  return out + "  ]\n]";
}

namespace {

using In = Interpreter&;
using GradGraphRef = GradGraphObject&;
using A = const Arguments&;
using Got = std::optional<Value>;

Value inputs_dict(In, GradGraphRef g, A args) {
  ArgReader a(args);
  const CallInfoObject& call = to_info(a.value("info"), "inputs_dict");
  auto d = make_ref<DictObject>();
  const std::map<Tensor*, Tensor*> map = g.info->inputs_dict(*call.op);
  for (Tensor* input : g.info->graph->inputs())
    if (auto it = map.find(input); it != map.end()) d->put(tensor_value(g.ir, input), tensor_value(g.ir, it->second));
  return d;
}

Value fwd_parent_ins_to_grad_parent_outs(In, GradGraphRef g, A args) {
  ArgReader a(args);
  const CallInfoObject& fwd = to_info(a.value("info"), "fwd_parent_ins_to_grad_parent_outs");
  const CallInfoObject& grad = to_info(a.value("grad_info"), "fwd_parent_ins_to_grad_parent_outs");
  auto d = make_ref<DictObject>();
  for (const auto& [t, dt] : g.info->fwd_parent_ins_to_grad_parent_outs(*fwd.op, *grad.op))
    d->put(tensor_value(g.ir, t), tensor_value(g.ir, dt));
  return d;
}

Value fwd_graph_ins_to_grad_parent_outs(In, GradGraphRef g, A args) {
  ArgReader a(args);
  const CallInfoObject& grad = to_info(a.value("grad_info"), "fwd_graph_ins_to_grad_parent_outs");
  if (grad.op->called[0] != g.info->graph)
    throw Error("the call site calls " + shown_name(*grad.op->called[0]) + ", not " + shown_name(*g.info->graph))
        .as(codes::gradient);
  auto d = make_ref<DictObject>();
  for (size_t i = 0; i < g.info->expected_outputs.size() && i < grad.op->outputs.size(); ++i)
    d->put(tensor_value(g.ir, g.info->expected_outputs[i].fwd_tensor), tensor_value(g.ir, grad.op->outputs[i]));
  return d;
}

constexpr Member<GradGraphObject> grad_graph_rows[] = {
    {"graph", "The gradient graph, as a graph.", "grad.graph",
     [](In, GradGraphRef g) -> Got { return Value(g.graph); }},
    {"grad_graph_info", "The value itself, by PopXL's name.", "grad.grad_graph_info is grad",
     [](In, GradGraphRef g) -> Got { return Value(g.shared_from_this()); }},
    {"forward_graph", "The graph that was differentiated.", "grad.forward_graph",
     [](In, GradGraphRef g) -> Got { return graph_value(g.ir, g.info->forward_graph); }},
    {"expected_inputs",
     "The meaning of each input: a tensor of the forward graph, or the gradient of an output. Each element has "
     "`connection_type` and `fwd_tensor`.",
     "grad.expected_inputs", [](In, GradGraphRef g) -> Got { return connections(g.ir, g.info->expected_inputs); }},
    {"expected_outputs", "The meaning of each output: it is the gradient of a forward graph's input.",
     "grad.expected_outputs", [](In, GradGraphRef g) -> Got { return connections(g.ir, g.info->expected_outputs); }},
    {"inputs_dict", "(info)",
     "A dict from inputs to the tensors that a call of the forward graph had: the argument `inputs` when the gradient "
     "graph is called.",
     "len(grad.inputs_dict(info))", inputs_dict},
    {"fwd_parent_ins_to_grad_parent_outs", "(info, grad_info)",
     "A dict from the operands of a forward call to their gradients, which a call of the gradient graph made.",
     "dy = ones([2, 3])\n"
     "call = grad.call_with_info(dy, inputs = grad.inputs_dict(info))\n"
     "len(grad.fwd_parent_ins_to_grad_parent_outs(info, call))",
     fwd_parent_ins_to_grad_parent_outs},
    {"fwd_graph_ins_to_grad_parent_outs", "(grad_info)",
     "A dict from the inputs of the forward graph to their gradients, which a call of the gradient graph made.",
     "dy = ones([2, 3])\n"
     "call = grad.call_with_info(dy, inputs = grad.inputs_dict(info))\n"
     "len(grad.fwd_graph_ins_to_grad_parent_outs(call))",
     fwd_graph_ins_to_grad_parent_outs},
};
constexpr std::span<const Member<GradGraphObject>> grad_graph_table(grad_graph_rows);

}  // namespace

MemberTable gradient_graph_members() {
  return member_table("gradient graph",
                      "What `autodiff` returns. It is called as a graph, and has the members of one as well as these.",
                      "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])\n"
                      "info = graph.bind(facts.init_zero()).call_with_info(ones([2, 4]))\ngrad = autodiff(graph)",
                      grad_graph_table);
}

std::optional<Value> GradGraphObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, grad_graph_table, *this, name)) return found;
  return graph->member(in, name);
}

std::vector<std::string> GradGraphObject::member_names() const {
  std::vector<std::string> names = graph->member_names();
  append_names(names, grad_graph_table);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// ---- backward

namespace {

/// The gradients that the caller passes for a call's declared outputs, checked; null for an output without one.
std::vector<Tensor*> output_gradients(Interpreter& in, const std::shared_ptr<Ir>& ir, const Op& call, const Value& dy) {
  const Graph& callee = *call.called[0];
  const size_t n = result_outputs(callee);
  std::vector<Value> given;
  auto* list = dy.as<SequenceObject>();
  if (list && !(n == 1 && !list->items.empty() && list->items[0].is_number()))
    given = list->items;
  else if (dy.as<DictObject>())
    given = gradients_by_path(in, ir, callee, dy, "backward");
  else
    given.push_back(dy);
  if (given.size() != n)
    throw Error("backward: the call of " + shown_name(callee) + " has " + std::to_string(n) +
                (n == 1 ? " output" : " outputs") + ", but " + std::to_string(given.size()) +
                (given.size() == 1 ? " gradient is given" : " gradients are given"))
        .as(codes::gradient);
  std::vector<Tensor*> out;
  bool any = false;
  for (size_t i = 0; i < n; ++i) {
    if (given[i].is_none()) {
      out.push_back(nullptr);
      continue;
    }
    any = true;
    const TensorSpec& spec = callee.outputs()[i]->spec;
    const std::string what = "backward: the gradient of output " + std::to_string(i);
    Value v = given[i];
    if (v.as<TreeObject>())
      throw Error(
          what + " takes a tensor, a number or an array, got " + with_article(v.type_name()),
          {"first come the gradients of the outputs, then what gradients are wanted of: `backward(1.0, wanted)`"})
          .as(codes::type);
    if (v.is_number()) v = Value(Array::repeated(to_array(in, v, spec.dtype, what), spec.shape));
    Tensor* t = to_operand(in, v, spec, what);
    if (t->graph != graphs_of(in).target().graph)
      throw Error(what + ", `" + shown_name(*t) + "`, is not in the graph that is being built").as(codes::other_graph);
    if (t->spec != spec)
      throw Error(what + " must be " + text(spec) + ", as the output is; `" + t->name + "` is " + text(t->spec))
          .as(codes::gradient);
    out.push_back(t);
  }
  if (!any) throw Error("backward: no gradient of an output is given").as(codes::gradient);
  return out;
}

}  // namespace

Value backward(Interpreter& in, const Ref<CallInfoObject>& info, const Arguments& args) {
  ArgReader a(args);
  Op& call = *info->op;
  Graph& callee = *call.called[0];
  check_in_effect("backward", *call.graph);
  if (call.graph != graphs_of(in).target().graph)
    throw Error("backward: the call of " + shown_name(callee) + " is not in the graph that is being built")
        .as(codes::other_graph);
  if (info->ir->frozen)
    throw Error("the program `" + info->ir->name() + "` belongs to a session already: nothing can be added to it")
        .as(codes::complete);

  auto out = make_ref<GradientsObject>();
  out->ir = info->ir;
  auto want = [&](Tensor* t, const std::string& name, const std::string& path) {
    out->wanted.push_back(t);
    out->names.push_back(name);
    out->paths.push_back(path);
  };
  if (!a.has("wanted")) {
    for (Tensor* input : inputs_with_gradient(callee)) {
      const auto& inputs = callee.inputs();
      Tensor* parent =
          call.inputs[static_cast<size_t>(std::find(inputs.begin(), inputs.end(), input) - inputs.begin())];
      if (std::find(out->wanted.begin(), out->wanted.end(), parent) == out->wanted.end())
        want(parent, input->key.empty() ? input->name : input->key, input->key.empty() ? input->name : input->key);
    }
  } else {
    const Value wanted = a.value("wanted");
    out->of_tree = wanted.as<TreeObject>() != nullptr;
    for (const Wanted& w : wanted_tensors(in, wanted, "backward")) want(w.tensor, w.name, w.path);
  }
  for (size_t w = 0; w < out->wanted.size(); ++w)
    if (std::find(call.inputs.begin(), call.inputs.end(), out->wanted[w]) == call.inputs.end())
      throw Error("backward: `" + out->names[w] + "` is no input of this call of " + shown_name(callee),
                  {"gradients are taken with respect to the tensors that the call was given"})
          .as(codes::gradient);
  std::vector<Tensor*> dys = output_gradients(in, info->ir, call, a.value("dy"));
  stamp(in, *info->ir);
  std::vector<Tensor*> distinct;
  for (Tensor* t : out->wanted)
    if (std::find(distinct.begin(), distinct.end(), t) == distinct.end()) distinct.push_back(t);
  Backward made = backward(call, dys, distinct);
  for (Tensor* t : out->wanted)
    out->gradients.push_back(tensor_value(
        info->ir,
        made.gradients.at(static_cast<size_t>(std::find(distinct.begin(), distinct.end(), t) - distinct.begin()))));
  return out;
}

// ---- gradients

std::string GradientsObject::repr(Interpreter& in) {
  if (const std::vector<Value> items = parts(); items.size() < gradients.size()) return repr_of(in, make_list(items));
  std::string out = "{";
  for (size_t i = 0; i < gradients.size(); ++i) out += (i ? ", '" : "'") + names[i] + "': " + repr_of(in, gradients[i]);
  return out + "}";
}

Value GradientsObject::below(const std::vector<std::string>& keys, std::string_view key) const {
  auto out = make_ref<GradientsObject>();
  out->ir = ir;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].starts_with(key) || (keys[i].size() > key.size() && keys[i][key.size()] != '.')) continue;
    if (keys[i].size() == key.size()) return gradients[i];
    if (!wanted.empty()) out->wanted.push_back(wanted[i]);
    out->paths.push_back(keys[i].substr(key.size() + 1));
    out->gradients.push_back(gradients[i]);
  }
  out->names = out->paths;
  return out->gradients.empty() ? Value() : Value(out);
}

std::vector<Value> GradientsObject::parts() const {
  const auto is_below_item = [](const std::string& path) { return !path.empty() && std::isdigit(path[0]); };
  if (!std::ranges::all_of(paths, is_below_item)) return gradients;
  std::vector<Value> items;
  std::string_view last;
  for (const std::string& path : paths) {
    const std::string_view item = std::string_view(path).substr(0, path.find('.'));
    if (item != last) items.push_back(below(paths, item));
    last = item;
  }
  return items;
}

TreePtr GradientsObject::tree() const {
  TreePtr t = make_tree(TreeKind::tensors);
  for (size_t i = 0; i < names.size(); ++i) t->insert(names[i], gradients[i], true);
  return t;
}

Value GradientsObject::index(Interpreter&, const Value& key) {
  if (Tensor* t = as_tensor(key)) {
    auto it = std::find(wanted.begin(), wanted.end(), t);
    if (it == wanted.end()) throw Error("no gradient of `" + shown_name(*t) + "` was asked for").as(codes::gradient);
    return gradients[static_cast<size_t>(it - wanted.begin())];
  }
  if (const std::string* s = key.as_string()) {
    for (const auto* keys : {&names, &paths})
      if (Value found = below(*keys, *s); !found.is_none() || std::ranges::find(*keys, *s) != keys->end()) return found;
    std::string hint = did_you_mean(*s, names);
    throw Error("no gradient named `" + *s + "`" + (hint.empty() ? "" : "; " + hint)).as(codes::key);
  }
  if (key.is_int()) {
    const std::vector<Value> items = parts();
    return items[static_cast<size_t>(wrap_index(key.as_int(), static_cast<int64_t>(items.size()), "gradients"))];
  }
  type_error("gradients are indexed by tensor, name or position, got " + with_article(key.type_name()));
}

std::optional<Iterator> GradientsObject::iterate(Interpreter&) {
  return Iterator([list = parts(), i = size_t{0}]() mutable -> std::optional<Value> {
    if (i >= list.size()) return std::nullopt;
    return list[i++];
  });
}

bool GradientsObject::contains(Interpreter&, const Value& item) {
  if (const std::string* s = item.as_string()) return std::find(names.begin(), names.end(), *s) != names.end();
  return std::find(wanted.begin(), wanted.end(), as_tensor(item)) != wanted.end();
}

namespace {

using GradientsRef = GradientsObject&;
enum class GradientsPart : uint8_t { tensors, gradients, pairs };
Value listed(GradientsRef d, const char* name, A args, GradientsPart part) {
  ArgReader(name, args, {});
  std::vector<Value> out;
  for (size_t i = 0; i < d.gradients.size(); ++i) {
    const Value t = tensor_value(d.ir, d.wanted[i]);
    out.push_back(part == GradientsPart::tensors     ? t
                  : part == GradientsPart::gradients ? d.gradients[i]
                                                     : make_tuple({t, d.gradients[i]}));
  }
  return make_list(std::move(out));
}

constexpr Member<GradientsObject> gradients_rows[] = {
    {"tree", "The gradients as a tree with the dotted names of the wanted tensors.", "grads.tree",
     [](In, GradientsRef d) -> Got { return Value(d.tree()); }},
    {"tensors", "The gradients, as a tuple in the order of the wanted tensors.", "grads.tensors",
     [](In, GradientsRef d) -> Got { return make_tuple(d.gradients); }},
    {"keys", "()", "A list of the wanted tensors.", "grads.keys()",
     [](In, GradientsRef d, A args) { return listed(d, "keys", args, GradientsPart::tensors); }},
    {"values", "()", "A list of the gradients.", "grads.values()",
     [](In, GradientsRef d, A args) { return listed(d, "values", args, GradientsPart::gradients); }},
    {"items", "()", "A list of tuples (tensor, gradient).", "grads.items()",
     [](In, GradientsRef d, A args) { return listed(d, "items", args, GradientsPart::pairs); }},
};
constexpr std::span<const Member<GradientsObject>> gradients_table(gradients_rows);

}  // namespace

MemberTable gradients_members() {
  return member_table(
      "gradients", "The gradients that `backward` returns: by tensor, by dotted name (`grads.bias`) and by position.",
      "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])\n"
      "layer = graph.bind(facts.init_zero())\n"
      "grads = layer.call_with_info(ones([2, 4])).backward(ones([2, 3]), layer.vars)",
      gradients_table);
}

std::optional<Value> GradientsObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, gradients_table, *this, name)) return found;
  for (const std::string& n : names)  // names in a tree: grads.fc1.weight
    if (n.starts_with(name) && (n.size() == name.size() || n[name.size()] == '.')) return below(names, name);
  return std::nullopt;
}

std::vector<std::string> GradientsObject::member_names() const {
  std::vector<std::string> out;
  append_names(out, gradients_table);
  for (const std::string& n : names) out.push_back(n.substr(0, n.find('.')));
  return out;
}

}  // namespace pxl
