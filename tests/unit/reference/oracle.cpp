// Every kernel against its definition: each row, each dtype that it takes, many shapes, values and attributes.
#include "oracle.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "coverage.hpp"
#include "draw.hpp"
#include "runtime/kernels/update/update.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

constexpr int draws = 60;  // of a row and dtype

// Whether a parameter says how a result is computed.
bool counts(const Param& p) {
  return !is_operand(p.kind) && !p.doc.starts_with("not used") && p.kind != ParamKind::dtype;
}

}  // namespace

TEST_CASE("a kernel with a wrong sign is caught") {
  // Rows of the table with the kernel of a relative.
  OpRow wrong_sum = get_op("add"), wrong_update = get_op("scaled_add"), wrong_extremum = get_op("max");
  wrong_sum.kernel = get_op("sub").kernel;
  wrong_update.kernel = [](const OpContext& s) {
    return scaled_add_kernel(s.input(0), s.input(1), Scalar::of(1.0), Scalar::of(-1.0));
  };
  wrong_extremum.kernel = get_op("min").kernel;
  for (const OpRow* row : {&wrong_sum, &wrong_update, &wrong_extremum}) {
    int caught = 0;
    for (uint64_t seed = 0; seed < draws; ++seed)
      caught += !compare(*row, Draw(*row, DType::float32, seed, false).sample()).difference.empty();
    CHECK_MESSAGE(caught > draws / 3, row->name, ": ", caught);
  }
}

namespace {

/// A kernel rounds where its definition rounds: once, from a wider dtype, or at each step. Then few float16 elements
/// differ, by errors of the wider dtype. A row with a larger share of such elements has two meanings.
constexpr double seldom = 0.01;
/// Rows with two meanings, each with the reason why that is right. There are none.
struct Decision {
  std::string_view row, why;
};
constexpr std::array<Decision, 0> decisions;

}  // namespace

TEST_CASE("kernels agree with the definitions of their rows") {
  const char* only = std::getenv("PXL_ORACLE_ONLY");
  size_t parameters = 0, varied = 0;
  Coverage coverage;
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute || !row->kernel) continue;
    if (only && row->name != only) continue;
    std::string first;
    std::vector<std::vector<Attr>> values(row->params.size());
    int64_t halves = 0, other_halves = 0;
    for (const DTypeRow& dtype : dtype_table()) {
      for (uint64_t seed = 0; seed < draws; ++seed) {
        Draw draw(*row, dtype.dtype, seed * 977 + static_cast<uint64_t>(dtype.dtype), seed % 3 == 2);
        const Verdict v = compare(*row, draw.sample());
        if (!v.taken) continue;
        halves += v.halves, other_halves += v.other_halves;
        coverage.add(*row, dtype.dtype, v.attrs);
        for (size_t i = 0; i < v.attrs.size(); ++i)
          if (std::find(values[i].begin(), values[i].end(), v.attrs[i]) == values[i].end())
            values[i].push_back(v.attrs[i]);
        if (!v.difference.empty() && first.empty())
          first = fmt::format("{}, {}, draw {}: {}", row->name, dtype.name, seed, v.difference);
      }
    }
    CHECK_MESSAGE(first.empty(), first);
    const double share = static_cast<double>(other_halves) / static_cast<double>(std::max<int64_t>(halves, 1));
    const bool decided =
        std::any_of(decisions.begin(), decisions.end(), [&](const Decision& d) { return d.row == row->name; });
    CHECK_MESSAGE((share > seldom) == decided, row->name, ": of ", halves, " float16 elements ", other_halves,
                  " are not the definition's");
    CHECK_MESSAGE(coverage.samples_of(*row) >= 20, row->name, " has too few samples: ", coverage.samples_of(*row));
    for (size_t i = 0; i < row->params.size(); ++i)
      if (counts(row->params[i]) && !row->side_effect && row->params[i].name != "output_name") {
        ++parameters;
        varied += values[i].size() >= 2;
        if (values[i].size() < 2) MESSAGE(row->name, " was not tried with other values of ", row->params[i].name);
      }
  }
  MESSAGE(fmt::format("of {} attributes {} were varied; {}", parameters, varied, coverage.text()));
}
