// Runs the standard's backend tests.
#include "interpreter/cli/onnx_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/onnx.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl::cli {

namespace fs = std::filesystem;

namespace {

/// A case that cannot be run here, with the reason.
struct Skip {
  std::string reason;
};

std::string read_all(const std::string& path) {
  std::string why;
  std::optional<std::string> bytes = read_file(path, int64_t{1} << 32, why);
  if (!bytes) throw Error(fmt::format("cannot read {}: {}", path, why), {}, Fault::unreadable);
  return *std::move(bytes);
}

/// The data as an array. `wanted` is the model's type, since the standard stores bit patterns of bfloat16 as uint16.
Array array_of(onnx::TensorData t, const std::string& folder, int32_t wanted = 0) {
  constexpr auto bfloat16 = static_cast<int32_t>(onnx::ElementType::bfloat16);
  if (wanted == bfloat16 && t.element() == onnx::ElementType::uint16) t.type = bfloat16;
  const onnx::ElementType type = t.element();
  if (!onnx::dtype_of(type)) throw Skip{fmt::format("pxl has no elements of {}", onnx::name(type))};
  return onnx::to_array(t, folder);
}

void flatten(const onnx::SequenceData& s, const std::string& folder, std::vector<Array>& out) {
  for (const onnx::TensorData& t : s.tensors) out.push_back(array_of(t, folder));
  for (const onnx::SequenceData& inner : s.sequences) flatten(inner, folder, out);
}

enum class Holds { tensor, sequence, optional };
Holds kind_of(const onnx::ValueInfo& info) {
  if (!info.type) return Holds::tensor;
  return info.type->sequence ? Holds::sequence : info.type->optional ? Holds::optional : Holds::tensor;
}

struct Data {
  std::vector<Array> arrays;
  bool list = false, absent = false;
};
Data read_data(const std::string& path, const onnx::ValueInfo& info) {
  const std::string bytes = read_all(path), folder = fs::path(path).parent_path().string();
  Data data;
  switch (kind_of(info)) {
    case Holds::tensor: {
      const int32_t wanted = info.type && info.type->tensor ? info.type->tensor->element : 0;
      data.arrays.push_back(array_of(onnx::parse_part<onnx::TensorData>(bytes, path), folder, wanted));
      break;
    }
    case Holds::sequence:
      data.list = true;
      flatten(onnx::parse_part<onnx::SequenceData>(bytes, path), folder, data.arrays);
      break;
    case Holds::optional: {
      const auto optional = onnx::parse_part<onnx::OptionalData>(bytes, path);
      if (optional.sequence) {
        data.list = true;
        flatten(*optional.sequence, folder, data.arrays);
      } else if (optional.tensor) {
        data.arrays.push_back(array_of(*optional.tensor, folder));
      } else {
        data.absent = true;
      }
    }
  }
  return data;
}

std::string compare(const Array& is, const Array& wanted, double rtol, double atol) {
  if (is.dtype() != wanted.dtype()) return fmt::format("{} instead of {}", name(is.dtype()), name(wanted.dtype()));
  if (is.shape() != wanted.shape())
    return fmt::format("the shape {} instead of {}", bracket_text(is.shape()), bracket_text(wanted.shape()));
  if (is_float8(is.dtype()))
    return compare(from_float8(is, DType::float32, 0), from_float8(wanted, DType::float32, 0), rtol, atol);
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < is.size(); ++i) {
    bool same = false;
    if (is_floating(is.dtype())) {
      const double a = is.number(i), b = wanted.number(i);
      same = a == b || (std::isnan(a) && std::isnan(b)) ||
             (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= atol + rtol * std::abs(b));
    } else {
      same = is.integer(i) == wanted.integer(i);
    }
    if (same) continue;
    if (wrong++ == 0) first = fmt::format("element {} is {} instead of {}", i, is.number(i), wanted.number(i));
  }
  return wrong ? fmt::format("{} of {} elements differ: {}", wrong, is.size(), first) : "";
}

