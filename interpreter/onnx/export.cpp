// Writes graphs as the nodes of an ONNX model.
#include "interpreter/onnx/export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/onnx/exporter.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/ops/table.hpp"

namespace pxl::onnx {

Attribute attribute(const std::string& name, int64_t v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::integer;
  a.i = v;
  return a;
}
Attribute attribute(const std::string& name, double v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::floating;
  a.f = static_cast<float>(v);
  return a;
}
Attribute attribute(const std::string& name, const Ints& v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::integers;
  a.integers = v;
  return a;
}
Attribute attribute(const std::string& name, const std::string& v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::string;
  a.s = v;
  return a;
}
Attribute attribute(const std::string& name, Graph graph) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::graph;
  a.graph = std::make_shared<Graph>(std::move(graph));
  return a;
}

namespace {

Part<Type> type_of(const TensorSpec& spec) {
  auto type = std::make_shared<Type>();
  type->tensor = std::make_shared<TensorType>();
  type->tensor->element = static_cast<int32_t>(element_type(spec.dtype));
  type->tensor->shape = std::make_shared<TensorShape>();
  for (int64_t d : spec.shape) type->tensor->shape->dims.push_back({{d}, {}});
  return type;
}

}  // namespace

const OpRow& pure_row(const OpRow& row) {
  if (row.name.back() != '_') return row;
  const OpRow* pure = find_op(row.name.substr(0, row.name.size() - 1));
  return pure ? *pure : row;
}

bool has_plain_form(const OpRow& row) {
  return !row.onnx.empty() && row.modifies == 0 && row.role == Role::compute &&
         std::all_of(row.params.begin(), row.params.end(), [](const Param& p) { return is_operand(p.kind); });
}

Model Exporter::run(const pxl::Graph& graph) {
  Frame frame;
  exported_ = &graph;
  out_ = &model_.graph;
  model_.ir_version = 8;
  model_.producer = "pxl";
  model_.opsets = {{"", export_opset}};
  model_.graph.name = options_.name.empty() ? "pxl" : options_.name;
  reserve_names(graph);
  if (!graph.is_main()) {
    for (const Tensor* t : graph.inputs()) {
      const auto value = options_.weights.find(t);
      frame[t] = value == options_.weights.end() ? input(t->key.empty() ? t->name : t->key, t->spec)
                                                 : initialiser(t->key.empty() ? t->name : t->key, value->second);
    }
  }
  add_ops(graph, frame);
  if (!graph.is_main())
    for (size_t i = 0; i < graph.declared_outputs(); ++i)
      output(graph.outputs()[i]->name, graph.outputs()[i]->spec, name_of(graph.outputs()[i], frame));
  in_order_of_declaration(model_.graph.inputs);
  in_order_of_declaration(model_.graph.outputs);
  if (!refused_.empty())
    throw Error(fmt::format("export_onnx: {} without a form in ONNX",
                            refused_.size() == 1 ? "1 op" : fmt::format("{} ops", refused_.size())),
                refused_)
        .as(codes::value);
  prune();
  return std::move(model_);
}

std::string Exporter::add(const std::string& op, Texts inputs, std::vector<Attribute> attributes, size_t outputs,
                          const std::string& wanted) {
  return several(op, std::move(inputs), std::move(attributes), Texts(outputs, wanted)).front();
}
Texts Exporter::several(const std::string& op, Texts inputs, std::vector<Attribute> attributes, const Texts& wanted) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (const std::string& w : wanted) node.outputs.push_back(unique(w));
  out_->nodes.push_back(node);
  return node.outputs;
}
std::string Exporter::ints(const Ints& values) {
  return initialiser("shape", Array::from<int64_t>({static_cast<int64_t>(values.size())}, values));
}
std::string Exporter::scalar(double value, DType dtype) {
  return initialiser("constant", Array::full(dtype, {}, value));
}
std::string Exporter::initialiser(const std::string& wanted, const Array& value) {
  const std::string name = unique(wanted);
  kept_.push_back(value);
  model_.graph.initialisers.push_back(from_array(name, kept_.back()));
  return name;
}

