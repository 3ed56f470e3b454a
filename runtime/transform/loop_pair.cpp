#include "runtime/transform/loop_pair.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostic.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/rebuild.hpp"
#include "runtime/transform/recompute.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

size_t index_in(const std::vector<Tensor*>& list, const Tensor* t) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), t) - list.begin());
}

Shape stacked(int64_t n, const Shape& shape) {
  Shape all{n};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

Expr position(OpBuilder& at, int64_t value) { return at.constant(Array::full_int(DType::int32, {1}, value), "index"); }

Op* add_loop(Graph& graph, Graph& body, std::vector<Tensor*> inputs, int64_t n) {
  const OpRow& row = get_op("loop");
  Attributes attrs(row.params.size());
  attrs[param_index(row, "count")] = n;
  return graph.add_control(row, {&body}, std::move(inputs), std::move(attrs));
}

/// Buffers [n, ...] with the values of each iteration, and the repeat that fills them.
struct Kept {
  Op* loop = nullptr;
  std::vector<Tensor*> memory;
};

class LoopPairBuilder {
 public:
  /// `in_place`: the first repeat modifies the buffers by reference; otherwise it carries them.
  LoopPairBuilder(const LongLoop& loop, bool in_place)
      : loop_(loop),
        body_(*loop.body),
        ins_(body_.inputs()),
        carried_(body_.declared_outputs()),
        in_place_(in_place),
        graph_(body_.ir().create_graph(body_.title() + "_backward")),
        at_(graph_) {}

  LoopPair build() {
    std::vector<std::pair<Tensor*, size_t>> inputs;
    for (size_t i = 0; i < ins_.size(); ++i) {
      operands_.push_back(graph_.add_input(ins_[i]->spec, ins_[i]->name));
      inputs.emplace_back(operands_.back(), i);
    }
    for (size_t i = 0; i < carried_; ++i) {
      gradients_.push_back(is_floating(ins_[i]->spec.dtype) ? graph_.add_input(ins_[i]->spec, "gradient") : nullptr);
      if (gradients_.back()) inputs.emplace_back(gradients_.back(), ins_.size() + i);
    }
    for (const ExpectedConnection& c : loop_.info->expected_inputs) {
      const size_t i = index_in(ins_, c.fwd_tensor);
      if (c.type == ConnectionType::fwd && (i < carried_ || i == ins_.size())) values_.push_back(c.fwd_tensor);
    }
    const Kept kept = keep_iterations();
    LoopPair pair;
    pair.graph = &graph_;
    pair.slots = reverse(kept);
    graph_.prune(0);
    for (const Tensor* t : graph_.inputs())
      for (const auto& [input, role] : inputs)
        if (input == t) pair.roles.push_back(role);
    return pair;
  }

 private:
  /// Repeats the iterations and stores `values_` of each: carried inputs, and outputs of the body.
  Kept keep_iterations() {
    Kept kept;
    if (values_.empty()) return kept;
    Graph& made = body_.ir().create_graph(body_.title() + "_stash");
    GraphOpBuilder at(made);
    std::vector<Tensor*> given, inputs;
    const auto pass = [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) {
        given.push_back(made.add_input(ins_[i]->spec, ins_[i]->name));
        inputs.push_back(operands_[i]);
      }
    };
    std::vector<Tensor*> here;  // the buffers inside the body
    const auto pass_memory = [&] {
      for (const Tensor* value : values_) {
        const TensorSpec spec{stacked(loop_.count, value->spec.shape), value->spec.dtype, {}};
        kept.memory.push_back(at_.one("init", {}, {{"shape", spec.shape}, {"dtype", spec.dtype}}).tensor());
        inputs.push_back(kept.memory.back());
        here.push_back(made.add_input(spec, value->name + "_stash", in_place_));
      }
    };
    pass(0, carried_);
    Tensor* index = made.add_input({{1}, DType::int32, {}}, "index");
    inputs.push_back(position(at_, 0).tensor());
    if (!in_place_) pass_memory();  // carried tensors come first
    pass(carried_, ins_.size());
    const Op* call = made.add_call(body_, given);
    if (in_place_) pass_memory();

    for (size_t k = 0; k < values_.size(); ++k) {
      const size_t i = index_in(ins_, values_[k]);
      Tensor* now = i < given.size() ? given[i] : call->outputs.at(index_in(body_.outputs(), values_[k]));
      const Expr row = reshape(at.of(now), stacked(1, values_[k]->spec.shape));
      here[k] = at.one(in_place_ ? "dynamic_update_" : "dynamic_update", {at.of(here[k]), at.of(index), row},
                       {{"axes", Ints{0}}, {"sizes", Ints{1}}})
                    .tensor();
    }
    for (size_t i = 0; i < carried_; ++i) made.add_output(call->outputs[i]);
    made.add_output((at.of(index) + position(at, 1)).tensor());
    if (!in_place_)
      for (Tensor* memory : here) made.add_output(memory);
    kept.loop = add_loop(graph_, made, std::move(inputs), loop_.count);
    if (!in_place_)
      for (size_t k = 0; k < values_.size(); ++k) kept.memory[k] = kept.loop->outputs.at(carried_ + 1 + k);
    return kept;
  }

  /// The reversed repeat; its wanted results become the graph's outputs. Returns their slots.
  std::vector<size_t> reverse(const Kept& kept) {
    Graph& made = body_.ir().create_graph(body_.title() + "_reverse");
    GraphOpBuilder at(made);
    std::vector<Tensor*> inputs;
    const auto takes = [&](const TensorSpec& spec, const std::string& name, Tensor* operand) {
      inputs.push_back(operand);
      return made.add_input(spec, name);
    };
    const auto zeros = [](Graph& graph, const TensorSpec& spec) {
      return graph.add_constant(Array::zeros(spec.dtype, spec.shape), "zeros");
    };
    // Carried: gradients of carried tensors, sums for the invariant ones, and the iteration.
    std::vector<Tensor*> state(ins_.size(), nullptr);
    for (size_t i = 0; i < carried_; ++i)
      if (gradients_[i]) state[i] = takes(ins_[i]->spec, "gradient", gradients_[i]);
    for (const ExpectedConnection& c : loop_.info->expected_outputs)
      if (const size_t i = index_in(ins_, c.fwd_tensor); i >= carried_ && i < ins_.size() && loop_.wanted[i])
        state[i] = takes(ins_[i]->spec, "sum", zeros(graph_, ins_[i]->spec));
    Tensor* index = takes({{1}, DType::int32, {}}, "index", position(at_, loop_.count - 1).tensor());

    std::vector<Tensor*> given;
    for (const ExpectedConnection& c : loop_.info->expected_inputs) {
      const TensorSpec& spec = c.fwd_tensor->spec;
      if (c.type == ConnectionType::fwd_grad) {
        Expr total;  // several terms if the body returns the tensor twice
        for (size_t i = 0; i < carried_; ++i)
          if (body_.outputs()[i] == c.fwd_tensor) total = total ? total + at.of(state[i]) : at.of(state[i]);
        given.push_back(total.tensor());
        continue;
      }
      const size_t k = index_in(values_, c.fwd_tensor);
      if (k == values_.size()) {
        given.push_back(takes(spec, c.fwd_tensor->name, operands_[index_in(ins_, c.fwd_tensor)]));
        continue;
      }
      Tensor* memory = takes(kept.memory[k]->spec, c.fwd_tensor->name + "_stash", kept.memory[k]);
      const Expr slice =
          at.one("dynamic_slice", {at.of(memory), at.of(index)}, {{"axes", Ints{0}}, {"sizes", Ints{1}}});
      given.push_back(reshape(slice, spec.shape).tensor());
    }
    const Op* call = made.add_call(*loop_.info->graph, given);
    std::vector<Tensor*> found(ins_.size(), nullptr);
    for (size_t k = 0; k < loop_.info->expected_outputs.size(); ++k)
      if (const size_t i = index_in(ins_, loop_.info->expected_outputs[k].fwd_tensor); i < ins_.size())
        found[i] = call->outputs.at(k);
    std::vector<size_t> states;  // the tensor whose gradient each carried tensor is
    for (size_t i = 0; i < ins_.size(); ++i) {
      if (!state[i]) continue;
      states.push_back(i);
      if (i >= carried_)
        made.add_output((at.of(state[i]) + at.of(found[i])).tensor());
      else
        made.add_output(found[i] ? found[i] : zeros(made, ins_[i]->spec));
    }
    made.add_output((at.of(index) - position(at, 1)).tensor());
    Op* loop = add_loop(graph_, made, std::move(inputs), loop_.count);
    if (kept.loop && in_place_) add_order(*loop, kept.loop);
    std::vector<size_t> slots;
    for (size_t j = 0; j < states.size(); ++j) {
      if (!found[states[j]] || !loop_.wanted[states[j]]) continue;
      graph_.add_output(loop->outputs[j]);
      slots.push_back(states[j]);
    }
    return slots;
  }

  const LongLoop& loop_;
  Graph& body_;
  const std::vector<Tensor*>& ins_;
  size_t carried_;
  bool in_place_;
  Graph& graph_;
  GraphOpBuilder at_;
  std::vector<Tensor*> operands_, gradients_;  ///< inputs of the pair; null for tensors without gradient
  std::vector<Tensor*> values_;                ///< tensors of the body that differ between iterations
};

