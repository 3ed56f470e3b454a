// Builds scans. The body of a scan's loop takes the slices for an iteration, calls the step, and writes or adds the
// results to by-reference buffers.
#include "runtime/transform/loops/scan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/functions/own_rules.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

TensorSpec sequence_of(int64_t count, const TensorSpec& slice) {
  Shape shape{count};
  shape.insert(shape.end(), slice.shape.begin(), slice.shape.end());
  return {std::move(shape), slice.dtype, {}};
}

Expr index_constant(OpBuilder& at, int64_t value) {
  return at.constant(Array::full_int(DType::int32, {1}, value), "index");
}

class ScanBuilder {
 public:
  explicit ScanBuilder(const ScanForm& form)
      : form_(form),
        step_(*form.step),
        scan_(step_.ir().create_graph(step_.title() + "_scan")),
        body_(step_.ir().create_graph(step_.title() + "_iteration")),
        outside_(scan_),
        inside_(body_) {}

  Graph& build() {
    const auto& ins = step_.inputs();
    std::vector<Tensor*> operands;
    for (size_t i = 0; i < ins.size(); ++i)
      operands.push_back(
          scan_.add_input(is_sliced(i) ? sequence_of(form_.count, ins[i]->spec) : ins[i]->spec, ins[i]->name));

    Tensor* number = form_.counted ? scan_.add_input({{}, DType::int32, {}}, "iterations") : nullptr;
    if (form_.count == 0) return without_iterations(operands);
    for (size_t i = 0; i < form_.carried; ++i) given_.push_back(add_input(ins[i]->spec, ins[i]->name, operands[i]));
    const Expr index = inside_.of(add_input({{1}, DType::int32, {}}, "index", first_index(number).tensor()));
    if (number) add_input({{}, DType::boolean, {}}, "goes_on", goes_on(outside_, number, {}).tensor());
    for (size_t i = form_.carried; i < ins.size(); ++i) {
      Tensor* t = add_input(operands[i]->spec, ins[i]->name, operands[i]);
      if (is_sliced(i)) {
        const Expr slice =
            inside_.one("dynamic_slice", {inside_.of(t), index}, {{"axes", Ints{0}}, {"sizes", Ints{1}}});
        t = reshape(slice, ins[i]->spec.shape).tensor();
      }
      given_.push_back(t);
    }
    const Op* call = body_.add_call(step_, given_);
    std::vector<Tensor*> buffers;
    for (size_t j = form_.carried; j < step_.declared_outputs(); ++j)
      buffers.push_back(collect(index, call->outputs[j], j < form_.carried + form_.stacked));
    for (size_t i = 0; i < form_.carried; ++i) body_.add_output(call->outputs[i]);
    const Expr one = index_constant(inside_, 1);
    const Expr next = form_.reversed ? index - one : index + one;
    body_.add_output(next.tensor());
    std::optional<size_t> condition;
    if (number) {
      condition = body_.declared_outputs();
      Tensor* all = form_.reversed ? nullptr : add_input(number->spec, "iterations", number);
      body_.add_output(goes_on(inside_, all, next).tensor());
    }

    const Op* loop = add_loop(scan_, body_, std::move(inputs_), form_.count, condition);
    for (size_t i = 0; i < form_.carried; ++i) scan_.add_output(loop->outputs[i]);
    for (Tensor* buffer : buffers) scan_.add_output(buffer);
    return scan_;
  }

 private:
  bool is_sliced(size_t i) const { return i >= form_.carried && i < form_.carried + form_.sliced; }

  Expr first_index(Tensor* number) {
    if (!form_.reversed) return index_constant(outside_, 0);
    if (!number) return index_constant(outside_, form_.count - 1);
    return reshape(outside_.of(number), {1}) - index_constant(outside_, 1);
  }
  /// Whether there is an iteration with this index; without one, whether there is any at all.
  Expr goes_on(GraphOpBuilder& at, Tensor* number, const Expr& index) {
    const Expr zero = at.constant(Array::scalar<int32_t>(0), "zero");
    if (!index) return at.one("greater", {at.of(number), zero});
    const Expr i = reshape(index, {});
    return form_.reversed ? at.one("greater_equal", {i, zero}) : at.one("less", {i, at.of(number)});
  }