Value value_of(const Data& data) {
  if (data.absent) return {};
  if (!data.list) return data.arrays.front();
  std::vector<Value> items;
  for (const Array& a : data.arrays) items.emplace_back(a);
  return make_list(std::move(items));
}

void run_data_set(const onnx::Model& model, const onnx::Imported& imported, const std::string& folder, double rtol,
                  double atol) {
  const auto owned = make_interpreter(interpreter_options({.quiet = true}));
  Interpreter& in = *owned;
  std::vector<Value> inputs, hosts;
  for (size_t i = 0; i < imported.inputs.size(); ++i) {
    const onnx::ImportedInput& input = imported.inputs[i];
    const auto info = std::find_if(model.graph.inputs.begin(), model.graph.inputs.end(),
                                   [&](const onnx::ValueInfo& v) { return v.name == input.name; });
    const auto position = info - model.graph.inputs.begin();
    inputs.push_back(value_of(read_data(fmt::format("{}/input_{}.pb", folder, position), *info)));
    hosts.emplace_back(input.host);
  }
  const Value module = evaluate_import(in, imported, "[model.onnx]");
  const ScopePtr library = evaluator_of(in).import_module({"onnx"}, {});
  const Value* run = library->find_here("_run");
  const Value out = invoke(in, *run, {invoke(in, module), make_list(inputs), make_list(hosts)});
  std::vector<Array> results;
  for (const Value& v : elements_of(in, out)) results.push_back(*v.as_array());
  size_t at = 0;
  for (size_t o = 0; o < model.graph.outputs.size(); ++o) {
    const onnx::ValueInfo& info = model.graph.outputs[o];
    const std::string path = fmt::format("{}/output_{}.pb", folder, o);
    if (!fs::exists(path)) continue;
    for (const Array& wanted : read_data(path, info).arrays) {
      if (at == results.size()) throw run_error(fmt::format("output `{}`: too few results", info.name));
      if (std::string why = compare(results[at++], wanted, rtol, atol); !why.empty())
        throw run_error(fmt::format("output `{}`: {}", info.name, why));
    }
  }
}

}  // namespace

std::vector<std::string> onnx_cases(const std::string& folder) {
  std::vector<std::string> found;
  if (fs::is_regular_file(fs::path(folder) / "model.onnx")) found.push_back(folder);
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed))
    if (entry.path().filename() == "model.onnx" && entry.path().parent_path() != fs::path(folder))
      found.push_back(entry.path().parent_path().string());
  std::sort(found.begin(), found.end());
  return found;
}

OnnxOutcome run_onnx_case(const std::string& folder, double rtol, double atol) {
  try {
    const onnx::Model model = onnx::read_model(folder + "/model.onnx");
    onnx::Imported imported;
    try {
      imported = onnx::import_model(model, {.title = "model.onnx", .weights_path = {}});
    } catch (const Error& e) {
      if (e.first().code != codes::import) throw;
      return {OnnxOutcome::skipped, e.first().notes.empty() ? e.first().message : e.first().notes.front()};
    }
    int sets = 0;
    for (; fs::exists(fmt::format("{}/test_data_set_{}", folder, sets)); ++sets)
      run_data_set(model, imported, fmt::format("{}/test_data_set_{}", folder, sets), rtol, atol);
    if (sets == 0) return {OnnxOutcome::skipped, "it has no test data"};
    return {};
  } catch (const Skip& skip) {
    return {OnnxOutcome::skipped, skip.reason};
  } catch (const Error& e) {
    std::string reason = e.first().message;
    for (const std::string& note : e.first().notes) reason += "; " + note;
    return {OnnxOutcome::failed, reason};
  } catch (const std::bad_alloc&) {
    return {OnnxOutcome::failed, "out of memory"};
  }
}

}  // namespace pxl::cli
