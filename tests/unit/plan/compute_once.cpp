// What depends only on values that stay the same: computed before a loop, in the first run, or each time.
#include "runtime/transform/autodiff.hpp"
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// h @ w and its activation, repeated.
struct Recurrence : SmallProgram {
  InSequence order{ir->main(), InSequence::Mode::yes};
  Tensor *h = variable({12, 96}, -0.3F), *w = variable({96, 96}, -0.3F), *dy = variable({12, 96}, 0.1F);
  Graph &step = ir->create_graph("step"), &layer = ir->create_graph("layer");
  Ops at{step};
  Tensor *sh = step.add_input(h->spec, "h"), *sw = step.add_input(w->spec, "w");

  void product() { step.add_output(at("tanh", {at("matmul", {sh, sw})})); }
  Op* forward(int times) {
    Tensor *lh = layer.add_input(h->spec, "h"), *lw = layer.add_input(w->spec, "w");
    layer.add_output(add_repeat(layer, step, times, {lh, lw})->outputs[0]);
    return ir->main().add_call(layer, {h, w});
  }
  /// How many weights are packed before loops.
  size_t packed() const {
    Planner planner;
    planner.plan(ir->main());
    size_t n = 0;
    for (const Plan* p : planner.plans())
      for (const Instruction& i : p->instructions) n += i.once ? 1 : 0;
    return n;
  }
  void check_bits() const {
    const auto with = results(""), without = results("-compute_once");
    for (size_t i = 0; i < with.size(); ++i) CHECK(identical(with[i], without[i]));
  }
};

}  // namespace

TEST_CASE("a weight that a loop does not change is packed once, with the same bits") {
  for (int times : {0, 1, 2, 9, 10}) {
    CAPTURE(times);
    for (bool gradient : {false, true}) {
      if (gradient && times < 9) continue;  // autodiff writes out the iterations of a short loop
      Recurrence r;
      r.product();
      Op* call = r.forward(times);
      r.give(call->outputs[0]);
      if (gradient)
        for (Tensor* g : backward(*call, {r.dy}, {r.h, r.w}).gradients) r.give(g);
      CHECK(r.packed() == (gradient ? 2 : 1));
      r.check_bits();
    }
  }
}

TEST_CASE("a weight that a loop carries and does not change is packed once") {
  Recurrence r;
  r.product();
  r.step.add_output(r.sw);
  r.give(r.forward(4)->outputs[0]);
  CHECK(r.packed() == 1);
  r.check_bits();
}

TEST_CASE("a weight that a loop changes is not packed before it") {
  Recurrence r;
  const InSequence sequence(r.step, InSequence::Mode::yes);
  r.product();
  SUBCASE("as a value that it carries") { r.step.add_output(r.at("mul", {r.sw, r.sw})); }
  SUBCASE("in place") { r.at("scaled_add_", {r.sw, r.sw}, {{"b", 0.5}}); }
  r.give(r.forward(4)->outputs[0]);
  CHECK(r.packed() == 0);
  r.check_bits();
}

TEST_CASE("a weight of a main graph is packed once unless the program changes it") {
  Recurrence r;
  r.give(r.op("matmul", {r.h, r.w}));
  CHECK(r.packed() == 1);
  SUBCASE("changed") {
    r.op("scaled_add_", {r.w, r.w}, {{"b", 0.5}});
    CHECK(r.packed() == 0);
  }
  r.check_bits();
}

TEST_CASE("ops of what stays the same run once, unless their results are larger, leave the program or are changed") {
  Recurrence r;
  Tensor *x = r.variable({12, 96}, 0.2F), *t = r.op("tanh", {r.w});
  r.op("scaled_add_", {x, x}, {{"b", 0.5}});
  SUBCASE("a product of them") { r.give(r.op("matmul", {x, r.op("softmax", {t}, {{"axis", 1}})})); }
  SUBCASE("changed") {
    r.give(r.op("matmul", {x, r.op("scaled_add_", {t, t}, {{"b", 0.5}})}));
    CHECK(r.packed() == 0);
    r.check_bits();
    return;
  }
  CHECK(r.packed() >= 2);
  r.check_bits();
}

TEST_CASE("an op that reads a view stays after the view where the view has a node") {
  Recurrence r;
  Tensor* view = r.op("reshape_", {r.w}, {{"shape", std::vector<int64_t>{96 * 96}}});
  r.give(r.op("matmul", {r.h, r.op("reshape_", {r.op("tanh", {view})}, {{"shape", std::vector<int64_t>{96, 96}}})}));
  r.op("scaled_add_", {r.h, r.h}, {{"b", 0.5}});
  const auto with = r.results(""), kept = r.results("-eliminate_dead_code");
  CHECK(identical(with[0], kept[0]));
}
