// Writes a model's graph as a module.
#include <fmt/format.h>

#include "interpreter/onnx/import_literals.hpp"
#include "interpreter/onnx/importer.hpp"

namespace pxl::onnx {

std::optional<ProgramText> Importer::checked_extents(const ValueInfo& input) {
  if (!input.type || !input.type->tensor || !input.type->tensor->shape) return {};
  std::vector<ProgramText> extents;
  bool named = false;
  for (const Dimension& d : input.type->tensor->shape->dims) {
    if (!d.value.empty() || d.parameter.empty()) {
      extents.push_back(d.value.empty() ? FixedText("none") : number_literal(d.value.front()));
      continue;
    }
    ProgramText& known = axes_[d.parameter];
    if (known.empty()) {
      known = fresh(d.parameter);
      axis_names_.push_back(known);
    }
    extents.push_back(known);
    named = true;
  }
  return named ? std::optional(list_text(extents)) : std::nullopt;
}

ProgramText Importer::annotation(const ValueInfo& input) {
  if (!input.type || !input.type->tensor) return {};
  const TensorType& t = *input.type->tensor;
  const auto element = static_cast<ElementType>(t.element);
  const auto dtype = dtype_of(element);
  if (!dtype) {
    refused_.push_back(fmt::format("input `{}`: elements of {}", input.name, name(element)));
    return {};
  }
  std::vector<ProgramText> dims;
  if (!t.shape) dims.push_back(FixedText("..."));
  if (t.shape)
    for (const Dimension& d : t.shape->dims)
      dims.push_back(d.value.empty() ? FixedText("_") : number_literal(d.value.front()));
  return assemble(": {}[{}]", {identifier(pxl::name(*dtype)), joined(dims, ", ")});
}

ProgramText Importer::build_text() {
  const Graph& graph = model_.graph;
  Names names;
  std::set<std::string> initialised;
  for (const TensorData& t : graph.initialisers) initialised.insert(t.name);
  std::vector<ProgramText> parameters, checks;
  for (const ValueInfo& input : graph.inputs) {
    if (initialised.contains(input.name)) continue;
    const ProgramText variable = fresh(input.name);
    define(names, fmt::format("input `{}`", input.name), input.name, {.text = variable});
    const bool host = host_.contains(input.name);
    out_.inputs.push_back({input.name, host});
    const ProgramText type = annotation(input);
    parameters.push_back(assemble("{}{}", {variable, host ? ProgramText() : type}));
    if (const auto extents = checked_extents(input); extents && !host)
      checks.push_back(assemble("onnx.check_extents({}, {})", {variable, *extents}));
  }
  depth_ = 2;
  opset_here_ = opset_;
  lines_ = {};
  for (const ProgramText& check : checks) line(check);
  for (const TensorData& t : graph.initialisers) initialiser_lines(names, t);
  for (const SparseTensor& t : graph.sparse_initialisers)
    define(names, fmt::format("initialiser `{}`", t.values.name), t.values.name,
           constant(t.values.name, to_array(t, model_.folder)));
  for (const Node& n : graph.nodes) node_lines(names, n);
  Node place;
  place.op = "the graph";
  const std::vector<ProgramText> results = output_texts(names, place, graph.outputs);
  for (const ValueInfo& o : graph.outputs) out_.outputs.push_back(o.name);
  line(assemble("return onnx.{}({})",
                {graph.outputs.size() == 1 ? FixedText("result") : FixedText("results"), joined(results, ", ")}));
  const ProgramText body = std::exchange(lines_, {});
  std::vector<ProgramText> configuration;
  for (const ProgramText& axis : axis_names_) configuration.push_back(assemble("{} = none", {axis}));
  const ProgramText given = configuration.empty() ? ProgramText() : assemble("({})", {joined(configuration, ", ")});
  return assemble("module Model{} {{\n  build({}) {{\n{}  }}\n}}\n", {given, joined(parameters, ", "), body});
}

void Importer::initialiser_lines(Names& names, const TensorData& t) {
  const Array array = to_array(t, model_.folder);
  const std::string what = fmt::format("initialiser `{}`", t.name);
  if (!is_floating(array.dtype()) || host_.contains(t.name) || array.size() == 0 || array.rank() == 0) {
    define(names, what, t.name, named_constant(t.name, constant(t.name, array)));
    return;
  }
  const ProgramText variable = fresh(t.name);
  const std::string key = key_of(t.name);
  out_.weights.emplace_back(key, array);
  std::vector<ProgramText> dims;
  for (int64_t d : array.shape()) dims.push_back(number_literal(d));
  line(assemble("param {}: {}[{}] = weights[{}]",
                {variable, identifier(pxl::name(array.dtype())), joined(dims, ", "), string_literal(key)}));
  define(names, what, t.name, {.text = variable});
}

}  // namespace pxl::onnx
