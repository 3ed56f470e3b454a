#include "interpreter/tools/lints/program_lints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "interpreter/tools/lints/lints.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/autodiff.hpp"

namespace pxl {

namespace {

/// Whether an op changes the memory of a tensor, also through a view.
bool is_changed(const Tensor& t) {
  return std::any_of(t.consumers.begin(), t.consumers.end(), [&](const Op* op) {
    for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
      if (op->inputs[slot] != &t) continue;
      if (op->modifies(slot)) return true;
      if (op->aliases(slot) && is_changed(*op->outputs[0])) return true;
    }
    return false;
  });
}

/// Whether a tensor has the same value in each run: it depends on constants and on variables that nothing changes.
class SameInEachRun {
 public:
  bool operator()(const Tensor& t) {
    const auto [at, fresh] = known_.emplace(&t, false);  // what a loop carries changes
    if (fresh) {
      const bool same = is_same(t);
      known_[&t] = same;
      return same;
    }
    return at->second;
  }

 private:
  bool is_same(const Tensor& t) {
    if (t.kind == TensorKind::constant) return true;
    if (t.kind == TensorKind::variable) return !t.remote && !is_changed(t);
    if (t.kind == TensorKind::input) return is_same_at_calls(t);
    if (!t.producer || t.producer->row->role != Role::compute) return false;
    const auto& inputs = t.producer->inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](const Tensor* x) { return !x || (*this)(*x); });
  }
  bool is_same_at_calls(const Tensor& input) {
    const Graph& graph = *input.graph;
    const auto slot =
        static_cast<size_t>(std::find(graph.inputs().begin(), graph.inputs().end(), &input) - graph.inputs().begin());
    const auto& calls = graph.call_sites();
    return !calls.empty() && std::all_of(calls.begin(), calls.end(), [&](const Op* call) {
      return call->row->role == Role::call && call->inputs[slot] && (*this)(*call->inputs[slot]);
    });
  }

  std::unordered_map<const Tensor*, bool> known_;
};

class ProgramLinter {
 public:
  ProgramLinter(const Ir& ir, const ast::Tree& tree) : ir_(ir), tree_(tree) {}

  std::vector<Diagnostic> run() {
    streams();
    for (const auto& graph : ir_.graphs()) {
      params(*graph);
      for (const auto& op : graph->ops()) softmax(*op);
    }
    if (trains()) {
      variables();
      seeds();
    }
    return std::move(found_);
  }

 private:
  void add(std::string_view kind, Span at, std::string message, std::string note = {}) {
    Diagnostic d;
    d.code = kind;
    d.span = at;
    d.message = std::move(message);
    if (!note.empty()) d.notes.push_back(std::move(note));
    found_.push_back(std::move(d));
  }

  /// The place of an op in the file: its own, or that of the call which made it.
  Span place(const Op& op) const {
    Span at = op.origin.span;
    for (const Frame* f = op.origin.frames.get(); f && at && at.file != tree_.source; f = f->outer.get()) at = f->at;
    return at;
  }

  void streams() {
    for (const auto& stream : ir_.streams())
      if (stream->to_device && !stream->used)
        add(unloaded_stream, stream->handle->origin.span, fmt::format("no op loads the stream `{}`", stream->name()),
            fmt::format("`host_load({})` gives its next sample", stream->name()));
  }

  void params(const Graph& graph) {
    const auto& outputs = graph.outputs();
    for (const Tensor* input : graph.inputs()) {
      const bool is_output = std::find(outputs.begin(), outputs.end(), input) != outputs.end();
      if (input->key.empty() || !input->consumers.empty() || is_output) continue;
      if (!input->origin.span.text().starts_with("param")) continue;
      add(unread_param, input->origin.span, fmt::format("no op reads the param `{}`", last_part(input->name)));
    }
  }

  void softmax(const Op& op) {
    if (op.row->name != "log_softmax" || op.inputs.empty() || !op.inputs[0]->producer) return;
    if (op.inputs[0]->producer->row->name != "softmax") return;
    add(softmax_twice, place(op),
        fmt::format("the loss takes logits, and `{}` gives probabilities", shown_name(*op.inputs[0])),
        "leave `softmax` out: the loss applies it");
  }

  /// Whether a run changes variables by gradients.
  bool trains() const {
    const std::vector<Tensor*> all = ir_.variables();
    return has_gradients(ir_) && std::any_of(all.begin(), all.end(), [](const Tensor* v) {
             return is_floating(v->spec.dtype) && is_changed(*v);
           });
  }

  void variables() {
    for (const Tensor* v : variables_without_gradient(ir_)) {
      if (v->shared || v->is_state || is_changed(*v) || !v->origin.span.text().starts_with("variable")) continue;
      add(untrained_variable, v->origin.span,
          fmt::format("the loss depends on `{}`, but nothing trains it", last_part(v->name)),
          "give it to `grad` and to the optimiser, or declare a `constant`");
    }
  }

  void seeds() {
    SameInEachRun same;
    for (const auto& graph : ir_.graphs())
      for (const auto& op : graph->ops()) {
        // A gradient has its forward op's seed, and a row without a path.
        if (op->row->batch != Batch::seeds || op->row->path.empty()) continue;
        const Tensor* seed = op->inputs[slot_of(*op->row, "seed_tensor")];
        if (same(*seed))
          add(fixed_seed, place(*op),
              fmt::format("`{}` draws the same numbers in each run: nothing changes its seed", shown_name(*op)),
              "a `state` that begins with `own_seed()`, and its `next`, give each run another seed");
      }
  }

  const Ir& ir_;
  const ast::Tree& tree_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> program_findings(const Ir& ir, const ast::Tree& tree) { return ProgramLinter(ir, tree).run(); }

}  // namespace pxl
