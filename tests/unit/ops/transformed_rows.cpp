// Each row in forward mode against reverse mode.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gradient_rows.hpp"
#include "one_op.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/functions/pushforward.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

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
      OneOp one(*row, sample_for(*row, DType::float64));
      if (!one.computes()) continue;
      std::vector<bool> has(one.given.size());
      for (size_t i = 0; i < has.size(); ++i) has[i] = one.given[i].dtype() == DType::float64;
      if (!one.is_differentiable() || std::ranges::none_of(has, [](bool b) { return b; })) continue;
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
