// Each row for all elements of a batch against one element after the other; also for a batch of batches.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "one_op.hpp"
#include "runtime/transform/functions/batch_rules.hpp"
#include "runtime/transform/vectorise.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// An operand of another element. Numbers are scaled. Indices and the like change places. Positions of `_nd` change
/// places as a whole, for they have a coordinate for each axis.
Array operand_of(const OpRow& row, const Array& a, int64_t element) {
  if (is_floating(a.dtype())) {
    Array out = a.cast(DType::float64).clone();
    for (int64_t i = 0; i < out.size(); ++i) out.mutable_data<double>()[i] *= 1.0 - 0.05 * static_cast<double>(element);
    return out.cast(a.dtype());
  }
  Array out(a.dtype(), a.shape());
  const auto width = static_cast<int64_t>(size_of(a.dtype()));
  const int64_t step = row.name.ends_with("_nd") && !a.shape().empty() ? a.shape().back() * element : element;
  for (int64_t i = 0; i < a.size(); ++i)
    std::copy_n(a.raw() + (i + step) % a.size() * width, width, out.mutable_raw() + i * width);
  return out;
}

Array stacked(const std::vector<Array>& parts) {
  Shape shape{static_cast<int64_t>(parts.size())};
  shape.insert(shape.end(), parts[0].shape().begin(), parts[0].shape().end());
  Array all(parts[0].dtype(), shape);
  for (size_t k = 0; k < parts.size(); ++k)
    std::copy_n(parts[k].raw(), parts[k].bytes(), all.mutable_raw() + static_cast<int64_t>(k) * parts[k].bytes());
  return all;
}

bool near(const Array& a, const Array& b, int64_t begin, double tolerance) {
  for (int64_t i = 0; i < b.size(); ++i) {
    const double x = a.number(begin + i), y = b.number(i);
    if (!(std::abs(x - y) <= tolerance * (1 + std::abs(y))) && !(std::isnan(x) && std::isnan(y)) && x != y)
      return false;
  }
  return true;
}

/// Which operands have the axis of a batch.
using Mapped = std::vector<bool>;

Mapped subset(size_t operands, size_t bits) {
  Mapped mapped(operands);
  for (size_t i = 0; i < operands; ++i) mapped[i] = (bits >> i & 1U) != 0;
  return mapped;
}

/// Whether a draw would have one seed for several elements, which is refused.
bool shares_seed(const OneOp& one, const Mapped& mapped) {
  const auto& inputs = one.graph.inputs();
  return std::ranges::any_of(one.graph.ops(), [&](const auto& op) {
    return op->row->batch == Batch::seeds && std::ranges::none_of(op->inputs, [&](const Tensor* t) {
             const auto at = std::ranges::find(inputs, t);
             return t && t->spec.dtype == DType::uint32 && at != inputs.end() &&
                    mapped[static_cast<size_t>(at - inputs.begin())];
           });
  });
}

bool has_calls(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](const auto& op) { return !op->called.empty(); });
}

/// A batch of `inner` elements, and `outer` batches of them if operands have the axis of these too.
struct Case {
  Mapped inner, outer;
  int64_t size = 0;

  bool is_nested() const {
    return std::ranges::any_of(outer, [](bool b) { return b; });
  }
};

