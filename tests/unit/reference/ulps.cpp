// The errors of float32 kernels with one operand, in ulps, against their definitions: the table in docs/numerics.md.
// PXL_UPDATE=1 writes it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "../ops/samples.hpp"
#include "runtime/ops/run.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

constexpr uint32_t stride = 4099;  // of bit patterns: a million operands, in each binade the same number

constexpr float tiny = 0x1p-118F;  // results below: factors of them may have been flushed to 0

/// Normal numbers of both signs.
Array operands() {
  std::vector<float> all;
  for (uint64_t bits = 0; bits <= std::numeric_limits<uint32_t>::max(); bits += stride)
    if (const float x = std::bit_cast<float>(static_cast<uint32_t>(bits)); std::isnormal(x)) all.push_back(x);
  Array x(DType::float32, {static_cast<int64_t>(all.size())});
  std::copy(all.begin(), all.end(), x.mutable_data<float>());
  return x;
}

/// The row's kernel on float32, or its definition on the same numbers in float64.
Array results(const OpRow& row, const Array& x, bool by_definition) {
  OpRow used = row;
  if (by_definition) used.kernel = nullptr;
  const TensorSpec in = x.spec();
  const TensorSpec* slots[] = {&in};
  const Attributes attrs(row.params.size());
  OpContext site{.row = used, .in = slots, .attrs = attrs};
  const std::vector<TensorSpec> out = row.infer(site);
  site.out = out;
  return run_op(site, {x}).at(0);
}

struct Errors {
  double near = 0, all = 0;  ///< the largest, in ulps: of operands in [-4, 4], of all
};

Errors errors_of(const OpRow& row, const Array& x) {
  const Array kernel = results(row, x, false), definition = results(row, x.cast(DType::float64), true);
  const float *at = x.data<float>(), *got = kernel.data<float>();
  const double* exact = definition.data<double>();
  Errors e;
  for (int64_t i = 0; i < x.size(); ++i) {
    const float nearest = static_cast<float>(exact[i]);
    if (!std::isfinite(nearest) || std::fabs(nearest) < tiny) {
      const bool same = std::isnan(nearest)   ? std::isnan(got[i])
                        : std::isinf(nearest) ? got[i] == nearest
                                              : std::fabs(got[i] - nearest) <= tiny;
      CHECK_MESSAGE(same, row.name, " of ", at[i], " is ", got[i]);
      continue;
    }
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(nearest), -126) - 23);
    const double error = std::fabs(static_cast<double>(got[i]) - exact[i]) / ulp;
    e.all = std::max(e.all, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    if (std::fabs(at[i]) <= 4) e.near = std::max(e.near, error);
  }
  return e;
}

std::string page(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("errors in ulps are those of docs/numerics.md") {
  const Array x = operands();
  std::string table = "| op | operands in [-4, 4] | all normal operands |\n|---|---|---|\n";
  for (const OpRow* row : op_table()) {
    const bool one_operand = row->params.size() == 1 && row->params[0].kind == ParamKind::tensor;
    if (row->pattern != Pattern::elementwise || !row->kernel || !one_operand || row->modifies || row->path.empty())
      continue;
    const TensorSpec spec{{1}, DType::float32, {}};
    const TensorSpec* slots[] = {&spec};
    const Attributes attrs(1);
    if (row->infer(OpContext{.row = *row, .in = slots, .attrs = attrs}).at(0).dtype != DType::float32) continue;
    const Errors e = errors_of(*row, x);
    if (e.all <= 0.5) continue;  // correctly rounded
    table += fmt::format("| `{}` | {:.2f} | {:.2f} |\n", row->name, e.near, e.all);
  }
  const std::string path = std::string(PXL_SOURCE_DIR) + "/docs/numerics.md", text = page(path);
  constexpr std::string_view begin = "<!-- ulps -->\n", end = "<!-- end of ulps -->";
  const size_t from = text.find(begin), to = text.find(end);
  REQUIRE(from != text.npos);
  REQUIRE(to != text.npos);
  const size_t first = from + begin.size();
  if (std::getenv("PXL_UPDATE")) {
    std::ofstream(path) << text.substr(0, first) << table << text.substr(to);
    return;
  }
  CHECK_MESSAGE(text.substr(first, to - first) == table, "run PXL_UPDATE=1 build/release/unit_reference\n" << table);
}
