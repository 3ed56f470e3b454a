// The loop of a forward pass and the loop of its gradient that repeats the iterations: merged, or left alone.
#include "runtime/transform/autodiff.hpp"
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Recurrence : SmallProgram {
  InSequence order{ir->main(), InSequence::Mode::yes};
  Tensor *h = variable({4, 8}, -0.3F), *w = variable({8, 8}, -0.3F), *dy = variable({4, 8}, 0.1F);
  Graph& step = ir->create_graph("step");
  Graph& layer = ir->create_graph("layer");

  Recurrence() {
    Tensor *sh = step.add_input(h->spec, "h"), *sw = step.add_input(w->spec, "w");
    Ops at(step);
    step.add_output(at("tanh", {at("matmul", {sh, sw})}));
    Tensor *lh = layer.add_input(h->spec, "h"), *lw = layer.add_input(w->spec, "w");
    layer.add_output(add_repeat(layer, step, 9, {lh, lw})->outputs[0]);
  }
  Op* forward() { return ir->main().add_call(layer, {h, w}); }
  void gradient(Op& call) {
    for (Tensor* g : backward(call, {dy}, {h, w}).gradients) give(g);
  }
  /// Does the same as `gradient`, but by a plain call of the gradient graph, which reads its operands as they are now.
  void late_gradient(const Op& call) {
    const GradGraphInfoPtr info = autodiff(layer);
    const std::map<Tensor*, Tensor*> given = info->inputs_dict(call);
    std::vector<Tensor*> operands;
    for (Tensor* t : info->graph->inputs()) operands.push_back(given.count(t) ? given.at(t) : dy);
    for (Tensor* g : ir->main().add_call(*info->graph, std::move(operands))->outputs) give(g);
  }
  size_t loops(const PlanOptions& options = {}) const {
    const std::string text = plan(options);
    size_t n = 0;
    for (size_t at = text.find(" 9 times"); at != std::string::npos; at = text.find(" 9 times", at + 1)) ++n;
    return n;
  }
};

}  // namespace

TEST_CASE("a loop and its gradient run the iterations once forwards and once backwards") {
  Recurrence r;
  Op* call = r.forward();
  r.give(call->outputs[0]);
  r.gradient(*call);
  CHECK(r.loops() == 2);
  CHECK(r.loops(PlanOptions().without("merge_loops")) == 3);
  CHECK(PlanOptions().without("merge_loops").allows("fuse_elementwise"));
  r.check_same_bits("-merge_loops");
}

TEST_CASE("a loop is not merged with one before a change of its operands") {
  Recurrence r;
  Op* call = r.forward();
  r.give(call->outputs[0]);
  r.op("scaled_add_", {r.w, r.w}, {{"b", 0.5}});
  r.late_gradient(*call);
  CHECK(r.loops() == 3);
  r.check_same_bits("-merge_loops");
}

TEST_CASE("the last of equal loops is merged") {
  Recurrence r;
  Op *first = r.forward(), *second = r.forward();
  r.give(first->outputs[0]);
  r.give(second->outputs[0]);
  r.gradient(*first);
  CHECK(r.loops(PlanOptions().without("eliminate_common_subexpressions")) == 3);
  r.check_same_bits("-merge_loops");
}
