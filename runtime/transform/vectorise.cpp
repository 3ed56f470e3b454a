#include "runtime/transform/vectorise.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/functions/own_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/transaction.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/functions/batch_rules.hpp"
#include "runtime/transform/loops/scan.hpp"
#include "runtime/transform/rebuild.hpp"

namespace pxl {
namespace {

[[noreturn]] void refuse(const Op& op, const std::string& why, std::string way_out) {
  Error e(fmt::format("vmap: `{}` {}", shown_name(op), why), {std::move(way_out)});
  e.as(codes::graph_inputs);
  e.locate(op.origin.span, op.origin.frames);
  throw e;
}

constexpr const char* custom_batches = "custom_batches";

CustomBatch custom_batch(const Graph& graph) { return own_rule<CustomBatch>(graph, custom_batches); }

class Vectoriser {
 public:
  Vectoriser(Graph& from, int64_t size, const std::vector<bool>& mapped_inputs)
      : from_(from), ir_(from.ir()), n_(size), graph_(ir_.create_graph("vmap_" + from.title())), builder_(graph_) {
    for (size_t i = 0; i < from.inputs().size(); ++i) {
      const Tensor* t = from.inputs()[i];
      if (t->by_ref) {
        Error e("vmap: `" + shown_name(*t) + "` is changed in place, which a mapped function can't do");
        throw e.as(codes::in_place);
      }
      TensorSpec spec = t->spec;
      if (mapped_inputs[i]) spec.shape.insert(spec.shape.begin(), n_);
      known_[t] = {graph_.add_input(spec, t->name), mapped_inputs[i]};
    }
  }

  /// `outputs`: how many are kept; `forced`: those that are mapped in any case.
  Vectorised run(const std::vector<bool>& mapped_inputs, size_t outputs, const std::vector<bool>& forced) {
    for (const auto& op : from_.ops()) visit(*op);
    Vectorised result{&graph_, mapped_inputs, {}};
    for (size_t j = 0; j < outputs; ++j) {
      Batched v = of(from_.outputs()[j]);
      if (j < forced.size() && forced[j]) v = {with_batch(v), true};
      graph_.add_output(v.tensor);
      result.mapped_outputs.push_back(v.mapped);
    }
    return result;
  }

 private:
  Batched of(Tensor* t) {
    const auto [at, fresh] = known_.emplace(t, Batched{});
    if (fresh) at->second = {graph_.add_constant(t->data, t->name), false};  // inputs and results are known
    return at->second;
  }
  bool is_mapped(Tensor* t) { return t && of(t).mapped; }

  /// The tensor of all elements, also where it is the same for all.
  Tensor* with_batch(const Batched& v) { return pxl::with_batch(builder_, v, n_); }
  void visit(Op& op) {
    place_like(ir_, op);
    check(op);
    const bool mapped = std::any_of(op.inputs.begin(), op.inputs.end(), [&](Tensor* t) { return is_mapped(t); });
    if (!mapped)
      copy(op);
    else if (op.row->role == Role::call)
      call(op);
    else if (op.row->role == Role::loop)
      loop(op);
    else if (op.row->role == Role::branch)
      branch(op);
    else
      compute(op);
  }

  void check(const Op& op) const {
    for (size_t slot = 0; slot < op.inputs.size(); ++slot)
      if (op.inputs[slot] && op.modifies(slot))
        refuse(op, "changes `" + shown_name(*op.inputs[slot]) + "` in place, which a mapped function can't do",
               "return the new value");
    if (op.row->side_effect || op.row->exchange != Exchange::none || op.stream)
      refuse(op, "has an effect or exchanges data between replicas, so it can't run for each element",
             "do it outside of the mapped function");
    if (op.row->batch != Batch::seeds) return;
    const Tensor* seed = op.inputs[slot_of_seed(op)];
    const auto known = known_.find(seed);
    if (known == known_.end() || !known->second.mapped)
      refuse(op, "would draw the same for all elements", "map over seeds: `split_random_seed(seed, n)` makes some");
  }
  /// The operand of a draw that is the seed: the one of uint32.
  static size_t slot_of_seed(const Op& op) {
    for (size_t slot = 0; slot < op.inputs.size(); ++slot)
      if (op.inputs[slot] && op.inputs[slot]->spec.dtype == DType::uint32) return slot;
    return 0;
  }

