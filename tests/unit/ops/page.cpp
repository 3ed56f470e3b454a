// docs/ops.md: every op that a program can name, from the op table. With PXL_UPDATE=1 the test writes the page.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "one_op.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/autodiff.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

constexpr std::string_view head =
    "# Ops\n\n"
    "Every op, from the op table; a test keeps this page up to date. A line below the signature says which dtypes the "
    "first\noperand takes, which operands have a gradient, and the form that changes its first operand in place. "
    "`:help NAME` in\nthe REPL tells more: a formula, the parameters, an example that runs. Calls, "
    "loops, conditionals and\nstreams are in [working with graphs](graphs.md); how dtypes and shapes go together is in "
    "[the language](language.md#tensors-and-ops).\n";

constexpr DType all_dtypes[] = {
    DType::float16, DType::bfloat16,   DType::float32,    DType::float64,       DType::int8,       DType::int16,
    DType::int32,   DType::int64,      DType::uint8,      DType::uint16,        DType::uint32,     DType::uint64,
    DType::boolean, DType::float8_143, DType::float8_152, DType::float8_e4m3fn, DType::float8_e5m2};

/// The row's sample in a graph of its own.
struct Made {
  Ir ir;
  Graph& graph = ir.create_graph("f");
  std::map<const Tensor*, size_t> param_of;  ///< which parameter an input is

  Made(const OpRow& row, DType dtype) : Made(row, sample_for(row, dtype)) {}
  Made(const OpRow& row, const Sample& sample) {
    GraphOpBuilder at(graph);
    OpArgs args;
    args.values.resize(row.params.size());
    for (size_t i = 0; i < sample.operands.size(); ++i)
      if (sample.operands[i]) {
        Tensor* input = graph.add_input(sample.operands[i]->spec(), "x");
        param_of[input] = i;
        args.values[i] = at.of(input);
      }
    for (const auto& [name, attr] : sample.attrs) args.values[param_index(row, name)] = attr;
    for (const Expr& e : at.emit(row, std::move(args))) graph.add_output(e.tensor());
    for (const auto& op : graph.ops())
      if (op->row->role == Role::compute) kernel_of(OpContextStorage(*op).site);
  }
};

