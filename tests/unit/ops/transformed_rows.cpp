// Each row in forward mode against reverse mode, and for all elements of a batch against one element after the other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gradient_rows.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/functions/batch_rules.hpp"
#include "runtime/transform/functions/pushforward.hpp"
#include "runtime/transform/vectorise.hpp"
#include "samples.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// A row's sample as a graph of its own.
struct OneOp {
  Ir ir;
  Graph& graph = ir.create_graph("f");
  std::vector<Array> given;  ///< by input

  OneOp(const OpRow& row, DType dtype) {
    GraphOpBuilder at(graph);
    const std::vector<Expr> outputs = at.emit(row, arguments(row, sample_for(row, dtype), [&](const Array& a) {
                                                given.push_back(a);
                                                return at.of(graph.add_input(a.spec(), "x"));
                                              }));
    for (const Expr& e : outputs) graph.add_output(e.tensor());
  }
  bool computes() const {
    return std::ranges::all_of(graph.ops(), [](const auto& op) {
      return op->called.empty() && !op->row->side_effect && op->row->modifies == 0 &&
             op->row->exchange == Exchange::none;
    });
  }
  bool is_narrow() const {
    return std::ranges::any_of(
        graph.tensors(), [](const auto& t) { return is_floating(t->spec.dtype) && t->spec.dtype != DType::float64; });
  }
};

bool is_of_interest(const OpRow& row) {
  return (row.role == Role::compute || row.role == Role::composite) && row.modifies == 0;
}

Values values_of(const Graph& graph, const std::vector<Array>& given) {
  Values v;
  for (size_t i = 0; i < given.size(); ++i) v[graph.inputs()[i]] = given[i];
  return run_graph(graph, std::move(v));
}

double product(const Array& a, const Array& b) {
  double total = 0;
  for (int64_t i = 0; i < a.size(); ++i) total += a.number(i) * b.number(i);
  return total;
}

}  // namespace

// <dy, J t> is <J^T dy, t>.
TEST_CASE("forward mode agrees with reverse mode on every row") {
  std::set<std::string_view> checked;
  for (const OpRow* row : op_table()) {
    if (!is_of_interest(*row) || (row->role == Role::compute && !row->gradient)) continue;
    if (has_constant_operand(row->name)) continue;
    CAPTURE(row->name);
    try {
      OneOp one(*row, DType::float64);
      if (!one.computes()) continue;
      std::vector<bool> has(one.given.size());
      for (size_t i = 0; i < has.size(); ++i) has[i] = one.given[i].dtype() == DType::float64;
      const bool differentiable =
          std::ranges::all_of(one.graph.ops(), [](const auto& op) { return op->row->gradient != nullptr; });
      if (!differentiable || std::ranges::none_of(has, [](bool b) { return b; })) continue;
      const Pushforward forward = pushforward(one.graph, has);
      std::vector<Array> operands = one.given, tangents(one.given.size());
      for (size_t i = 0; i < has.size(); ++i)
        if (has[i]) operands.push_back(tangents[i] = numbers(DType::float64, one.given[i].shape(), 5));
      const Values pushed = values_of(*forward.graph, operands);

      std::vector<Tensor*> provided;
      double ahead = 0;
      for (size_t j = 0; j < forward.tangent.size(); ++j) {
        if (!forward.tangent[j]) continue;
        provided.push_back(one.graph.outputs()[j]);
        const Array dy = numbers(provided.back()->spec.dtype, provided.back()->spec.shape, static_cast<int>(j));
        ahead += product(dy, pushed.at(forward.graph->outputs()[*forward.tangent[j]]));
      }
      if (provided.empty()) continue;
      const std::vector<Tensor*> declared = one.graph.outputs();
      const GradGraphInfoPtr back = autodiff(one.graph, provided);
      const Values values = values_of(one.graph, one.given);
      std::vector<Array> inputs;
      for (const ExpectedConnection& c : back->expected_inputs) {
        const auto j = static_cast<int>(std::ranges::find(declared, c.fwd_tensor) - declared.begin());
        inputs.push_back(c.type == ConnectionType::fwd
                             ? values.at(c.fwd_tensor)
                             : numbers(c.fwd_tensor->spec.dtype, c.fwd_tensor->spec.shape, j));
      }
      const Values pulled = values_of(*back->graph, inputs);
      double behind = 0;
      for (size_t k = 0; k < back->expected_outputs.size(); ++k) {
        const auto i = static_cast<size_t>(std::ranges::find(one.graph.inputs(), back->expected_outputs[k].fwd_tensor) -
                                           one.graph.inputs().begin());
        if (has[i]) behind += product(pulled.at(back->graph->outputs()[k]), tangents[i]);
      }
      CHECK(ahead == doctest::Approx(behind).epsilon(one.is_narrow() ? 1e-3 : 1e-9));
      for (const auto& op : one.graph.ops()) checked.insert(op->row->name);
    } catch (const Error& e) {
      FAIL_CHECK(std::string(e.what()));
    }
  }
  CHECK(checked.size() > 150);
}