  void give(const Op& op, const Op& made, bool mapped) {
    for (size_t j = 0; j < made.outputs.size(); ++j) known_[op.outputs[j]] = {made.outputs[j], mapped};
  }
  void copy(const Op& op) {
    std::vector<Tensor*> inputs;
    for (Tensor* t : op.inputs) inputs.push_back(t ? of(t).tensor : nullptr);
    give(op, *graph_.copy_op(op, std::move(inputs), op.called, op.stream), false);
  }

  // ---- ops

  void compute(const Op& op) {
    std::vector<Batched> operands;
    for (Tensor* t : op.inputs) operands.push_back(t ? of(t) : Batched());
    const std::vector<Tensor*> results = batched_op(graph_, op, operands, n_);
    if (results.empty()) return one_by_one(op);
    for (size_t j = 0; j < results.size(); ++j) known_[op.outputs[j]] = {results[j], true};
  }

  /// A scan over the elements, whose step is the op.
  void one_by_one(const Op& op) {
    Graph& step = ir_.create_graph("vmap_" + std::string(op.row->name));
    ScanForm form;
    form.step = &step;
    form.count = n_;
    std::unordered_map<Tensor*, Tensor*> inner;
    std::vector<Tensor*> sequences, others;
    for (const bool mapped : {true, false})
      for (Tensor* t : op.inputs) {
        if (!t || is_mapped(t) != mapped || inner.count(t)) continue;
        inner[t] = step.add_input(t->spec, t->name);
        (mapped ? sequences : others).push_back(of(t).tensor);
      }
    form.sliced = sequences.size();
    form.stacked = op.outputs.size();
    std::vector<Tensor*> operands;
    for (Tensor* t : op.inputs) operands.push_back(t ? inner[t] : nullptr);
    for (Tensor* t : step.copy_op(op, std::move(operands), op.called, op.stream)->outputs) step.add_output(t);
    sequences.insert(sequences.end(), others.begin(), others.end());
    give(op, *graph_.add_call(make_scan(form), std::move(sequences)), true);
  }

  // ---- calls, loops and branches

