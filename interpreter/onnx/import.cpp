// What of a model can be imported, and what is known of its values.
#include "interpreter/onnx/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/onnx/import_literals.hpp"
#include "interpreter/onnx/import_loops.hpp"
#include "interpreter/onnx/importer.hpp"
#include "interpreter/syntax/format.hpp"
#include "runtime/base/codes.hpp"

namespace pxl::onnx {

namespace {

constexpr int deepest_graph = 50;

bool is_known(ElementType type) { return dtype_of(type) || type == ElementType::bfloat16; }
bool is_bfloat16(const ValueInfo& v) {
  return v.type && v.type->tensor && static_cast<ElementType>(v.type->tensor->element) == ElementType::bfloat16;
}

/// Ops that only move elements of their first input.
constexpr std::string_view movements[] = {"Identity",  "Reshape",        "Flatten",  "Squeeze",     "Unsqueeze",
                                          "Transpose", "Slice",          "Gather",   "Expand",      "Tile",
                                          "Split",     "GatherElements", "GatherND", "DepthToSpace"};
/// Ops whose results have a type of their own, whatever their operands'.
constexpr std::string_view of_other_types[] = {"Shape", "Size",           "ArgMax",  "ArgMin",         "Equal",
                                               "Less",  "LessOrEqual",    "Greater", "GreaterOrEqual", "IsNaN",
                                               "IsInf", "QuantizeLinear", "NonZero"};
/// Ops whose results after the first are statistics, of a type of their own.
constexpr std::string_view with_statistics[] = {"BatchNormalization", "LayerNormalization"};

}  // namespace

Imported Importer::run() {
  check_nodes(model_.graph, 0);
  for (const Function& f : model_.functions)
    for (const Node& n : f.nodes) check_node(n, opset_of(f), 0);
  if (!refused_.empty()) throw refusal();
  add_host_values(model_.graph, opset_, host_);
  for (const Node& n : model_.graph.nodes)
    if (const Function* f = function_of(n)) used_.insert(f);
  std::string functions;
  for (const Function& f : model_.functions)
    if (used_.contains(&f)) functions += function_text(f);
  const std::string body = build_text();
  if (!refused_.empty()) throw refusal();
  finish(functions + body);
  return std::move(out_);
}

Error Importer::refusal() const {
  std::vector<std::string> notes(refused_.begin(), refused_.end());
  return Error(fmt::format("cannot import {}: {}", options_.title,
                           notes.size() == 1 ? "1 node has no meaning in pxl"
                                             : fmt::format("{} nodes have no meaning in pxl", notes.size())),
               notes)
      .as(codes::import);
}

void Importer::refuse(const Node& node, const std::string& why) { refused_.push_back(node.label() + ": " + why); }

const Function* Importer::function_of(const Node& node) const {
  for (const Function& f : model_.functions)
    if (f.name == node.op && f.domain == node.domain) return &f;
  return nullptr;
}

int64_t Importer::opset_of(const Function& f) const {
  for (const OperatorSet& o : f.opsets)
    if (o.domain.empty()) return o.version;
  return opset_;
}

void Importer::check_nodes(const Graph& graph, int depth) {
  if (depth > deepest_graph)
    throw Error(fmt::format("cannot import {}: its graphs are nested too deeply", options_.title));
  for (const ValueInfo& v : graph.inputs)
    if (is_bfloat16(v)) bfloat16_.insert(v.name);
  for (const TensorData& t : graph.initialisers)
    if (t.element() == ElementType::bfloat16) bfloat16_.insert(t.name);
  for (const Node& n : graph.nodes) check_node(n, opset_, depth);
  for (const TensorData& t : graph.initialisers)
    if (!is_known(t.element()))
      refused_.push_back(fmt::format("initialiser `{}`: elements of {}", t.name, name(t.element())));
}

void Importer::check_node(const Node& node, int64_t opset, int depth) {
  if (!function_of(node) && !find_row(node, opset)) {
    const auto rows = import_rows();
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const ImportRow& r) { return r.op == node.op; });
    refuse(node, known ? fmt::format("not in this form, or not in opset {}", opset) : "there is no such op in pxl");
  }
  for (const Attribute& a : node.attributes) {
    if (a.kind == AttributeKind::tensor && a.tensor && !is_known(a.tensor->element()))
      refuse(node, fmt::format("its attribute {} has elements of {}", a.name, name(a.tensor->element())));
    if (a.graph) check_nodes(*a.graph, depth + 1);
  }
  note_bfloat16(node);
}

