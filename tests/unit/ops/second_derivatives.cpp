// Derivatives of every row up to the third, in forward mode and in reverse mode, against each other and differences.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "gradient_rows.hpp"
#include "one_op.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/functions/pushforward.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// A graph and values of its inputs; `moves`: the inputs that it is differentiated by.
struct Evaluation {
  Graph* graph = nullptr;
  std::vector<Array> given = {};

  bool moves(size_t i) const { return given[i].dtype() == DType::float64; }
  std::vector<bool> moving() const {
    std::vector<bool> all;
    for (size_t i = 0; i < given.size(); ++i) all.push_back(moves(i));
    return all;
  }
};

Array direction(const Shape& shape, int seed) {
  Array a = numbers(DType::float64, shape, seed);
  for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<double>()[i] -= 1.1;
  return a;
}

double inner_product(const Array& a, const Array& b) {
  double total = 0;
  for (int64_t i = 0; i < a.size(); ++i) total += a.number(i) * b.number(i);
  return total;
}

bool is_narrow(const Graph& graph) {
  return std::ranges::any_of(
      graph.tensors(), [](const auto& t) { return is_floating(t->spec.dtype) && t->spec.dtype != DType::float64; });
}

/// Values and tangents, with tangents as further inputs.
std::optional<Evaluation> forward_of(const Evaluation& e) {
  const std::vector<bool> has = e.moving();
  Evaluation made{pushforward(*e.graph, has).graph, e.given};
  for (size_t i = 0; i < e.given.size(); ++i)
    if (has[i]) made.given.push_back(direction(e.given[i].shape(), static_cast<int>(i) + 3));
  return made;
}

/// Copies the ops of a graph whose inputs are known.
void copy_ops(const Graph& from, Graph& to, std::map<const Tensor*, Tensor*>& here) {
  const auto at = [&](Tensor* t) {
    Tensor*& found = here[t];
    if (!found) found = to.add_constant(t->data, t->name);
    return found;
  };
  for (const auto& op : from.ops()) {
    std::vector<Tensor*> inputs;
    for (Tensor* t : op->inputs) inputs.push_back(t ? at(t) : nullptr);
    const Op* copied = to.copy_op(*op, std::move(inputs), {}, nullptr);
    for (size_t j = 0; j < op->outputs.size(); ++j) here[op->outputs[j]] = copied->outputs[j];
  }
  for (size_t j = 0; j < from.declared_outputs(); ++j) to.add_output(at(from.outputs()[j]));
}

/// The graph and its gradient in one, with the gradients of the outputs as further inputs; none if it has no gradient.
std::optional<Evaluation> gradient_of(const Evaluation& e) {
  const Graph& graph = *e.graph;
  const Pushforward forward = pushforward(*e.graph, e.moving());
  std::vector<Tensor*> provided;
  for (size_t j = 0; j < forward.tangent.size(); ++j)
    if (forward.tangent[j]) provided.push_back(graph.outputs()[j]);
  if (provided.empty()) return {};
  const GradGraphInfoPtr back = autodiff(*e.graph, provided);
  Evaluation made{&e.graph->ir().create_graph("both"), e.given};
  std::map<const Tensor*, Tensor*> here, there;
  for (Tensor* t : graph.inputs()) here[t] = made.graph->add_input(t->spec, t->name);
  copy_ops(graph, *made.graph, here);
  for (size_t i = 0; i < back->expected_inputs.size(); ++i) {
    const ExpectedConnection& c = back->expected_inputs[i];
    Tensor*& t = there[back->graph->inputs()[i]];
    if (c.type == ConnectionType::fwd) {
      t = here.at(c.fwd_tensor);
    } else {
      const TensorSpec& spec = c.fwd_tensor->spec;
      made.given.push_back(direction(spec.shape, static_cast<int>(i)).cast(spec.dtype));
      t = made.graph->add_input(spec, "dy");
    }
  }
  copy_ops(*back->graph, *made.graph, there);
  return made;
}