  std::vector<bool> mapped_of(const Op& op, size_t begin, size_t count) {
    std::vector<bool> mapped;
    for (size_t i = 0; i < count; ++i) mapped.push_back(is_mapped(op.inputs[begin + i]));
    return mapped;
  }
  static Vectorised of_graph(Graph& graph, int64_t n, const std::vector<bool>& mapped,
                             const std::vector<bool>& forced = {}) {
    return Vectoriser(graph, n, mapped).run(mapped, graph.declared_outputs(), forced);
  }
  void by_hand(const Op& op, Graph& whole) {
    std::vector<Tensor*> inputs;
    for (Tensor* t : op.inputs) inputs.push_back(with_batch(of(t)));
    give(op, *graph_.add_call(whole, std::move(inputs)), true);
  }
  void call(const Op& op) {
    Graph& callee = *op.called[0];
    if (const auto form = scan_form(callee))
      return form->counted && is_mapped(op.inputs.back()) ? one_by_one(op) : scan(op, *form);
    const bool has_kept = op.outputs.size() > callee.declared_outputs();  // a batch by hand has no such outputs
    if (const CustomBatch batch = custom_batch(callee); batch && !has_kept) return by_hand(op, batch(callee, n_));
    if (is_custom_path(callee)) return one_by_one(op);  // its gradient is that of one element
    const std::vector<bool> mapped = mapped_of(op, 0, op.inputs.size());
    const Vectorised v = Vectoriser(callee, n_, mapped).run(mapped, op.outputs.size(), {});
    std::vector<Tensor*> inputs;
    for (Tensor* t : op.inputs) inputs.push_back(of(t).tensor);
    const Op* made = graph_.add_call(*v.graph, std::move(inputs));
    for (size_t j = 0; j < v.mapped_outputs.size(); ++j)
      known_[op.outputs[j]] = {made->outputs[j], v.mapped_outputs[j]};
  }
  /// A state that becomes mapped in an iteration is mapped before the first.
  template <class Mapped>
  static bool add_states(std::vector<bool>& mapped, const Mapped& outputs, size_t states) {
    bool more = false;
    for (size_t i = 0; i < states; ++i)
      if (outputs[i] && !mapped[i]) mapped[i] = more = true;
    return more;
  }
  void loop(const Op& op) {
    Graph& body = *op.called[0];
    const size_t states = body.declared_outputs();
    std::vector<bool> mapped = mapped_of(op, 0, op.inputs.size());
    while (add_states(mapped, of_graph(body, n_, mapped).mapped_outputs, states)) {
    }
    const auto condition = loop_condition(op);
    const bool gated = condition && mapped[*condition];
    if (gated) std::fill_n(mapped.begin(), states, true);
    const Vectorised v = of_graph(body, n_, mapped, mapped);
    std::vector<Tensor*> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i)
      inputs.push_back(mapped[i] ? with_batch(of(op.inputs[i])) : of(op.inputs[i]).tensor);
    const Op* made = gated ? until_all_are_done(op, v, mapped, inputs)
                           : graph_.add_control(*op.row, {v.graph}, std::move(inputs), op.attrs);
    for (size_t j = 0; j < states; ++j) known_[op.outputs[j]] = {made->outputs[j], mapped[j]};
  }
  /// A loop that runs until no element goes on. The states of an element that is done stay. The body gets for it what
  /// it gets for an element that goes on, without a gradient, so that no value and no derivative is undefined.
  const Op* until_all_are_done(const Op& op, const Vectorised& v, const std::vector<bool>& mapped,
                               std::vector<Tensor*> operands) {
    const size_t states = op.outputs.size(), condition = *loop_condition(op);
    Graph& body = ir_.create_graph(v.graph->title() + "_until_done");
    GraphOpBuilder at(body);
    std::vector<Expr> given;
    const auto take = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        given.push_back(at.of(body.add_input(v.graph->inputs()[i]->spec, v.graph->inputs()[i]->name)));
    };
    take(0, states);
    body.add_input({{}, DType::boolean, {}}, "goes_on");
    const Expr index = at.of(body.add_input({{}, DType::int32, {}}, "iterations"));
    take(states, operands.size());
    const auto zero = [](OpBuilder& b) { return b.constant(Array::scalar<int32_t>(0), "t"); };
    const auto any = [&](const Expr& bools) {
      OpBuilder& b = bools.builder();
      return b.one("greater", {b.one("max", {cast(bools, DType::int32)}), zero(b)});
    };