// Values of bfloat16 are kept in float32, which has all of them. What is stored or moved is exact. A node that computes
// with them computes in float32, and each of its results is rounded.
void Importer::note_bfloat16(const Node& node) {
  const auto named = [&](std::span<const std::string_view> ops) {
    return node.domain.empty() && std::find(ops.begin(), ops.end(), node.op) != ops.end();
  };
  bool stored = false, given = false;
  for (const Attribute& a : node.attributes)
    stored = stored || (a.tensor && a.tensor->element() == ElementType::bfloat16);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!bfloat16_.contains(node.inputs[i])) continue;
    const bool has_graphs = function_of(node) || std::any_of(node.attributes.begin(), node.attributes.end(),
                                                             [](const Attribute& a) { return a.graph; });
    if (has_graphs)
      refuse(node, fmt::format("it passes `{}`, whose elements are bfloat16, to a graph", node.inputs[i]));
    // Of a cast to the type of another value only that one counts.
    given = given || node.op != "CastLike" || i == 1;
  }
  const Attribute* to = node.attribute("to");
  const bool casts = to && static_cast<ElementType>(to->i) == ElementType::bfloat16;
  if (node.op == "Cast" ? !casts : !stored && !given) return;
  if (named(of_other_types)) return;
  const size_t count = named(with_statistics) ? 1 : node.outputs.size();
  bfloat16_.insert(node.outputs.begin(), node.outputs.begin() + static_cast<ptrdiff_t>(count));
  const bool exact =
      (stored && !given) || (named(movements) && bfloat16_.contains(node.inputs[0])) || node.op == "Cast";
  if (!exact) rounded_[&node] = count;
}

std::string Importer::fresh(const std::string& wanted) { return taken_.fresh(wanted); }

const Meaning* Importer::find(const Names& names, const std::string& value) const {
  for (const Names* at = &names; at; at = at->outer)
    if (auto it = at->here.find(value); it != at->here.end()) return &it->second;
  return nullptr;
}

Meaning Importer::meaning(Names& names, const Node& node, const std::string& value) {
  if (auto it = names.here.find(value); it != names.here.end()) return it->second;
  const Meaning* found = find(names, value);
  if (!found) {
    refuse(node, fmt::format("its input `{}` is not computed before it", value));
    return {"none", nullptr};
  }
  if (is_name(found->text)) names.captured.insert(found->text);
  return *found;
}

Meaning Importer::constant(const std::string& key, const Array& array) {
  Meaning m{.text = {}, .known = std::make_shared<const Array>(array)};
  if (is_writable(array)) {
    m.text = array_text(array);
  } else {
    const std::string unique = key_of(key);
    m.text = fmt::format("weights[{}]", quoted(unique));
    out_.weights.emplace_back(unique, array);
  }
  return m;
}

std::string Importer::key_of(const std::string& wanted) {
  const std::string key = wanted.empty() ? "constant" : wanted;
  std::string unique = key;
  for (int n = 1; !keys_.insert(unique).second; ++n) unique = fmt::format("{}.{}", key, n);
  return unique;
}

void Importer::finish(const std::string& text) {
  std::string head = fmt::format("# Imported from {} (opset {}{}{}).\n", options_.title, opset_,
                                 model_.producer.empty() ? "" : ", written by ", model_.producer);
  std::replace(head.begin(), head.end() - 1, '\n', ' ');
  head += "import onnx\n";
  if (!out_.weights.empty() && !options_.weights_path.empty())
    head += fmt::format("\nweights = onnx.weights(beside({}))\n", quoted(options_.weights_path));
  out_.text = format_source(add_source("<import>", head + "\n" + text));
}

Imported import_model(const Model& model, const ImportOptions& options) { return Importer(model, options).run(); }

}  // namespace pxl::onnx
