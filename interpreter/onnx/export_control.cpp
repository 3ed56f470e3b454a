// Exports loops and branches as nodes that contain graphs.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "interpreter/onnx/exporter.hpp"

#include "runtime/base/never_destroyed.hpp"
#include "runtime/graph/call_operands.hpp"

namespace pxl::onnx {

Graph Exporter::body(const std::function<void()>& fill, const std::string& name) {
  Graph graph;
  graph.name = name;
  Graph* outer = std::exchange(out_, &graph);
  fill();
  out_ = outer;
  return graph;
}

void Exporter::result(const std::string& value, const TensorSpec& spec) {
  out_->outputs.push_back(value_info(several("Identity", {value}, {}, {"result"}).front(), spec));
}

void Exporter::take_outputs(const Op& op, const std::string& node, Texts inputs, std::vector<Attribute> attributes,
                            Frame& frame) {
  Texts wanted;
  for (const Tensor* t : op.outputs) wanted.push_back(t->name);
  const Texts out = several(node, std::move(inputs), std::move(attributes), wanted);
  for (size_t i = 0; i < out.size(); ++i) frame[op.outputs[i]] = out[i];
}

std::string Exporter::parameter(const std::string& wanted, const TensorSpec& spec) {
  out_->inputs.push_back(value_info(unique(wanted), spec));
  return out_->inputs.back().name;
}

// A call becomes the callee's ops. A scan becomes a Scan, or a Loop if it has no sequence to iterate over.
void Exporter::add_call(const Op& op, Frame& frame) {
  const pxl::Graph& callee = *op.called[0];
  if (const auto form = scan_form(callee); form && !form->counted) return add_scan(op, *form, frame);
  Frame inner;
  for (size_t i = 0; i < callee.inputs().size(); ++i) inner[callee.inputs()[i]] = name_of(op.inputs[i], frame);
  add_ops(callee, inner);
  for (size_t i = 0; i < op.outputs.size(); ++i) frame[memory_of(op.outputs[i])] = name_of(callee.outputs()[i], inner);
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (op.modifies(i)) change(op.inputs[i], name_of(callee.inputs()[i], inner), frame);
}

namespace {

const auto &iteration_spec = never_destroyed(TensorSpec{{}, DType::int64, {}}),
           &condition_spec = never_destroyed(TensorSpec{{}, DType::boolean, {}});

}  // namespace

void Exporter::add_scan(const Op& op, const ScanForm& form, Frame& frame) {
  const pxl::Graph& step = *form.step;
  const size_t results = form.carried + form.stacked, sums = step.declared_outputs() - results;
  const bool as_loop = form.sliced == 0;
  Graph inside = body(
      [&] {
        if (as_loop) parameter("iteration", iteration_spec);
        const std::string go = as_loop ? parameter("condition", condition_spec) : "";
        Frame inner;
        for (size_t i = 0; i < form.carried; ++i)
          inner[step.inputs()[i]] = parameter(step.inputs()[i]->name, step.inputs()[i]->spec);
        Texts before;  // sums
        for (size_t j = results; j < results + sums; ++j)
          before.push_back(parameter(step.outputs()[j]->name + "_sum", step.outputs()[j]->spec));
        for (size_t i = form.carried; i < step.inputs().size(); ++i)
          inner[step.inputs()[i]] = i < form.carried + form.sliced
                                        ? parameter(step.inputs()[i]->name, step.inputs()[i]->spec)
                                        : name_of(op.inputs[i], frame);
        add_ops(step, inner);
        const auto given = [&](size_t j) { return name_of(step.outputs()[j], inner); };
        if (as_loop) result(go, condition_spec);
        for (size_t j = 0; j < form.carried; ++j) result(given(j), step.outputs()[j]->spec);
        for (size_t j = 0; j < sums; ++j)
          result(add("Add", {before[j], given(results + j)}), step.outputs()[results + j]->spec);
        for (size_t j = form.carried; j < results; ++j) result(given(j), step.outputs()[j]->spec);
      },
      step.name());
  Texts inputs, wanted;
  if (as_loop)
    inputs = {initialiser("count", Array::scalar<int64_t>(form.count)),
              initialiser("always", Array::scalar<bool>(true))};
  for (size_t i = 0; i < form.carried; ++i) inputs.push_back(name_of(op.inputs[i], frame));
  for (size_t j = results; j < results + sums; ++j) {
    const TensorSpec& spec = step.outputs()[j]->spec;
    inputs.push_back(initialiser("zeros", Array::zeros(spec.dtype, spec.shape)));
  }
  for (size_t i = form.carried; i < form.carried + form.sliced; ++i) inputs.push_back(name_of(op.inputs[i], frame));
  std::vector<Attribute> attributes{attribute("body", std::move(inside))};
  if (!as_loop) {
    attributes.push_back(attribute("num_scan_inputs", static_cast<int64_t>(form.sliced)));
    if (form.reversed) {
      attributes.push_back(attribute("scan_input_directions", Ints(form.sliced, 1)));
      if (form.stacked > 0) attributes.push_back(attribute("scan_output_directions", Ints(form.stacked, 1)));
    }
  }
  // The node's outputs are carried tensors, sums, stacks. The op's outputs are carried tensors, stacks, sums.
  std::vector<const Tensor*> order(op.outputs.begin(), op.outputs.end());
  std::rotate(order.begin() + static_cast<ptrdiff_t>(form.carried), order.begin() + static_cast<ptrdiff_t>(results),
              order.begin() + static_cast<ptrdiff_t>(results + sums));
  for (size_t j = 0; j < results + sums; ++j) wanted.push_back(order[j]->name);
  const Texts out = several(as_loop ? "Loop" : "Scan", std::move(inputs), std::move(attributes), wanted);
  for (size_t j = 0; j < out.size(); ++j) {
    const bool backwards = as_loop && form.reversed && j >= form.carried + sums;
    frame[memory_of(order[j])] =
        backwards
            ? add("Slice", {out[j], ints({-1}), ints({std::numeric_limits<int64_t>::min() / 2}), ints({0}), ints({-1})})
            : out[j];
  }
}

void Exporter::add_loop(const Op& op, Frame& frame) {
  const pxl::Graph& callee = *op.called[0];
  const auto condition = loop_condition(op);
  // Carried: what each iteration returns, and what it changes in place.
  std::vector<size_t> carried;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (i >= op.outputs.size() && !op.modifies(i)) continue;
    if (i >= op.outputs.size()) check_change(op.inputs[i]);
    carried.push_back(i);
  }
  Graph inside = body(
      [&] {
        parameter("iteration", iteration_spec);
        const std::string go = parameter("condition", condition_spec);
        Frame inner;
        for (size_t i = 0; i < callee.inputs().size(); ++i) inner[callee.inputs()[i]] = name_of(op.inputs[i], frame);
        for (size_t i : carried)
          inner[callee.inputs()[i]] = parameter(callee.inputs()[i]->name, callee.inputs()[i]->spec);
        add_ops(callee, inner);
        result(condition ? name_of(callee.outputs()[*condition], inner) : go, condition_spec);
        for (size_t i : carried) {
          const Tensor* next = i < op.outputs.size() ? callee.outputs()[i] : callee.inputs()[i];
          result(name_of(next, inner), next->spec);
        }
      },
      callee.name());
  // A Loop ends at its trip count without an error, and a loop with a condition fails at its bound: it has none.
  Texts inputs{condition ? "" : initialiser("count", Array::scalar<int64_t>(iteration_limit(op))),
               condition ? name_of(op.inputs[*condition], frame) : initialiser("always", Array::scalar<bool>(true))},
      wanted;
  for (size_t i : carried) {
    inputs.push_back(name_of(op.inputs[i], frame));
    wanted.push_back(i < op.outputs.size() ? op.outputs[i]->name : op.inputs[i]->name);
  }
  const Texts out = several("Loop", std::move(inputs), {attribute("body", std::move(inside))}, wanted);
  for (size_t k = 0; k < carried.size(); ++k) {
    if (carried[k] < op.outputs.size())
      frame[memory_of(op.outputs[carried[k]])] = out[k];
    else
      change(op.inputs[carried[k]], out[k], frame);
  }
}

void Exporter::add_branch(const Op& op, Frame& frame) {
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (op.modifies(i)) throw NoForm{fmt::format("a branch changes `{}` in place", op.inputs[i]->name)};
  size_t at = 1;
  std::vector<Attribute> bodies;
  for (size_t which = 0; which < 2; ++which) {
    const pxl::Graph& callee = *op.called[which];
    Frame inner;
    for (const Tensor* t : callee.inputs()) inner[t] = name_of(op.inputs[at++], frame);
    Graph inside = body(
        [&] {
          add_ops(callee, inner);
          for (size_t i = 0; i < op.outputs.size(); ++i)
            result(name_of(callee.outputs()[i], inner), op.outputs[i]->spec);
        },
        callee.name());
    bodies.push_back(attribute(which == 0 ? "then_branch" : "else_branch", std::move(inside)));
  }
  take_outputs(op, "If", {name_of(op.inputs[0], frame)}, std::move(bodies), frame);
}

}  // namespace pxl::onnx