  Tensor* buffer(const Tensor* result, bool stacked) {
    const TensorSpec spec = stacked ? sequence_of(form_.count, result->spec) : result->spec;
    return outside_.one("init", {}, {{"shape", spec.shape}, {"dtype", spec.dtype}}).tensor();
  }

  Graph& without_iterations(const std::vector<Tensor*>& operands) {
    for (size_t i = 0; i < form_.carried; ++i) scan_.add_output(operands[i]);
    for (size_t j = form_.carried; j < step_.declared_outputs(); ++j)
      scan_.add_output(buffer(step_.outputs()[j], j < form_.carried + form_.stacked));
    return scan_;
  }

  Tensor* add_input(const TensorSpec& spec, const std::string& name, Tensor* operand, bool by_ref = false) {
    inputs_.push_back(operand);
    return body_.add_input(spec, name, by_ref);
  }

  /// Writes a result to its row of a buffer, or adds it to the buffer. Returns the buffer, in the scan's graph.
  Tensor* collect(const Expr& index, Tensor* result, bool stacked) {
    Tensor* memory = buffer(result, stacked);
    const Expr here = inside_.of(add_input(memory->spec, result->name + (stacked ? "_stack" : "_sum"), memory, true));
    const Expr value = inside_.of(result);
    if (stacked)
      inside_.one("dynamic_update_", {here, index, reshape(value, sequence_of(1, result->spec).shape)},
                  {{"axes", Ints{0}}, {"sizes", Ints{1}}});
    else
      inside_.one("add_", {here, value});
    return memory;
  }

  const ScanForm& form_;
  Graph &step_, &scan_, &body_;
  GraphOpBuilder outside_, inside_;
  std::vector<Tensor*> inputs_;  ///< of the loop
  std::vector<Tensor*> given_;   ///< to the step, in the body
};

const Op& loop_of(const Graph& scan) {
  for (const auto& op : scan.ops())
    if (op->row->role == Role::loop) return *op;
  throw Error("a scan without a loop", {}, Fault::internal);
}

/// The gradient of a scan called as a graph. Gradients are provided for the scan's outputs, and for values that were
/// kept for another gradient. Such values are results of keeping scans, which the scan's graph calls.
class GradientOfScan {
 public:
  GradientOfScan(const ScanForm& form, Graph& scan, const std::vector<Tensor*>& provided,
                 const std::vector<Tensor*>& required)
      : form_(form),
        scan_(scan),
        provided_(provided),
        required_(required),
        made_(scan.ir().create_gradient_graph(scan)),
        found_(scan.inputs().size()) {
    for (Tensor* t : provided) gradients_[t] = made_.add_input(t->spec, "gradient");
  }

  GradGraphInfoPtr run() {
    check_repeatable(loop_of(scan_));
    through_outputs();
    std::vector<const Op*> keeping;
    for (const Tensor* t : provided_)
      if (index_in(scan_.outputs(), t) >= scan_.declared_outputs() &&
          std::find(keeping.begin(), keeping.end(), t->producer) == keeping.end())
        keeping.push_back(t->producer);
    for (const Op* call : keeping) through_kept(*call);
    std::vector<std::pair<Tensor*, Tensor*>> results;
    for (size_t i = 0; i < found_.size(); ++i)
      if (found_[i]) results.emplace_back(scan_.inputs()[i], found_[i].tensor());
    return finish_gradient_graph(scan_, made_, provided_, results, values_);
  }

 private:
  Tensor* value(Tensor* forward) {
    Tensor*& here = values_[forward];
    if (!here) here = made_.add_input(forward->spec, forward->name);
    return here;
  }
  void add(size_t input, Tensor* gradient) {
    if (gradient) found_[input] = found_[input] ? found_[input] + at_.of(gradient) : at_.of(gradient);
  }

