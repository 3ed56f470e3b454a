// A small update divided together with the large step after it: found, left alone, the same bits.
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// A layer's updates: the bias by a sum over the rows of dy, then the weights.
struct Layer : SmallProgram {
  InSequence order;
  Tensor *x, *w, *b, *dy;

  explicit Layer(int64_t outputs)
      : order(ir->main(), InSequence::Mode::yes),
        x(variable({8, 512}, -0.3F)),
        w(variable({512, outputs}, 0.2F)),
        b(variable({outputs}, 0.1F)),
        dy(variable({8, outputs}, -0.1F)) {}

  void update_bias() { op("scaled_add_", {b, op("sum", {dy}, {{"axis", std::vector<int64_t>{0}}})}, {{"b", -0.01}}); }
  void update_weights() { op("scaled_add_", {w, op("matmul", {op("transpose", {x}), dy})}, {{"b", -0.01}}); }
  bool together(const PlanOptions& options = {}) const {
    return print_plan(Planner(options).plan(ir->main())).find("scaled_add_, matmul") != std::string::npos;
  }
  std::vector<Array> results(bool fuse) const {
    setenv("PXL_FUSE", fuse ? "on" : "off", 1);
    Session s(ir, "cpu");
    unsetenv("PXL_FUSE");
    for (int run = 0; run < 3; ++run) s.run({});
    std::vector<Array> all;
    for (Tensor* v : variables) all.push_back(s.get_tensor_data(v));
    return all;
  }
  void check_same_bits() const {
    const auto fused = results(true), plain = results(false);
    for (size_t i = 0; i < fused.size(); ++i) CHECK(identical(fused[i], plain[i]));
  }
};

}  // namespace

TEST_CASE("the update of a bias is divided together with the update of the weights, of the same bits") {
  for (int64_t outputs : {40, 96, 200}) {
    CAPTURE(outputs);
    Layer layer(outputs);
    layer.update_bias();
    layer.update_weights();
    CHECK(layer.together());
    CHECK(!layer.together(PlanOptions().without("fuse_horizontally")));
    layer.check_same_bits();
  }
}

TEST_CASE("a small update of what the large step reads comes first") {
  Layer layer(96);
  layer.op("scaled_add_", {layer.dy, layer.dy}, {{"b", 0.5}});
  layer.update_weights();
  CHECK(!layer.together());
  layer.check_same_bits();
}

TEST_CASE("a small step beside another small one stays by itself") {
  Layer layer(10);
  layer.update_bias();
  layer.update_weights();
  CHECK(!layer.together());
  layer.check_same_bits();
}