bool takes(const OpRow& row, DType dtype) {
  try {
    // Ops of one dtype have a sample of that whatever is asked for.
    const Sample sample = sample_for(row, dtype);
    if (sample.operands[0] &&
        (is_float8(sample.operands[0]->dtype()) || sample.operands[0]->dtype() == DType::float16) &&
        sample.operands[0]->dtype() != dtype)
      return false;
    const Made made(row, dtype);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string dtypes_text(const OpRow& row) {
  if (std::none_of(row.params.begin(), row.params.end(), [](const Param& p) { return is_operand(p.kind); })) return {};
  if (row.params[0].kind == ParamKind::index) return "integers";
  std::vector<DType> taken;
  for (DType t : all_dtypes)
    if (takes(row, t)) taken.push_back(t);
  const auto has = [&](auto&& f) {
    return std::count_if(taken.begin(), taken.end(), f) ==
           std::count_if(std::begin(all_dtypes), std::end(all_dtypes), f);
  };
  const bool floats = has([](DType t) { return is_floating(t); }), ints = has([](DType t) { return is_integer(t); });
  const bool bools = std::count(taken.begin(), taken.end(), DType::boolean) == 1, float8s = has(is_float8);
  if (floats && ints) return bools ? (float8s ? "all dtypes" : "all dtypes but float8") : "numbers";
  std::string text = floats ? "floats" : ints ? "integers" : float8s ? "float8" : "";
  for (DType t : taken)
    if (!(floats && is_floating(t)) && !(ints && is_integer(t)) && !(float8s && is_float8(t)))
      text += (text.empty() ? "" : ", ") + std::string(name(t));
  return text.empty() ? "none" : text;
}

/// The parameters that have a gradient; none if a gradient is refused.
std::set<size_t> params_with_gradient(const OpRow& row, const Sample& sample) {
  std::set<size_t> params;
  Made made(row, sample);
  try {
    std::vector<Tensor*> provided;
    for (Tensor* t : made.graph.outputs())
      if (is_floating(t->spec.dtype) && std::count(provided.begin(), provided.end(), t) == 0) provided.push_back(t);
    if (!provided.empty())
      for (const ExpectedConnection& c : autodiff(made.graph, provided)->expected_outputs)
        params.insert(made.param_of.at(c.fwd_tensor));
  } catch (const Error&) {
  }
  return params;
}

/// Values of attributes with which an op has no gradient: "mul, max" of a reduction.
std::string without_gradient(const OpRow& row) {
  std::string text;
  for (const Param& p : row.params) {
    std::string words;
    for (const Attr& value : p.kind == ParamKind::string ? values_of(p) : std::vector<Attr>()) {
      Sample sample = sample_for(row, DType::float32);
      sample.attrs[std::string(p.name)] = value;
      try {
        if (!params_with_gradient(row, sample).empty()) continue;
        words += (words.empty() ? "" : ", ") + std::get<std::string>(value);
      } catch (const Error&) {  // the op does not have it
      }
    }
    if (!words.empty()) text += fmt::format(", none if {} is {}", p.name, words);
  }
  return text;
}

std::string gradient_text(const OpRow& row) {
  std::set<size_t> params;
  try {
    if (!row.modifies) params = params_with_gradient(row, sample_for(row, DType::float32));
  } catch (const Error&) {
  }
  std::string names;
  for (size_t i : params) names += fmt::format("{}`{}`", names.empty() ? "" : ", ", row.params[i].name);
  return names.empty() ? "no gradient" : "gradient of " + names + without_gradient(row);
}

std::string entry(const OpRow& row) {
  std::string text = fmt::format("\n### `{}`\n\n{}\n\n", signature(row), row.doc);
  std::vector<std::string> facts;
  if (const std::string dtypes = dtypes_text(row); !dtypes.empty()) facts.push_back(dtypes);
  facts.push_back(gradient_text(row));
  if (!row.inplace.empty()) facts.push_back(fmt::format("in place: `{}`", row.inplace));
  if (row.modifies) facts.push_back("changes its first operand");
  if (row.method) facts.push_back("also a method");
  if (!row.onnx.empty()) facts.push_back(fmt::format("ONNX {}", row.onnx));
  for (size_t i = 0; i < facts.size(); ++i) text += fmt::format("{}{}", i ? " · " : "", facts[i]);
  return text + "\n";
}

std::string page() {
  std::map<std::string, std::map<std::string, const OpRow*>> sections;
  for (const OpRow* row : op_table()) {
    if (row->path.empty()) continue;
    const std::string path(row->path);
    // In-place forms stand with the op that they are a form of.
    const OpRow* base = row->name.ends_with('_') ? find_op(row->name.substr(0, row->name.size() - 1)) : nullptr;
    if (base && base->inplace == row->name) continue;
    sections[path.substr(0, path.rfind('.'))].emplace(row->name, row);
  }
  std::string text(head);
  for (const auto& [section, rows] : sections) {
    text += fmt::format("\n## {}\n", section);
    for (const auto& [name, row] : rows) text += entry(*row);
  }
  return text;
}

}  // namespace

TEST_CASE("docs/ops.md is what the op table says") {
  const std::string path = PXL_SOURCE_DIR "/docs/ops.md", wanted = page();
  if (std::getenv("PXL_UPDATE")) std::ofstream(path) << wanted;
  std::ifstream file(path);
  std::stringstream found;
  found << file.rdbuf();
  const bool up_to_date = found.str() == wanted;
  CHECK_MESSAGE(up_to_date, "PXL_UPDATE=1 build/release/unit_ops writes the page");
}
