// Activations that compute their derivatives for the backward pass: where they do, where not, the same bits.
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// h = x w, of which functions are taken, and a gradient g of such a function.
struct Layer : SmallProgram {
  Tensor *h, *g;

  Layer() {
    Tensor *x = variable({8, 40}, -0.3F), *w = variable({40, 24}, 0.2F);
    g = variable({8, 24}, -0.1F);
    h = op("matmul", {x, w});
  }
  bool with_derivative() const { return plan().find("with derivative") != std::string::npos; }
};

}  // namespace

TEST_CASE("an activation computes its derivative where its gradient is the last to read its operand") {
  constexpr std::pair<const char*, const char*> functions[] = {
      {"gelu", "gelu_grad"}, {"geluerf", "geluerf_grad"}, {"swish", "swish_grad"}};
  for (const auto& function : functions) {
    CAPTURE(function.first);
    Layer layer;
    layer.give(layer.op(function.first, {layer.h}));
    layer.give(layer.op(function.second, {layer.g, layer.h}));
    CHECK(layer.with_derivative());
    CHECK_CONTAINS(layer.plan(), "by derivative");
    CHECK(layer.plan(PlanOptions().without("save_derivatives")).find("derivative") == std::string::npos);
    // What is computed once stays in memory, as the whole layer here would.
    const PlanOptions each_time = PlanOptions().without("compute_once");
    for (const PlanOptions& options : {each_time, PlanOptions(each_time).without("fuse_elementwise")})
      CHECK(layer.arena(options) <= layer.arena(PlanOptions(options).without("save_derivatives")));
    layer.check_same_bits("-save_derivatives");
  }
}

TEST_CASE("the operand stays where others read it, or where the derivative is unused") {
  SUBCASE("another op reads it") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("gelu_grad", {layer.g, layer.h}));
    layer.give(layer.op("exp", {layer.h}));
    CHECK(!layer.with_derivative());
    layer.check_same_bits("-save_derivatives");
  }
  SUBCASE("it is a result") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("gelu_grad", {layer.g, layer.h}));
    layer.give(layer.h);
    CHECK(!layer.with_derivative());
    layer.check_same_bits("-save_derivatives");
  }
  SUBCASE("the gradient is another function's") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("swish_grad", {layer.g, layer.h}));
    CHECK(!layer.with_derivative());
    layer.check_same_bits("-save_derivatives");
  }
  SUBCASE("no gradient") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    CHECK(!layer.with_derivative());
  }
  SUBCASE("the gradient's gradient is the operand itself") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("gelu_grad", {layer.h, layer.h}));
    CHECK(!layer.with_derivative());
    layer.check_same_bits("-save_derivatives");
  }
}

TEST_CASE("several gradients share one derivative") {
  Layer layer;
  layer.give(layer.op("gelu", {layer.h}));
  layer.give(layer.op("gelu_grad", {layer.g, layer.h}));
  layer.give(layer.op("gelu_grad", {layer.op("negate", {layer.g}), layer.h}));
  CHECK(layer.with_derivative());
  layer.check_same_bits("-save_derivatives");
}
