#include "runtime/transform/precision/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/op_scopes.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/graph/states.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/loops/scan.hpp"
#include "runtime/transform/rebuild.hpp"

namespace pxl {
namespace {

/// State that the graphs of one transform share. A called graph is transformed once for each set of leaves and each
/// number of outputs. If modules are kept, it is transformed once for each path of its module, too.
struct Lowered {
  const PrecisionForm& form;
  std::map<std::tuple<const Graph*, std::vector<bool>, std::string, size_t>, Graph*> done;
  ModulePaths paths;
};

std::string joined(const std::string& path, const std::string& below) {
  return path.empty() || below.empty() ? path + below : path + "." + below;
}

class Lowering {
 public:
  Lowering(Graph& from, Lowered& all, std::vector<bool> leaves, std::string path)
      : from_(from),
        ir_(from.ir()),
        all_(all),
        path_(std::move(path)),
        graph_(ir_.create_graph(from.title() + "_" + std::string(name(all.form.dtype)))),
        builder_(graph_) {
    for (size_t i = 0; i < from.inputs().size(); ++i) {
      const Tensor* t = from.inputs()[i];
      if (t->by_ref) refuse_change(*t, t->origin);
      known_[t].wide = graph_.copy_source(*t);
      known_[t].is_leaf = leaves[i] || !t->key.empty();
    }
    graph_.set_captured_inputs(from.captured_inputs());
  }

  /// `outputs`: how many are kept.
  Graph& run(size_t outputs) {
    for (const auto& op : from_.ops()) visit(*op);
    ir_.origin = {};
    for (size_t j = 0; j < outputs; ++j) graph_.add_output(wide(from_.outputs()[j]));
    std::vector<GraphState> states = states_of(from_);
    for (GraphState& s : states) s.input = known_.at(s.input).wide;
    set_states(graph_, std::move(states));
    return graph_;
  }

 private:
  /// A tensor of the given graph in this one: in its own dtype, in the low one, or in both.
  struct Value {
    Tensor *wide = nullptr, *low = nullptr;
    bool is_leaf = false;
    bool is_computed_low = false;
  };

  [[noreturn]] static void refuse_change(const Tensor& t, const Origin& origin) {
    Error e(fmt::format("precision: `{}` is changed in place, and a rounded copy of it would not be", shown_name(t)),
            {"apply it to the graph of the forward pass, and update what it returns"});
    e.as(codes::in_place).locate(origin.span, origin.frames);
    throw e;
  }

  Value& of(Tensor* t) {
    const auto [at, fresh] = known_.emplace(t, Value{});
    if (fresh) {  // inputs and results are known
      at->second.wide = graph_.copy_source(*t);
      at->second.is_leaf = t->kind == TensorKind::constant && t->spec.shape.empty() && fits(t->data);
    }
    return at->second;
  }
  /// Whether a constant is finite in the low dtype if it is finite now.
  bool fits(const Array& number) const {
    const double as_low = number.cast(all_.form.dtype).number(0);
    return std::isfinite(as_low) || !std::isfinite(number.number(0));
  }
  bool can_be_low(const Tensor* t) const {
    return is_floating(t->spec.dtype) && size_of(t->spec.dtype) > size_of(all_.form.dtype);
  }
  Tensor* wide(Tensor* t) {
    Value& v = of(t);
    if (!v.wide) v.wide = cast(builder_.of(v.low), t->spec.dtype).tensor();
    return v.wide;
  }
  Tensor* low(Tensor* t) {
    Value& v = of(t);
    if (!v.low) v.low = cast(builder_.of(v.wide), all_.form.dtype).tensor();
    return v.low;
  }

  void visit(Op& op) {
    place(op);
    for (size_t slot = 0; slot < op.inputs.size(); ++slot)
      if (op.inputs[slot] && op.modifies(slot)) refuse_change(*op.inputs[slot], op.origin);
    Op* made = is_in_kept_module(op) ? graph_.copy_op(op, wide_operands(op), op.called, op.stream)
               : op.called.empty()   ? compute(op)
                                     : control(op);
    for (const Op* before : op.after)
      if (const auto at = made_.find(before); at != made_.end()) made->after.push_back(at->second);
    made_[&op] = made;
    for (size_t j = 0; j < made->outputs.size(); ++j) {
      Value& v = known_[op.outputs[j]];
      v.is_computed_low = made->outputs[j]->spec.dtype != op.outputs[j]->spec.dtype;
      (v.is_computed_low ? v.low : v.wide) = made->outputs[j];
    }
    if (made->outputs.size() < op.outputs.size()) visit_keeping_scans(op, known_, [&](Op& inner) { visit(inner); });
  }

  std::vector<Tensor*> wide_operands(const Op& op) {
    std::vector<Tensor*> inputs;
    for (Tensor* t : op.inputs) inputs.push_back(t ? wide(t) : nullptr);
    return inputs;
  }