/// Checks the values of a case; false if elements run one after the other.
bool check_case(const OpRow& row, const Sample& sample, const Case& c) {
  OneOp one(row, sample);
  const int64_t inner = c.size, outer = c.is_nested() ? 5 - c.size : 1;
  std::vector<Array> operands;
  std::vector<std::vector<Array>> elements(static_cast<size_t>(inner * outer));
  for (size_t i = 0; i < c.inner.size(); ++i) {
    std::vector<Array> batches;
    for (int64_t o = 0; o < outer; ++o) {
      std::vector<Array> parts;
      for (int64_t k = 0; k < inner; ++k) {
        parts.push_back(operand_of(row, one.given[i], (c.outer[i] ? 3 * o : 0) + (c.inner[i] ? k : 0)));
        elements[static_cast<size_t>(o * inner + k)].push_back(parts.back());
      }
      batches.push_back(c.inner[i] ? stacked(parts) : parts[0]);
    }
    operands.push_back(c.outer[i] ? stacked(batches) : batches[0]);
  }
  std::vector<Values> alone;
  try {
    for (const std::vector<Array>& given : elements) alone.push_back(values_of(one.graph, given));
  } catch (const Error&) {
    return true;  // such as indices that other places do not take
  }
  Vectorised v = vectorise(one.graph, inner, c.inner);
  if (has_calls(*v.graph)) return false;
  const std::vector<bool> by_element = v.mapped_outputs;
  if (c.is_nested()) v = vectorise(*v.graph, outer, c.outer);
  if (has_calls(*v.graph)) return false;
  const Values all = values_of(*v.graph, operands);
  for (size_t e = 0; e < alone.size(); ++e)
    for (size_t j = 0; j < v.mapped_outputs.size(); ++j) {
      const Array &y = alone[e].at(one.graph.outputs()[j]), &ys = all.at(v.graph->outputs()[j]);
      if (is_float8(y.dtype())) continue;
      const bool in_batches = c.is_nested() && v.mapped_outputs[j];
      const auto element = static_cast<int64_t>(e);
      const int64_t place =
          (in_batches ? element / inner * (by_element[j] ? inner : 1) : 0) + (by_element[j] ? element % inner : 0);
      CAPTURE(j);
      CAPTURE(e);
      CHECK(near(ys, y, place * y.size(), 2e-5));
    }
  return true;
}

}  // namespace

TEST_CASE("every row for a batch gives what it gives for each element, whichever operands have the batch") {
  std::set<std::string_view> scanned, checked;
  size_t cases = 0;
  for (const OpRow* row : op_table()) {
    if (!is_of_interest(*row)) continue;
    CAPTURE(row->name);
    const OneOp plain(*row, sample_for(*row, DType::float32));
    const size_t count = plain.given.size(), subsets = size_t{1} << count;
    if (!plain.computes() || count == 0) continue;
    const bool has_reason =
        std::ranges::any_of(plain.graph.ops(), [](const auto& op) { return !reason_to_scan(*op->row).empty(); });
    const bool draws =
        std::ranges::any_of(plain.graph.ops(), [](const auto& op) { return op->row->batch == Batch::seeds; });
    const std::vector<Sample> samples = variants_of(*row, DType::float32);
    for (size_t s = 0; s < samples.size(); ++s)
      for (size_t bits = 1; bits < subsets; ++bits)
        for (size_t more = 0; more < subsets; ++more) {
          // Batches of batches of the sample: also of other operands, if these are few.
          const bool others = more != bits && more != (bits ^ (subsets - 1));
          if (more != 0 && (s > 0 || draws || (count > 3 && others))) continue;
          for (const int64_t size : {2, 3}) {
            const Case c{subset(count, bits), subset(count, more), size};
            CAPTURE(s);
            CAPTURE(bits);
            CAPTURE(more);
            CAPTURE(size);
            try {
              if (shares_seed(OneOp(*row, samples[s]), c.inner)) continue;
              const bool at_once = check_case(*row, samples[s], c);
              ++cases;
              if (s == 0 && bits == 1 && more == 0) CHECK((at_once || has_reason));
              if (!at_once && bits == subsets - 1)
                for (const auto& op : plain.graph.ops())
                  if (!reason_to_scan(*op->row).empty() && !op->row->path.empty()) scanned.insert(op->row->name);
              if (at_once)
                for (const auto& op : plain.graph.ops()) checked.insert(op->row->name);
            } catch (const Error& e) {
              FAIL_CHECK(std::string(e.what()));
            }
          }
        }
  }
  for (const OpRow* row : op_table()) {
    const bool runs = row->role == Role::compute && !row->side_effect && row->exchange == Exchange::none;
    if (!runs || !is_of_interest(*row) || row->alias >= 0 || slot_count(*row) == 0) continue;
    CAPTURE(row->name);
    CHECK(reason_to_scan(*row) != "it has no rule");
  }
  std::string names;
  for (const std::string_view name : scanned) names += std::string(name) + " ";
  CAPTURE(names);
  CHECK(scanned.size() <= 10);
  CHECK(checked.size() > 180);
  CHECK(cases > 10000);
}