  void through_outputs() {
    std::vector<bool> given, wanted;
    for (size_t j = 0; j < scan_.declared_outputs(); ++j) given.push_back(gradients_.count(scan_.outputs()[j]) > 0);
    for (const Tensor* t : scan_.inputs()) wanted.push_back(index_in(required_, t) < required_.size());
    if (std::find(given.begin(), given.end(), true) == given.end()) return;
    ScanGradient gradient(form_, given, wanted);
    if (!gradient.any()) return;
    Graph* keeping = gradient.keeping_scan(loop_of(scan_).called[0]);
    const Op* kept = keeping ? scan_.add_call(*keeping, scan_.inputs()) : nullptr;
    const std::vector<Tensor*> results = gradient.reverse(
        made_, {[&](size_t i) { return value(scan_.inputs()[i]); }, [&](size_t j) { return value(scan_.outputs()[j]); },
                [&](size_t k) { return value(kept->outputs[gradient.stash_begin() + k]); },
                [&](size_t j) { return given[j] ? gradients_.at(scan_.outputs()[j]) : nullptr; },
                form_.counted ? value(scan_.inputs().back()) : nullptr});
    for (size_t i = 0; i < results.size(); ++i) add(i, results[i]);
  }

  void through_kept(const Op& call) {
    Graph& keeping = *call.called[0];
    std::vector<Tensor*> provided, required;
    for (size_t j = 0; j < call.outputs.size(); ++j)
      if (gradients_.count(call.outputs[j])) provided.push_back(keeping.outputs()[j]);
    const std::vector<Tensor*> possible = differentiable_inputs(keeping, provided);
    for (size_t i = 0; i < keeping.inputs().size(); ++i)
      if (index_in(required_, scan_.inputs()[i]) < required_.size() &&
          index_in(possible, keeping.inputs()[i]) < possible.size())
        required.push_back(keeping.inputs()[i]);
    if (required.empty()) return;
    const GradGraphInfoPtr info = differentiate(keeping, provided, required, {}, false);
    std::vector<Tensor*> inputs;
    for (const ExpectedConnection& c : info->expected_inputs) {
      const size_t i = index_in(keeping.inputs(), c.fwd_tensor);
      if (i < keeping.inputs().size()) {
        inputs.push_back(value(scan_.inputs()[i]));
        continue;
      }
      Tensor* t = call.outputs.at(index_in(keeping.outputs(), c.fwd_tensor));
      inputs.push_back(c.type == ConnectionType::fwd ? value(t) : gradients_.at(t));
    }
    const Op* back = made_.add_call(*info->graph, std::move(inputs));
    for (size_t k = 0; k < info->expected_outputs.size(); ++k)
      add(index_in(keeping.inputs(), info->expected_outputs[k].fwd_tensor), back->outputs[k]);
  }

  const ScanForm& form_;
  Graph& scan_;
  const std::vector<Tensor*>&provided_, &required_;
  Graph& made_;
  GraphOpBuilder at_{made_};
  std::unordered_map<Tensor*, Tensor*> gradients_, values_;  ///< by tensor of the scan: inputs of the gradient graph
  std::vector<Expr> found_;                                  ///< by input of the scan
};

/// The gradient of a scan without iterations: each state passes its gradient on, and tensors that only iterations would
/// use have a zero gradient.
GradGraphInfoPtr gradient_of_no_iterations(const ScanForm& form, Graph& scan, const std::vector<Tensor*>& provided,
                                           const std::vector<Tensor*>& required) {
  Graph& made = scan.ir().create_gradient_graph(scan);
  std::map<const Tensor*, Tensor*> given;
  for (Tensor* t : provided) given[t] = made.add_input(t->spec, "gradient");
  const std::vector<Tensor*> used = differentiable_inputs(*form.step);
  std::vector<std::pair<Tensor*, Tensor*>> results;
  for (Tensor* t : required) {
    const Tensor* of_step = form.step->inputs().at(index_in(scan.inputs(), t));
    if (const auto found = given.find(t); found != given.end())
      results.emplace_back(t, found->second);
    else if (std::find(used.begin(), used.end(), of_step) != used.end())
      results.emplace_back(t, made.add_constant(Array::zeros(t->spec.dtype, t->spec.shape), "zeros"));
  }
  return finish_gradient_graph(scan, made, provided, results, {});
}