/// The gradient of a pair is that of its variant with carried buffers, which recomputes its forward pass.
GradGraphInfoPtr gradient_of_pair(const LongLoop& loop, const LoopPair& pair, const std::vector<Tensor*>& provided,
                                  const std::vector<Tensor*>& required) {
  const LoopPair twin = LoopPairBuilder(loop, false).build();
  if (twin.roles != pair.roles || twin.slots != pair.slots)
    throw Error("the two forms of a repeat's gradient differ", {}, Fault::internal);
  const auto other = [](const std::vector<Tensor*>& from, const Tensor* t, const std::vector<Tensor*>& to) {
    return to.at(index_in(from, t));
  };
  std::vector<Tensor*> of_outputs, of_inputs;
  for (const Tensor* t : provided) of_outputs.push_back(other(pair.graph->outputs(), t, twin.graph->outputs()));
  for (const Tensor* t : required) of_inputs.push_back(other(pair.graph->inputs(), t, twin.graph->inputs()));
  const GradGraphInfoPtr kept = differentiate(*twin.graph, of_outputs, of_inputs, {}, false);
  auto info = std::make_shared<GradGraphInfo>(*recompute_graph(*kept));
  info->forward_graph = pair.graph;
  for (auto* connections : {&info->expected_inputs, &info->expected_outputs})
    for (ExpectedConnection& c : *connections) {
      const bool output = connections == &info->expected_inputs && c.type == ConnectionType::fwd_grad;
      c.fwd_tensor = output ? other(twin.graph->outputs(), c.fwd_tensor, pair.graph->outputs())
                            : other(twin.graph->inputs(), c.fwd_tensor, pair.graph->inputs());
    }
  return info;
}

}  // namespace

LoopPair make_loop_pair(const LongLoop& loop) {
  const LoopPair pair = LoopPairBuilder(loop, true).build();
  set_custom_gradient(*pair.graph,
                      [loop, pair](Graph&, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required) {
                        return gradient_of_pair(loop, pair, provided, required);
                      });
  return pair;
}

}  // namespace pxl
