// The functions of a model, and the module that its graph becomes.
#include <fmt/format.h>

#include "interpreter/onnx/import_literals.hpp"
#include "interpreter/onnx/importer.hpp"

namespace pxl::onnx {

std::string Importer::function_name(const Function& f) {
  std::string& name = function_names_[&f];
  if (name.empty()) name = fresh(f.name);
  return name;
}

std::string Importer::function_text(const Function& f) {
  Names names;
  std::string parameters;
  for (const std::string& i : f.inputs) {
    const std::string variable = fresh(i);
    names.here[i] = {variable, nullptr};
    parameters += (parameters.empty() ? "" : ", ") + variable + " = none";
  }
  for (const std::string& a : f.attributes)
    parameters += (parameters.empty() ? "" : ", ") + ("attribute_" + a + " = none");
  lines_.clear();
  line(fmt::format("def {}({}) {{", function_name(f), parameters));
  ++depth_;
  function_opset_ = opset_of(f);
  for (const Node& n : f.nodes) node_lines(names, n);
  function_opset_ = 0;
  std::string results;
  Node place;
  place.op = f.name;
  for (const std::string& o : f.outputs) results += (results.empty() ? "" : ", ") + meaning(names, place, o).text;
  line("return [" + results + "]");
  --depth_;
  line("}\n");
  return std::exchange(lines_, {});
}

std::string Importer::checked_extents(const ValueInfo& input) {
  if (!input.type || !input.type->tensor || !input.type->tensor->shape) return "";
  std::string extents;
  bool named = false;
  for (const Dimension& d : input.type->tensor->shape->dims) {
    std::string extent = "none";
    if (!d.value.empty()) {
      extent = fmt::format("{}", d.value.front());
    } else if (!d.parameter.empty()) {
      std::string& known = axes_[d.parameter];
      if (known.empty()) {
        known = fresh(d.parameter);
        axis_names_.push_back(known);
      }
      extent = known;
      named = true;
    }
    extents += (extents.empty() ? "" : ", ") + extent;
  }
  return named ? "[" + extents + "]" : "";
}

std::string Importer::annotation(const ValueInfo& input) {
  if (!input.type || !input.type->tensor) return "";
  const TensorType& t = *input.type->tensor;
  const auto element = static_cast<ElementType>(t.element);
  const auto dtype = element == ElementType::bfloat16 ? DType::float32 : dtype_of(element);
  if (!dtype) {
    refused_.push_back(fmt::format("input `{}`: elements of {}", input.name, name(element)));
    return "";
  }
  if (!t.shape) return fmt::format(": {}[...]", pxl::name(*dtype));
  std::string dims;
  for (const Dimension& d : t.shape->dims) {
    const std::string extent = d.value.empty() ? "_" : fmt::format("{}", d.value.front());
    dims += (dims.empty() ? "" : ", ") + extent;
  }
  return fmt::format(": {}[{}]", pxl::name(*dtype), dims);
}

std::string Importer::build_text() {
  const Graph& graph = model_.graph;
  Names names;
  std::set<std::string> initialised;
  for (const TensorData& t : graph.initialisers) initialised.insert(t.name);
  std::string parameters;
  std::vector<std::string> checks;
  for (const ValueInfo& input : graph.inputs) {
    if (initialised.contains(input.name)) continue;
    const std::string variable = fresh(input.name);
    names.here[input.name] = {variable, nullptr};
    const bool host = host_.contains(input.name);
    out_.inputs.push_back({input.name, variable, host});
    const std::string type = annotation(input);
    parameters += (parameters.empty() ? "" : ", ") + variable + (host ? "" : type);
    if (const std::string extents = checked_extents(input); !extents.empty() && !host)
      checks.push_back(fmt::format("onnx.check_extents({}, {})", variable, extents));
  }
  depth_ = 2;
  lines_.clear();
  for (const std::string& check : checks) line(check);
  for (const TensorData& t : graph.initialisers) initialiser_lines(names, t);
  for (const SparseTensor& t : graph.sparse_initialisers)
    names.here[t.values.name] = constant(t.values.name, to_array(t, model_.folder));
  for (const Node& n : graph.nodes) node_lines(names, n);
  std::string results;
  Node place;
  place.op = "the graph";
  for (const ValueInfo& o : graph.outputs) {
    results += (results.empty() ? "" : ", ") + meaning(names, place, o.name).text;
    out_.outputs.push_back(o.name);
  }
  line(graph.outputs.size() == 1 ? "return onnx.result(" + results + ")" : "return onnx.results(" + results + ")");
  const std::string body = std::exchange(lines_, {});
  std::string configuration;
  for (const std::string& axis : axis_names_) configuration += (configuration.empty() ? "(" : ", ") + axis + " = none";
  return fmt::format("module Model{} {{\n  build({}) {{\n{}  }}\n}}\n",
                     configuration + (configuration.empty() ? "" : ")"), parameters, body);
}

void Importer::initialiser_lines(Names& names, const TensorData& t) {
  const Array array = to_array(t, model_.folder);
  if (!is_floating(array.dtype()) || host_.contains(t.name) || array.size() == 0 || array.rank() == 0) {
    names.here[t.name] = named_constant(t.name, constant(t.name, array));
    return;
  }
  const std::string variable = fresh(t.name), key = key_of(t.name);
  out_.weights.emplace_back(key, array);
  std::string dims;
  for (int64_t d : array.shape()) dims += (dims.empty() ? "" : ", ") + fmt::format("{}", d);
  line(fmt::format("param {}: {}[{}] = weights[{}]", variable, pxl::name(array.dtype()), dims, quoted(key)));
  names.here[t.name] = {variable, nullptr};
}

}  // namespace pxl::onnx
