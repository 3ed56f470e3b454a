// Transpositions, reshapes and splits around batches of products: done without where nobody else needs them.
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

using Axes = std::vector<int64_t>;

/// Attention of 3 heads, 16 wide, over 2 sequences of 24 rows, from their joint projection.
struct Attention : SmallProgram {
  Tensor* x;

  Attention() { x = op("tanh", {variable({48, 144}, -0.3F)}); }
  Tensor* transpose(Tensor* t, Axes axes) { return op("transpose", {t}, {{"permutation", std::move(axes)}}); }
  Tensor* split_heads(Tensor* t) {
    return transpose(op("reshape", {t}, {{"shape", Axes{2, 24, 3, 16}}}), {0, 2, 1, 3});
  }
  std::vector<Tensor*> parts() {
    op("split", {x}, {{"splits", int64_t{3}}, {"axis", int64_t{1}}});
    std::vector<Tensor*> all;
    for (Tensor* part : x->consumers.back()->outputs) all.push_back(split_heads(part));
    return all;
  }
  int count(const std::string& name, const PlanOptions& options = {}) const {
    const std::string text = plan(options);
    int found = 0;
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) ++found;
    return found;
  }
};

}  // namespace

TEST_CASE("attention moves no element") {
  Attention a;
  const std::vector<Tensor*> qkv = a.parts();
  Tensor* scores =
      a.op("softmax", {a.op("matmul", {qkv[0], a.transpose(qkv[1], {0, 1, 3, 2})})}, {{"axis", int64_t{-1}}});
  Tensor* mixed = a.transpose(a.op("matmul", {scores, qkv[2]}), {0, 2, 1, 3});
  a.give(a.op("exp", {a.op("reshape", {mixed}, {{"shape", Axes{48, 48}}})}));
  CHECK(a.count("Transpose") == 0);
  CHECK(a.count("Split") == 0);
  CHECK(a.count("strided operands") >= 1);
  CHECK(a.count("and result") >= 1);
  CHECK(a.count("Transpose", PlanOptions().without("strided_operands")) >= 4);
  CHECK(a.arena({}) <= a.arena(PlanOptions().without("strided_operands")));
  a.check_same_bits("-strided_operands");
}

TEST_CASE("a node with another reader stays") {
  SUBCASE("one of the transposed tensors") {
    Attention a;
    const std::vector<Tensor*> qkv = a.parts();
    a.give(a.op("matmul", {qkv[0], a.transpose(qkv[1], {0, 1, 3, 2})}));
    a.give(a.op("exp", {qkv[1]}));
    a.give(a.op("exp", {qkv[2]}));
    CHECK(a.count("Split") >= 1);
    a.check_same_bits("-strided_operands");
  }
  SUBCASE("a result and its transposition") {
    Attention a;
    const std::vector<Tensor*> qkv = a.parts();
    Tensor* scores = a.op("matmul", {qkv[0], a.transpose(qkv[1], {0, 1, 3, 2})});
    a.give(scores);
    a.give(a.op("exp", {a.transpose(scores, {0, 2, 1, 3})}));
    a.give(a.op("exp", {qkv[2]}));
    CHECK(a.count("and result") == 0);
    a.check_same_bits("-strided_operands");
  }
  SUBCASE("a source that changes in between") {
    Attention a;
    InSequence order(a.ir->main(), InSequence::Mode::yes);
    const std::vector<Tensor*> qkv = a.parts();
    a.op("add_", {a.x, a.op.constant(Array::full(DType::float32, {}, 1.0))});
    a.give(a.op("matmul", {qkv[0], a.transpose(qkv[1], {0, 1, 3, 2})}));
    a.give(a.op("exp", {qkv[2]}));
    CHECK(a.count("Split") >= 1);
    a.check_same_bits("-strided_operands");
  }
}

TEST_CASE("transposed results") {
  Attention a;
  const std::vector<Tensor*> qkv = a.parts();
  // [2, 3, 24, 16] with its last axes swapped, then the heads after the rows.
  Tensor* turned =
      a.transpose(a.op("matmul", {a.op("matmul", {qkv[0], a.transpose(qkv[1], {0, 1, 3, 2})}), qkv[2]}), {0, 1, 3, 2});
  a.give(a.op("exp", {a.transpose(turned, {0, 2, 1, 3})}));
  CHECK(a.count("Transpose") == 0);
  const auto with = a.results(""), without = a.results("-strided_operands");
  for (int64_t i = 0; i < with[0].size(); ++i)
    CHECK(with[0].number(i) == doctest::Approx(without[0].number(i)).epsilon(1e-6));
}
