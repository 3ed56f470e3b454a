// One pass over the weights for a layer's gradient of its input and its update: found, left alone, the same bits.
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// A layer's backward pass: x[m, k], w[k, n] and dy[m, n], all variables.
struct Layer : SmallProgram {
  InSequence order;
  Tensor *x, *w, *dy;

  Layer(int64_t m, int64_t k, int64_t n)
      : order(ir->main(), InSequence::Mode::yes),
        x(variable({m, k}, -0.3F)),
        w(variable({k, n}, 0.2F)),
        dy(variable({m, n}, -0.1F)) {}

  Tensor* input_gradient() { return op("matmul", {dy, op("transpose", {w})}); }
  Tensor* weight_gradient(Tensor* of) { return op("matmul", {op("transpose", {of}), dy}); }
  void update(Tensor* gradient) { op("scaled_add_", {w, gradient}, {{"b", -0.01}}); }

  bool paired(const PlanOptions& options = {}) const {
    return print_plan(Planner(options).plan(ir->main())).find("matmul[rhs transposed]") != std::string::npos &&
           print_plan(Planner(options).plan(ir->main())).find(", matmul[lhs transposed]+") != std::string::npos;
  }
  std::vector<Array> results(bool fuse) const {
    setenv("PXL_FUSE", fuse ? "on" : "off", 1);
    Session s(ir, "cpu");
    unsetenv("PXL_FUSE");
    std::vector<Array> all;
    for (int run = 0; run < 3; ++run) {
      auto outputs = s.run({});
      for (Stream* stream : out) all.push_back(outputs.at(stream));
    }
    for (Tensor* v : variables) all.push_back(s.get_tensor_data(v));
    return all;
  }
  void check_same_bits() const {
    const auto fused = results(true), plain = results(false);
    REQUIRE(fused.size() == plain.size());
    for (size_t i = 0; i < fused.size(); ++i) CHECK(identical(fused[i], plain[i]));
  }
};

}  // namespace

TEST_CASE("a layer's input gradient and weight update are one pass, with the same bits") {
  for (int64_t m : {1, 5, 8, 9, 16}) {
    for (int64_t k : {40, 300}) {
      for (int64_t n : {10, 24, 100}) {
        CAPTURE(m);
        CAPTURE(k);
        CAPTURE(n);
        Layer layer(m, k, n);
        Tensor* dx = layer.input_gradient();
        layer.update(layer.weight_gradient(layer.x));
        layer.give(layer.op("tanh", {dx}));
        // One row has no transposition to fold: moving its axes moves no element.
        CHECK(layer.paired() == (m > 1));
        CHECK(!layer.paired(PlanOptions().without("fuse_dgrad_wgrad")));
        layer.check_same_bits();
      }
    }
  }
}

TEST_CASE("an update with state of its own joins the pass") {
  Layer layer(8, 64, 48);
  Tensor* momentum = layer.variable({64, 48}, 0.0F);
  layer.give(layer.input_gradient());
  layer.op("scaled_add_", {momentum, layer.weight_gradient(layer.x)}, {{"b", 1.0}});
  layer.update(momentum);
  CHECK(layer.paired());
  layer.check_same_bits();
}

TEST_CASE("an update that comes first stays first") {
  Layer layer(8, 64, 48);
  layer.update(layer.weight_gradient(layer.x));
  layer.give(layer.input_gradient());
  CHECK(!layer.paired());
  layer.check_same_bits();
}

TEST_CASE("an update that needs the input's gradient stays after it") {
  Layer layer(8, 64, 48);
  Tensor* dx = layer.input_gradient();
  layer.update(layer.weight_gradient(dx));
  layer.give(dx);
  CHECK(!layer.paired());
  layer.check_same_bits();
}

TEST_CASE("a reader of the old weights between the two keeps its value") {
  Layer layer(8, 64, 48);
  Tensor* dx = layer.input_gradient();
  Tensor* old = layer.op("sum", {layer.op("tanh", {layer.w})});
  layer.update(layer.weight_gradient(layer.op("mul", {layer.x, layer.op("sum", {layer.op("exp", {dx})})})));
  layer.give(old);
  CHECK(!layer.paired());
  layer.check_same_bits();
}

TEST_CASE("a gradient that is only stored, or of other operands, is no update of these weights") {
  Layer stored(8, 64, 48);
  stored.give(stored.input_gradient());
  stored.give(stored.weight_gradient(stored.x));
  CHECK(!stored.paired());
  stored.check_same_bits();
  Layer other(8, 64, 48);
  Tensor* elsewhere = other.variable({64, 48}, 0.4F);
  other.give(other.input_gradient());
  other.op("scaled_add_", {elsewhere, other.weight_gradient(other.x)}, {{"b", -0.01}});
  CHECK(!other.paired());
  other.check_same_bits();
}