std::string Exporter::cast(const std::string& value, DType to) {
  return add("Cast", {value}, {attribute("to", static_cast<int64_t>(element_type(to)))});
}

void Exporter::reserve_names(const pxl::Graph& graph) {
  for (const Tensor* t : graph.inputs())
    if (!options_.weights.contains(t)) reserved_.insert(t->key.empty() ? t->name : t->key);
  for (const Tensor* t : graph.outputs()) reserved_.insert(t->name);
  for (const auto& g : graph.ir().graphs())
    for (const auto& op : g->ops())
      if (op->stream) reserved_.insert(op->stream->label);
}
std::string Exporter::owned(const std::string& wanted) {
  if (reserved_.erase(wanted) == 0) return unique(wanted);
  taken_.insert(wanted);
  return wanted;
}
std::string Exporter::unique(const std::string& wanted) {
  std::string name = wanted.empty() ? "t" : wanted;
  for (int n = 1; reserved_.contains(name) || !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
  return name;
}
ValueInfo Exporter::value_info(const std::string& name, const TensorSpec& spec) const {
  ValueInfo info;
  info.name = name;
  info.type = type_of(spec);
  return info;
}
std::string Exporter::input(const std::string& wanted, const TensorSpec& spec) {
  model_.graph.inputs.push_back(value_info(owned(wanted), spec));
  return model_.graph.inputs.back().name;
}
void Exporter::output(const std::string& wanted, const TensorSpec& spec, const std::string& value) {
  Node node;
  node.op = "Identity";
  node.inputs = {value};
  node.outputs = {owned(wanted)};
  model_.graph.outputs.push_back(value_info(node.outputs[0], spec));
  out_->nodes.push_back(std::move(node));
}

std::string Exporter::name_of(const Tensor* t, Frame& frame) {
  if (!t) return "";
  t = memory_of(t);
  if (auto it = frame.find(t); it != frame.end()) return it->second;
  // A variable or a constant belongs to the main graph or to its own graph, and is written once.
  if (auto it = fixed_.find(t); it != fixed_.end()) return it->second;
  const auto value = options_.weights.find(t);
  if (t->kind != TensorKind::variable && t->kind != TensorKind::constant) return unique("missing");
  return fixed_[t] = initialiser(t->name, value == options_.weights.end() ? t->data : value->second);
}

void Exporter::refuse(const Op& op, const std::string& why) {
  std::string place;
  if (op.origin.span.file) {
    const int at = op.origin.span.file->position(op.origin.span.begin).line;
    place = fmt::format(" at {}:{}", op.origin.span.file->name(), at);
  }
  refused_.push_back(fmt::format("{}{}: {}", op.row->name, place, why));
}

void Exporter::add_ops(const pxl::Graph& graph, Frame& frame) {
  find_changes(graph);
  for (const Op* op : schedule_order(graph)) {
    try {
      add_op(*op, frame);
    } catch (const NoForm& none) {
      refuse(*op, none.why);
    } catch (const Error& e) {
      refuse(*op, e.first().message);
    }
    for (const Tensor* t : op->outputs)
      if (!frame.contains(t)) frame[t] = "";
  }
}

void Exporter::add_op(const Op& op, Frame& frame) {
  switch (op.row->role) {
    case Role::host_load: {
      if (!streams_.insert(op.stream).second)
        throw NoForm{fmt::format("stream `{}` is loaded more than once", op.stream->label)};
      frame[op.outputs[0]] = input(op.stream->label, op.stream->spec());
      declared_[model_.graph.inputs.back().name] = op.id;
      return;
    }
    case Role::host_store:
      if (!streams_.insert(op.stream).second)
        throw NoForm{fmt::format("stream `{}` is stored more than once", op.stream->label)};
      output(op.stream->label, op.stream->spec(), name_of(op.inputs[0], frame));
      declared_[model_.graph.outputs.back().name] = op.id;
      return;
    case Role::call: return add_call(op, frame);
    case Role::loop: return add_loop(op, frame);
    case Role::branch: return add_branch(op, frame);
    case Role::remote_load:
    case Role::remote_store: throw NoForm{"ONNX has no remote memory"};
    case Role::composite:
    case Role::compute: return add_computation(op, frame);
  }
}

void Exporter::add_computation(const Op& op, Frame& frame) {
  std::optional<size_t> changed;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.modifies(i)) continue;
    if (changed) throw NoForm{"it changes several tensors in place"};
    check_change(op.inputs[i]);
    changed = i;
  }
  if (changed && op.row->alias != static_cast<int8_t>(*changed)) throw NoForm{"it changes an operand in place"};
  const OpRow& row = pure_row(*op.row);
  Texts in;
  for (const Tensor* t : op.inputs) in.push_back(name_of(t, frame));
  // An op of a dtype that ONNX leaves out is written as one of the carrier.
  OpContextStorage storage(op);
  const DType dtype = storage.in.empty() || !storage.in[0] ? DType::float32 : storage.in[0]->dtype;
  const ExportRow* form = export_row(row.name);
  DType carrier = dtype;
  if (form)
    for (const Carrier& c : form->carriers)
      if (std::ranges::find(c.left_out, dtype) != c.left_out.end()) carrier = c.carrier;
  std::vector<TensorSpec> carried(storage.in.size());
  for (size_t i = 0; carrier != dtype && i < in.size(); ++i) {
    if (!storage.in[i] || storage.in[i]->dtype != dtype) continue;
    carried[i] = {storage.in[i]->shape, carrier, {}};
    storage.in[i] = &carried[i];
    in[i] = cast(in[i], carrier);
  }
  storage.site.in = storage.in;
  const ExportSite site{*this, op, storage.site, in};
  Texts out;
  if (form)
    out = form->form(site);
  else if (has_plain_form(row))
    out = plain(site);
  else if (const char* why = reason_without_form(row))
    throw NoForm{why};
  else
    throw NoForm{"ONNX has no such op"};
  for (size_t i = 0; i < out.size() && i < op.outputs.size(); ++i) {
    if (carrier != dtype && op.outputs[i]->spec.dtype == dtype) out[i] = cast(out[i], dtype);
    if (i == 0 && changed)
      change(op.inputs[*changed], out[i], frame);
    else
      frame[memory_of(op.outputs[i])] = out[i];
  }
}

