// Activations that compute their slopes for the backward pass: where they do, where not, the same bits.
#include "runtime/plan/plan.hpp"
#include "support.hpp"

using namespace pxl;

namespace {

/// y = f(x w), and what a gradient g of y gives x w and the like.
struct Layer {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Ops op{ir->main()};
  std::vector<Stream*> out;
  Tensor *h, *g;

  Layer() {
    Tensor *x = variable({8, 40}, -0.3F), *w = variable({40, 24}, 0.2F);
    g = variable({8, 24}, -0.1F);
    h = op("matmul", {x, w});
  }
  Tensor* variable(Shape shape, float from) {
    Array a(DType::float32, std::move(shape));
    float* to = a.mutable_data<float>();
    for (int64_t i = 0; i < a.size(); ++i) to[i] = from + 0.01F * static_cast<float>(i * 7 % 61);
    return ir->main().add_variable(std::move(a), "v");
  }
  void give(Tensor* t) { out.push_back(&store(*ir, t)); }
  std::string plan(const PlanOptions& options = {}) const { return print_plan(Planner(options).plan(ir->main())); }
  bool with_slope() const { return plan().find("with slope") != std::string::npos; }
  int64_t arena(const PlanOptions& options) const { return Planner(options).plan(ir->main()).arena_bytes; }
  std::vector<Array> results(const char* transforms) const {
    setenv("PXL_TRANSFORMS", transforms, 1);
    Session s(ir, "cpu");
    unsetenv("PXL_TRANSFORMS");
    const auto outputs = s.run({});
    std::vector<Array> all;
    for (Stream* stream : out) all.push_back(outputs.at(stream));
    return all;
  }
  void check_same_bits() const {
    const auto with = results(""), without = results("-slope"), separate = results("-fuse");
    for (size_t i = 0; i < with.size(); ++i) {
      CHECK(identical(with[i], without[i]));
      CHECK(identical(with[i], separate[i]));
    }
  }
};

}  // namespace

TEST_CASE("an activation computes its slope where its gradient is the last to read its operand") {
  constexpr std::pair<const char*, const char*> functions[] = {
      {"gelu", "gelu_grad"}, {"geluerf", "geluerf_grad"}, {"swish", "swish_grad"}};
  for (const auto& function : functions) {
    CAPTURE(function.first);
    Layer layer;
    layer.give(layer.op(function.first, {layer.h}));
    layer.give(layer.op(function.second, {layer.g, layer.h}));
    CHECK(layer.with_slope());
    CHECK_CONTAINS(layer.plan(), "by slope");
    CHECK(layer.plan(PlanOptions().without("slope")).find("slope") == std::string::npos);
    for (const PlanOptions& options : {PlanOptions(), PlanOptions().without("fuse")})
      CHECK(layer.arena(options) <= layer.arena(PlanOptions(options).without("slope")));
    layer.check_same_bits();
  }
}

TEST_CASE("the operand stays where others read it, or where nobody asks for the slope") {
  SUBCASE("another op reads it") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("gelu_grad", {layer.g, layer.h}));
    layer.give(layer.op("exp", {layer.h}));
    CHECK(!layer.with_slope());
    layer.check_same_bits();
  }
  SUBCASE("it is a result") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("gelu_grad", {layer.g, layer.h}));
    layer.give(layer.h);
    CHECK(!layer.with_slope());
    layer.check_same_bits();
  }
  SUBCASE("the gradient is another function's") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("swish_grad", {layer.g, layer.h}));
    CHECK(!layer.with_slope());
    layer.check_same_bits();
  }
  SUBCASE("no gradient") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    CHECK(!layer.with_slope());
  }
  SUBCASE("the gradient's gradient is the operand itself") {
    Layer layer;
    layer.give(layer.op("gelu", {layer.h}));
    layer.give(layer.op("gelu_grad", {layer.h, layer.h}));
    CHECK(!layer.with_slope());
    layer.check_same_bits();
  }
}

TEST_CASE("several gradients share one slope") {
  Layer layer;
  layer.give(layer.op("gelu", {layer.h}));
  layer.give(layer.op("gelu_grad", {layer.g, layer.h}));
  layer.give(layer.op("gelu_grad", {layer.op("negate", {layer.g}), layer.h}));
  CHECK(layer.with_slope());
  layer.check_same_bits();
}