namespace {

constexpr int64_t batch = 3;

/// An operand of another element: numbers are scaled, indices and the like change places.
Array operand_of(const OpRow& row, const Array& a, int64_t element) {
  if (is_floating(a.dtype())) {
    Array out = a.cast(DType::float64).clone();
    for (int64_t i = 0; i < out.size(); ++i) out.mutable_data<double>()[i] *= 1.0 - 0.05 * static_cast<double>(element);
    return out.cast(a.dtype());
  }
  if (row.name.ends_with("_nd")) return a;  // positions have a coordinate for each axis
  Array out(a.dtype(), a.shape());
  const auto width = static_cast<int64_t>(size_of(a.dtype()));
  for (int64_t i = 0; i < a.size(); ++i)
    std::copy_n(a.raw() + (i + element) % a.size() * width, width, out.mutable_raw() + i * width);
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

}  // namespace

TEST_CASE("every row for a batch gives what it gives for each element; ten rows are scans") {
  std::set<std::string_view> scanned, checked;
  for (const OpRow* row : op_table()) {
    if (!is_of_interest(*row)) continue;
    CAPTURE(row->name);
    const OneOp plain(*row, DType::float32);
    if (!plain.computes() || plain.given.empty()) continue;
    // All operands are of the batch, or one of them.
    for (size_t which = 0; which <= plain.given.size(); ++which) {
      CAPTURE(which);
      OneOp one(*row, DType::float32);
      std::vector<bool> mapped(one.given.size(), which == one.given.size());
      if (which < mapped.size()) mapped[which] = true;
      const bool shares_seed = std::ranges::any_of(one.graph.ops(), [&](const auto& op) {
        return op->row->batch == Batch::seeds && std::ranges::none_of(op->inputs, [&](const Tensor* t) {
                 const auto at = std::ranges::find(one.graph.inputs(), t);
                 return t && t->spec.dtype == DType::uint32 && at != one.graph.inputs().end() &&
                        mapped[static_cast<size_t>(at - one.graph.inputs().begin())];
               });
      });
      if (shares_seed) continue;
      std::vector<Array> operands;
      std::vector<std::vector<Array>> elements(batch);
      for (size_t i = 0; i < mapped.size(); ++i) {
        std::vector<Array> parts;
        for (int64_t k = 0; k < batch; ++k) {
          parts.push_back(mapped[i] ? operand_of(*row, one.given[i], k) : one.given[i]);
          elements[static_cast<size_t>(k)].push_back(parts.back());
        }
        operands.push_back(mapped[i] ? stacked(parts) : one.given[i]);
      }
      try {
        const Vectorised v = vectorise(one.graph, batch, mapped);
        const bool scan = std::ranges::any_of(v.graph->ops(), [](const auto& op) { return !op->called.empty(); });
        if (scan && which == one.given.size())
          for (const auto& op : one.graph.ops())
            if (!reason_to_scan(*op->row).empty() && !op->row->path.empty()) scanned.insert(op->row->name);
        const bool has_reason =
            std::ranges::any_of(one.graph.ops(), [](const auto& op) { return !reason_to_scan(*op->row).empty(); });
        if (which == 0) CHECK(scan <= has_reason);
        if (scan) continue;
        const Values all = values_of(*v.graph, operands);
        for (int64_t k = 0; k < batch; ++k) {
          const Values alone = values_of(one.graph, elements[static_cast<size_t>(k)]);
          for (size_t j = 0; j < v.mapped_outputs.size(); ++j) {
            const Array &y = alone.at(one.graph.outputs()[j]), &ys = all.at(v.graph->outputs()[j]);
            if (is_float8(y.dtype())) continue;
            if (j > 0 && row->name.ends_with("normalization_grad")) continue;  // mean and deviation follow the data
            CAPTURE(j);
            CHECK(near(ys, y, v.mapped_outputs[j] ? k * y.size() : 0, 2e-5));
          }
        }
        for (const auto& op : one.graph.ops()) checked.insert(op->row->name);
      } catch (const Error& e) {
        FAIL_CHECK(std::string(e.what()));
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
}