  bool is_in_kept_module(const Op& op) {
    const auto& keeps = all_.form.keeps_module;
    return keeps && keeps(op, joined(path_, all_.paths.of(op)));
  }

  // ---- ops

  Op* compute(const Op& op) {
    const std::vector<bool> lowered = lowered_slots(op);
    if (std::find(lowered.begin(), lowered.end(), true) == lowered.end())
      return graph_.copy_op(op, wide_operands(op), {}, op.stream);
    std::vector<Tensor*> inputs;
    std::vector<std::string> names;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      Tensor* t = op.inputs[slot];
      inputs.push_back(!t ? nullptr : lowered[slot] ? low(t) : wide(t));
    }
    for (const Tensor* t : op.outputs) names.push_back(t->name);
    return graph_.add_op(*op.row, std::move(inputs), op.attrs, names);
  }

  /// The slots whose operands are low: all that can be, or none.
  std::vector<bool> lowered_slots(const Op& op) {
    std::vector<bool> lowered(op.inputs.size(), false);
    const OpRow& row = *op.row;
    const auto& keep = all_.form.keep;
    const Precision precision = precision_of(row);
    if (precision == Precision::kept || std::find(keep.begin(), keep.end(), row.name) != keep.end()) return lowered;
    bool any_low = false, all_follow = true;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      Tensor* t = op.inputs[slot];
      if (!t || !can_be_low(t) || kind_of(row, slot) == ParamKind::own_tensor) continue;
      const Value& v = of(t);
      lowered[slot] = true;
      any_low = any_low || v.is_computed_low;
      all_follow = all_follow && (v.is_computed_low || v.is_leaf);
    }
    if (precision == Precision::follows && !(any_low && all_follow)) lowered.assign(lowered.size(), false);
    return lowered;
  }
  static ParamKind kind_of(const OpRow& row, size_t slot) {
    if (is_variadic(row)) return ParamKind::tensors;
    for (const Param& p : row.params)
      if (is_operand(p.kind) && slot-- == 0) return p.kind;
    return ParamKind::tensor;
  }

  // ---- calls, loops and branches

  Op* control(const Op& op) {
    if (op.row->role != Role::call) {
      std::vector<Graph*> called;
      size_t begin = op.row->role == Role::branch ? 1 : 0;
      for (Graph* callee : op.called) {
        called.push_back(&lowered(*callee, op, begin, callee->declared_outputs()));
        if (op.row->role == Role::branch) begin += callee->inputs().size();
      }
      return graph_.add_control(*op.row, std::move(called), wide_operands(op), op.attrs);
    }
    Graph& callee = *op.called[0];
    if (auto form = scan_form(callee)) {
      form->step = &lowered(*form->step, op, 0, form->step->declared_outputs());
      return graph_.add_call(make_scan(*form), wide_operands(op));
    }
    if (has_custom_gradient(callee)) return graph_.copy_op(op, wide_operands(op), op.called, op.stream);
    return graph_.add_call(lowered(callee, op, 0, op.outputs.size()), wide_operands(op));
  }

  /// A called graph, whose inputs are the operands from `begin` on, with its first outputs.
  Graph& lowered(Graph& callee, const Op& op, size_t begin, size_t outputs) {
    std::vector<bool> leaves;
    for (size_t i = 0; i < callee.inputs().size(); ++i) {
      Tensor* t = begin + i < op.inputs.size() ? op.inputs[begin + i] : nullptr;
      leaves.push_back(t && of(t).is_leaf);
    }
    const std::string path = all_.form.keeps_module ? joined(path_, all_.paths.of_callee(op)) : "";
    const auto key = std::make_tuple(static_cast<const Graph*>(&callee), leaves, path, outputs);
    if (const auto at = all_.done.find(key); at != all_.done.end()) return *at->second;
    Graph& made = Lowering(callee, all_, leaves, path).run(outputs);
    place(op);
    return *all_.done.emplace(key, &made).first->second;
  }
  void place(const Op& op) { place_like(ir_, op); }

  Graph& from_;
  Ir& ir_;
  Lowered& all_;
  const std::string path_;  ///< of the module that the graph is
  Graph& graph_;
  GraphOpBuilder builder_;
  std::unordered_map<const Tensor*, Value> known_;
  std::unordered_map<const Op*, Op*> made_;
};

}  // namespace

Graph& lower_precision(Graph& graph, const PrecisionForm& form, const std::vector<bool>& leaves) {
  Ir& ir = graph.ir();
  const BuildStateGuard guard(ir);
  return all_or_nothing(ir, [&]() -> Graph& {
    Lowered all{form, {}, {}};
    Graph& made = Lowering(graph, all, leaves, "").run(graph.declared_outputs());
    verify_transformed(ir);
    return made;
  });
}

}  // namespace pxl