constexpr const char *scan_forms = "scan_forms", *loop_extensions = "loop_extensions";

}  // namespace

Op* add_loop(Graph& graph, Graph& body, std::vector<Tensor*> inputs, int64_t count, std::optional<size_t> condition) {
  const OpRow& row = get_op("loop");
  Attributes attrs(row.params.size());
  attrs[param_index(row, "count")] = count;
  if (condition) attrs[param_index(row, "condition")] = static_cast<int64_t>(*condition);
  return graph.add_control(row, {&body}, std::move(inputs), std::move(attrs));
}

std::optional<ScanForm> scan_form(const Graph& graph) { return own_rule<std::optional<ScanForm>>(graph, scan_forms); }

Graph& make_scan(const ScanForm& form) {
  Graph& scan = ScanBuilder(form).build();
  if (form.count > 0) set_own_rule(scan, scan_forms, std::optional(form));
  set_custom_gradient(
      scan,
      [form](Graph& graph, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required) {
        const BuildStateGuard guard(graph.ir());
        return form.count > 0 ? GradientOfScan(form, graph, provided, required).run()
                              : gradient_of_no_iterations(form, graph, provided, required);
      },
      form.count == 0);
  return scan;
}

std::optional<LoopExtension> loop_extension(const Graph& body) {
  return own_rule<std::optional<LoopExtension>>(body, loop_extensions);
}

Graph* ScanGradient::keeping_scan(const Graph* loop_body) {
  if (stash_.empty()) return nullptr;
  Graph& step = *form_.step;
  Graph& more = step.ir().create_graph(step.title() + "_stash");
  std::vector<Tensor*> given;
  for (const Tensor* t : step.inputs()) given.push_back(more.add_input(t->spec, t->name));
  const Op* call = more.add_call(step, given);
  const size_t first_sum = stash_begin();
  for (size_t j = 0; j < first_sum; ++j) more.add_output(call->outputs[j]);
  for (const Tensor* t : stash_) {
    const size_t i = index_in(step.inputs(), t);
    more.add_output(i < given.size() ? given[i] : call->outputs.at(index_in(step.outputs(), t)));
  }
  for (size_t j = first_sum; j < step.declared_outputs(); ++j) more.add_output(call->outputs[j]);
  ScanForm form = form_;
  form.step = &more;
  form.stacked += stash_.size();
  Graph& scan = make_scan(form);
  if (form.counted) return &scan;  // such loops are not merged

  // Inputs of a body: carried tensors, the index, the other inputs of the step, buffers. A body that is the step itself
  // has no index and no buffers.
  Graph& body = *loop_of(scan).called[0];
  LoopExtension extension{loop_body, {}, {}};
  const bool is_step = loop_body == &step;
  for (size_t i = 0; i < step.inputs().size() + (is_step ? 0 : 1); ++i)
    extension.inputs.push_back(is_step && i >= form_.carried ? i + 1 : i);
  for (size_t j = form_.carried; !is_step && j < step.declared_outputs(); ++j)
    extension.inputs.push_back(step.inputs().size() + 1 + j - form_.carried + (j < first_sum ? 0 : stash_.size()));
  for (size_t j = 0; j < loop_body->declared_outputs(); ++j) extension.outputs.push_back(j);
  set_own_rule(body, loop_extensions, std::optional(std::move(extension)));
  return &scan;
}

}  // namespace pxl
