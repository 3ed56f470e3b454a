#include "interpreter/onnx/run_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "interpreter/onnx/import.hpp"
#include "interpreter/onnx/names.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/syntax/program_text.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

namespace {

class ModelProgram {
 public:
  ModelProgram(const Model& model, const std::string& path) : model_(model), path_(path) {}

  ProgramText text() {
    const ProgramText module = names_.fresh("Model"), facts = names_.fresh("facts"), graph = names_.fresh("graph");
    const ProgramText name = names_.fresh(std::filesystem::path(path_).stem().string());
    ProgramText streams, outputs;
    std::vector<ProgramText> specs, loads, results;
    const Imported imported = import_model(model_, {.title = path_, .weights_path = {}});
    for (const ImportedInput& input : imported.inputs) {
      if (input.host) throw unknown(input.name, "decides a shape");
      const ProgramText stream = names_.fresh(input.name);
      streams += assemble("  stream in {}: {}\n", {stream, spec_of(input.name)});
      specs.push_back(assemble("{}.spec", {stream}));
      loads.push_back(assemble("host_load({})", {stream}));
    }
    for (const ValueInfo& output : model_.graph.outputs) {
      results.push_back(names_.fresh(output.name));
      outputs += assemble("  stream out {} = {}\n", {names_.fresh("y"), results.back()});
    }
    return assemble(
        "from {} import Model as {}\nprogram {}({}) {{\n{}  {}, {} = {}().create_graph({})\n  {} = "
        "{}.bind({}.init())({})\n{}}}\nSession({}())\n",
        {string_literal(std::filesystem::absolute(path_).string()), module, name, joined(parameters_, ", "), streams,
         facts, graph, module, joined(specs, ", "), joined(results, ", "), graph, facts, joined(loads, ", "), outputs,
         name});
  }

 private:
  Error unknown(const std::string& input, const char* why) const {
    return Error(fmt::format("{}: the input `{}` {}, and a look does not know it", path_, input, why),
                 {"write a program that imports the model and gives the value: docs/onnx.md"})
        .as(codes::import);
  }

  ProgramText spec_of(const std::string& input) {
    const auto& all = model_.graph.inputs;
    const auto info = std::find_if(all.begin(), all.end(), [&](const ValueInfo& v) { return v.name == input; });
    if (info == all.end() || !info->type || !info->type->tensor) throw unknown(input, "is no tensor");
    const TensorType& type = *info->type->tensor;
    const std::optional<DType> dtype = dtype_of(static_cast<ElementType>(type.element));
    if (!dtype || !type.shape) throw unknown(input, "has no known dtype and rank");
    std::vector<ProgramText> dims;
    for (const Dimension& d : type.shape->dims) dims.push_back(extent(d));
    return assemble("{}[{}]", {identifier(pxl::name(*dtype)), joined(dims, ", ")});
  }

  ProgramText extent(const Dimension& d) {
    if (!d.value.empty()) return number_literal(d.value.front());
    const std::string wanted = d.parameter.empty() ? "n" : d.parameter;
    const auto known = extents_.find(d.parameter);
    if (!d.parameter.empty() && known != extents_.end()) return known->second;
    const ProgramText name = names_.fresh(wanted);
    parameters_.push_back(assemble("{}: int = 1", {name}));
    if (!d.parameter.empty()) extents_.emplace(d.parameter, name);
    return name;
  }

  const Model& model_;
  const std::string& path_;
  UniqueNames names_;
  std::map<std::string, ProgramText> extents_;
  std::vector<ProgramText> parameters_;
};

}  // namespace

ast::TreePtr program_of_model(const std::string& path) {
  const Model model = read_model(path);
  const ProgramText program = ModelProgram(model, path).text();
  const std::string name = fmt::format("[{}]", path);
  return parse_or_throw(add_source(name, program));
}

}  // namespace pxl::onnx