Ints ExportSite::axes(std::string_view param) const {
  const auto rank = static_cast<int64_t>(shape().size());
  Ints all;
  if (c.is_none(param))
    for (int64_t i = 0; i < rank; ++i) all.push_back(i);
  else
    for (int64_t a : c.integers(param)) all.push_back(normalise_axis(a, rank));
  return all;
}
int64_t ExportSite::axis(std::string_view param, int64_t extra) const {
  return normalise_axis(c.integer(param), static_cast<int64_t>(shape().size()) + extra);
}

const ExportRow* export_row(std::string_view op) {
  for (const std::span<const ExportRow> forms : {arithmetic_forms(), layout_forms(), index_forms(), window_forms()})
    for (const ExportRow& row : forms)
      if (row.op == op) return &row;
  return nullptr;
}

Texts plain(const ExportSite& s) {
  return one(s.e.add(std::string(pure_row(*s.op.row).onnx), s.in, {}, 1, s.op.outputs[0]->name));
}

Texts as_int32(const ExportSite& s, const std::string& value) { return {s.e.cast(value, DType::int32)}; }

Model export_graph(const pxl::Graph& graph, const ExportOptions& options, std::vector<Array>& kept) {
  kept.clear();
  return Exporter(options, kept).run(graph);
}

}  // namespace pxl::onnx