    const Expr goes_on = given[condition];
    const Expr running = reshape(at.one("argmax", {cast(goes_on, DType::int32)}, {{"axis", int64_t{0}}}), {1});
    const auto chosen = [&](const Expr& yes, const Expr& no) {
      Shape shape(static_cast<size_t>(yes.rank()), 1);
      shape[0] = n_;
      return at.one("where", {reshape(goes_on, shape), yes, no});
    };
    std::vector<Tensor*> inner;
    for (size_t i = 0; i < given.size(); ++i) {
      Expr x = given[i];
      if (mapped[i]) {
        const Expr other = at.one("dynamic_slice", {x, running},
                                  {{"axes", std::vector<int64_t>{0}}, {"sizes", std::vector<int64_t>{1}}});
        x = chosen(x, at.one("detach", {other}));
      }
      inner.push_back(x.tensor());
    }
    const Op* call = body.add_call(*v.graph, inner);
    for (size_t j = 0; j < states; ++j) body.add_output(chosen(at.of(call->outputs[j]), given[j]).tensor());
    body.add_output(any(at.of(body.outputs()[condition])).tensor());
    body.add_output((index + at.constant(Array::scalar<int32_t>(1), "t")).tensor());
    const Expr first = any(builder_.of(operands[condition]));
    operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(states), {first.tensor(), zero(builder_).tensor()});
    return add_loop(graph_, body, std::move(operands), iteration_limit(op), states);
  }
  void scan(const Op& op, const ScanForm& form) {
    std::vector<bool> mapped = mapped_of(op, 0, op.inputs.size());
    while (add_states(mapped, of_graph(*form.step, n_, mapped).mapped_outputs, form.carried)) {
    }
    std::vector<bool> forced(mapped.begin(), mapped.begin() + static_cast<std::ptrdiff_t>(form.carried));
    const Vectorised v = of_graph(*form.step, n_, mapped, forced);
    ScanForm wide = form;
    wide.step = v.graph;
    const auto with_time_first = [&](Tensor* t) {
      std::vector<int64_t> order;
      for (size_t i = 0; i < t->spec.shape.size(); ++i) order.push_back(static_cast<int64_t>(i));
      std::swap(order[0], order[1]);
      return builder_.one("transpose", {builder_.of(t)}, {{"permutation", order}}).tensor();
    };
    std::vector<Tensor*> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Batched x = of(op.inputs[i]);
      const bool sequence = i >= form.carried && i < form.carried + form.sliced;
      if (!mapped[i])
        inputs.push_back(x.tensor);
      else
        inputs.push_back(sequence ? with_time_first(with_batch(x)) : with_batch(x));
    }
    const Op* made = graph_.add_call(make_scan(wide), std::move(inputs));
    for (size_t j = 0; j < v.mapped_outputs.size(); ++j) {
      Tensor* y = made->outputs[j];
      const bool stacked = j >= form.carried && j < form.carried + form.stacked;
      known_[op.outputs[j]] = {stacked && v.mapped_outputs[j] ? with_time_first(y) : y, v.mapped_outputs[j]};
    }
    visit_keeping_scans(op, known_, [&](Op& inner) { visit(inner); });
  }
  void branch(const Op& op) {
    if (is_mapped(op.inputs[0])) return one_by_one(op);
    std::vector<std::vector<bool>> mapped;
    std::vector<bool> outputs(op.outputs.size(), false);
    for (size_t which : {0, 1}) {
      mapped.push_back(mapped_of(op, callee_operand_begin(op, which), op.called[which]->inputs().size()));
      const Vectorised v = of_graph(*op.called[which], n_, mapped[which]);
      for (size_t j = 0; j < outputs.size(); ++j) outputs[j] = outputs[j] || v.mapped_outputs[j];
    }
    std::vector<Graph*> called;
    for (size_t which : {0, 1}) called.push_back(of_graph(*op.called[which], n_, mapped[which], outputs).graph);
    std::vector<Tensor*> inputs;
    for (Tensor* t : op.inputs) inputs.push_back(of(t).tensor);
    const Op* made = graph_.add_control(*op.row, called, std::move(inputs), op.attrs);
    for (size_t j = 0; j < outputs.size(); ++j) known_[op.outputs[j]] = {made->outputs[j], outputs[j]};
  }

  Graph& from_;
  Ir& ir_;
  int64_t n_;
  Graph& graph_;
  GraphOpBuilder builder_;
  std::unordered_map<const Tensor*, Batched> known_;
};

}  // namespace

void set_custom_batch(Graph& graph, CustomBatch batch) { set_own_rule(graph, custom_batches, std::move(batch)); }

Vectorised vectorise(Graph& graph, int64_t size, const std::vector<bool>& mapped_inputs) {
  const BuildStateGuard guard(graph.ir());
  return all_or_nothing(graph.ir(), [&] {
    return Vectoriser(graph, size, mapped_inputs).run(mapped_inputs, graph.declared_outputs(), {});
  });
}

}  // namespace pxl
