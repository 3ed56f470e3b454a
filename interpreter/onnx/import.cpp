// Checks which parts of a model can be imported, and infers what is known about its values.
#include "interpreter/onnx/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/onnx/import_literals.hpp"
#include "interpreter/onnx/import_loops.hpp"
#include "interpreter/onnx/importer.hpp"
#include "interpreter/onnx/simplify.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl::onnx {

namespace {

constexpr int deepest_graph = 50;

}  // namespace

Imported Importer::run() {
  index_functions();
  check_nodes(model_.graph, opset_, 0);
  note_calls(model_.graph.nodes, 0);
  for (const auto& f : written_)
    for (const Node& n : f->nodes) check_node(n, f->opset, 0);
  if (!refused_.empty()) throw refusal();
  const HostInputs host_inputs_of = [&](const Node& node) {
    const FunctionInstance* f = called(node);
    return f ? &f->host : nullptr;
  };
  for (const auto& f : written_) {
    std::set<std::string> host;
    add_host_values(f->nodes, f->opset, host, host_inputs_of);
    for (size_t i = 0; i < f->function->inputs.size(); ++i)
      if (host.contains(f->function->inputs[i])) f->host.push_back(i);
  }
  add_host_values(model_.graph.nodes, opset_, host_, host_inputs_of);
  ProgramText text;
  for (const auto& f : written_) text += function_text(*f);
  text += build_text();
  if (!refused_.empty()) throw refusal();
  finish(text);
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

void Importer::check_nodes(const Graph& graph, int64_t opset, int depth) {
  if (depth > deepest_graph)
    throw Error(fmt::format("cannot import {}: its graphs are nested too deeply", options_.title));
  for (const TensorData& t : graph.initialisers)
    if (is_packed(t.element())) packed_.insert(t.name);
  for (const ValueInfo& v : graph.inputs)
    if (v.type && v.type->tensor && is_packed(static_cast<ElementType>(v.type->tensor->element)))
      packed_.insert(v.name);
  for (const Node& n : graph.nodes) check_node(n, opset, depth);
  for (const TensorData& t : graph.initialisers)
    if (!dtype_of(t.element()))
      refused_.push_back(fmt::format("initialiser `{}`: elements of {}", t.name, name(t.element())));
}

void Importer::check_node(const Node& node, int64_t opset, int depth) {
  check_attributes(node);
  check_packed(node);
  if (!functions_.contains({node.domain, node.op, node.overload}) && !find_row(node, opset)) {
    const auto rows = import_rows();
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const ImportRow& r) { return r.op == node.op && r.domain == node.domain; });
    refuse(node, known                 ? fmt::format("not in this form, or not in opset {}", opset)
                 : node.domain.empty() ? "there is no such op in pxl"
                                       : fmt::format("there is no such op of the domain `{}` in pxl", node.domain));
  }
  for (const Attribute& a : node.attributes) {
    if (a.kind == AttributeKind::tensor && a.tensor && !dtype_of(a.tensor->element()))
      refuse(node, fmt::format("its attribute {} has elements of {}", a.name, name(a.tensor->element())));
    if (a.graph) check_nodes(*a.graph, opset, depth + 1);
  }
}

void Importer::check_packed(const Node& node) {
  const auto is = [&](const std::string& value) { return !value.empty() && packed_.contains(value); };
  const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), is), casts = node.op == "CastLike";
  const bool quantises = node.op == "QuantizeLinear", widens = node.op == "Cast" || node.op == "DequantizeLinear";
  const Attribute* value = node.attribute("value");
  if (reads && (casts || quantises) && is(node.inputs.back()))
    refuse(node, "its result has elements of 4 bits");
  else if ((reads && !casts && !widens) || (value && value->tensor && is_packed(value->tensor->element())))
    packed_.insert(node.outputs.begin(), node.outputs.end());
}

void Importer::check_attributes(const Node& node) {
  std::set<std::string_view> seen;
  for (const Attribute& a : node.attributes) {
    if (!is_identifier(a.name)) refuse(node, fmt::format("its attribute `{}` has no name of a program", a.name));
    if (!seen.insert(a.name).second) refuse(node, fmt::format("it has the attribute `{}` twice", a.name));
    if (!a.reference.empty())
      refuse(node, fmt::format("its attribute `{}` is that of a call, and no function is around it", a.name));
    for (const std::string& s : a.strings)
      if (!is_utf8(s)) refuse(node, fmt::format("its attribute `{}` is not UTF-8", a.name));
    if (!is_utf8(a.s)) refuse(node, fmt::format("its attribute `{}` is not UTF-8", a.name));
  }
}

const Meaning* Names::here(const std::string& value) const {
  const auto it = here_.find(value);
  return it == here_.end() ? nullptr : &it->second;
}

const Meaning* Names::find(const std::string& value) const {
  for (const Names* at = this; at; at = at->outer_)
    if (const Meaning* found = at->here(value)) return found;
  return nullptr;
}

bool Names::has_variable(const ProgramText& variable) const {
  return std::any_of(here_.begin(), here_.end(), [&](const auto& h) { return h.second.text == variable; });
}

void Importer::define(Names& names, const std::string& what, const std::string& value, Meaning meaning) {
  if (!value.empty() && !names.define(value, std::move(meaning)))
    refused_.push_back(fmt::format("{}: `{}` is defined twice", what, value));
}

Meaning Importer::meaning(Names& names, const Node& node, const std::string& value) {
  if (const Meaning* here = names.here(value)) return *here;
  const Meaning* found = names.find(value);
  if (!found) {
    refuse(node, fmt::format("its input `{}` is not computed before it", value));
    return {.text = FixedText("none"), .form = Meaning::Form::literal};
  }
  if (found->form == Meaning::Form::variable) names.captured.insert(found->text);
  return *found;
}

Meaning Importer::constant(const std::string& key, const Array& array) {
  Meaning m{.text = {}, .known = std::make_shared<const Array>(array), .form = Meaning::Form::literal};
  if (is_writable(array)) {
    m.text = array_text(array);
  } else {
    const std::string unique = key_of(key);
    m.form = Meaning::Form::stored;
    m.text = assemble("weights[{}]", {string_literal(unique)});
    out_.weights.emplace_back(unique, array);
  }
  return m;
}

std::string Importer::key_of(const std::string& wanted) {
  // A key that spells bytes outside UTF-8 as the text and the file both do.
  std::string key;
  for (size_t i = 0; i < wanted.size();) append_utf8(key, next_code_point(wanted, i));
  if (key.empty()) key = "constant";
  std::string unique = key;
  for (int n = 1; !keys_.insert(unique).second; ++n) unique = fmt::format("{}.{}", key, n);
  return unique;
}

void Importer::finish(const ProgramText& text) {
  ProgramText whole = comment_line(fmt::format("Imported from {} (opset {}{}{}).", options_.title, opset_,
                                               model_.producer.empty() ? "" : ", written by ", model_.producer));
  whole += FixedText("import onnx\n");
  if (!out_.weights.empty() && !options_.weights_path.empty())
    whole += assemble("\nweights = onnx.weights(beside({}))\n", {string_literal(options_.weights_path)});
  whole += "\n";
  whole += text;
  out_.text = formatted(whole);
}

Imported import_model(Model model, const ImportOptions& options) {
  simplify(model);
  return Importer(model, options).run();
}

}  // namespace pxl::onnx