/// Checks derivatives of a graph in both modes, and by differences if asked: each output's along one direction.
void check_derivatives(const Evaluation& e, bool by_differences) {
  Graph& graph = *e.graph;
  const std::vector<Tensor*> outputs = graph.outputs();
  const size_t declared = graph.declared_outputs();  // others are kept for gradients
  const std::vector<bool> has = e.moving();
  std::vector<Array> along, operands = e.given;
  const bool narrow = is_narrow(graph);
  const double h = narrow ? 1e-2 : 1e-5, tolerance = narrow ? 5e-3 : 2e-6;
  std::vector<Array> low = e.given, high = e.given;
  for (size_t i = 0; i < e.given.size(); ++i) {
    along.push_back(direction(e.given[i].shape(), static_cast<int>(i) + 7));
    if (!has[i]) continue;
    operands.push_back(along[i]);
    low[i] = e.given[i].clone(), high[i] = e.given[i].clone();
    for (int64_t k = 0; k < along[i].size(); ++k) {
      low[i].mutable_data<double>()[k] -= h * along[i].number(k);
      high[i].mutable_data<double>()[k] += h * along[i].number(k);
    }
  }
  const Pushforward forward = pushforward(graph, has);
  const Values pushed = values_of(*forward.graph, operands), values = values_of(graph, e.given);
  const Values below = values_of(graph, low), above = values_of(graph, high);
  for (size_t j = 0; j < declared; ++j) {
    Tensor* y = outputs[j];
    if (!is_floating(y->spec.dtype)) continue;
    CAPTURE(j);
    const Array tangent = forward.tangent[j] ? pushed.at(forward.graph->outputs()[*forward.tangent[j]])
                                             : Array::zeros(y->spec.dtype, y->spec.shape);
    double scale = 1;
    for (int64_t k = 0; k < tangent.size(); ++k) scale = std::max(scale, std::abs(tangent.number(k)));
    for (int64_t k = 0; by_differences && k < tangent.size(); ++k) {
      const double expected = (above.at(y).number(k) - below.at(y).number(k)) / (2 * h);
      CAPTURE(k);
      CAPTURE(tangent.number(k));
      CAPTURE(expected);
      CHECK(std::abs(tangent.number(k) - expected) <= tolerance * scale);
    }
    if (!forward.tangent[j]) continue;
    const Array dy = direction(y->spec.shape, static_cast<int>(j)).cast(y->spec.dtype);
    const GradGraphInfoPtr back = autodiff(graph, std::vector<Tensor*>{y});
    std::vector<Array> inputs;
    for (const ExpectedConnection& c : back->expected_inputs)
      inputs.push_back(c.type == ConnectionType::fwd ? values.at(c.fwd_tensor) : dy);
    const Values pulled = values_of(*back->graph, inputs);
    double behind = 0;
    for (size_t k = 0; k < back->expected_outputs.size(); ++k) {
      const auto i = static_cast<size_t>(std::ranges::find(graph.inputs(), back->expected_outputs[k].fwd_tensor) -
                                         graph.inputs().begin());
      if (has[i]) behind += inner_product(pulled.at(back->graph->outputs()[k]), along[i]);
    }
    CHECK(inner_product(dy, tangent) == doctest::Approx(behind).epsilon(narrow ? 1e-3 : 1e-8));
  }
}

/// Whether values may be written at one place: the last one stays, but each gets the gradient.
bool writes_twice(const OpRow& row, const Sample& sample) {
  const auto reduction = sample.attrs.find("reduction");
  return row.name.starts_with("scatter_") &&
         (reduction == sample.attrs.end() ? row.name == "scatter_nd" : reduction->second == Attr(std::string("none")));
}

}  // namespace

TEST_CASE("derivatives of derivatives of every row agree with differences, and forward mode with reverse mode") {
  std::set<std::string_view> checked, refused;
  for (const OpRow* row : op_table()) {
    if (!is_of_interest(*row) || (row->role == Role::compute && !row->gradient)) continue;
    if (has_constant_operand(row->name)) continue;
    const bool by_differences = !by_definition_other(row->name);
    CAPTURE(row->name);
    const std::vector<Sample> samples = variants_of(*row, DType::float64);
    for (size_t s = 0; s < samples.size(); ++s)
      for (const auto derivative : {forward_of, gradient_of}) {
        CAPTURE(s);
        CAPTURE(derivative == forward_of);
        try {
          OneOp one(*row, samples[s]);
          const Evaluation sample{&one.graph, one.given};
          const bool moves = std::ranges::any_of(one.given, [](const Array& a) { return a.dtype() == DType::float64; });
          if (!moves || !one.computes() || (s > 0 && writes_twice(*row, samples[s]))) continue;
          if (derivative == forward_of) check_derivatives(sample, by_differences);
          const std::optional<Evaluation> second = derivative(sample);
          if (!second) continue;
          check_derivatives(*second, by_differences);
          if (s == 0)
            for (const auto again : {forward_of, gradient_of})
              if (const std::optional<Evaluation> third = again(*second)) check_derivatives(*third, by_differences);
          for (const auto& op : one.graph.ops()) checked.insert(op->row->name);
        } catch (const Error& e) {
          CAPTURE(std::string(e.what()));
          refused.insert(row->name);
          CHECK(code_of(e.first()) == codes::gradient);
        }
      }
  }
  // A reduction of these has no gradient, or a row beside the loss that is its gradient.
  CHECK(refused == std::set<std::string_view>{"all_reduce", "cross_entropy_with_grad", "nll_loss_with_softmax_grad",
                                              "scatter_nd"});
  CHECK(checked.size() > 175);
}
