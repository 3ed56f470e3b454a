// The verifiers of nodes, passes and storage: each invariant is broken once.
#include "runtime/execute/session.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/plan/storage.hpp"
#include "runtime/plan/verify_nodes.hpp"
#include "runtime/plan/verify_storage.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// A graph's nodes, and its results as outputs.
struct Lowered {
  Ir ir;
  Ops op{ir.main()};
  std::vector<const Tensor*> outputs;
  std::vector<Node> nodes;

  Tensor* variable(Shape shape, const char* name) {
    Tensor* v = ir.main().add_variable(counting(shape), name);
    return v;
  }
  void lower_all() {
    for (const Op* o : schedule_order(ir.main())) nodes.push_back(lower(*o, {}));
  }
  std::string broken() const {
    return error_of([&] { verify_nodes(nodes, outputs); });
  }
};

/// y = exp(v + v), in two nodes.
struct Chain : Lowered {
  Tensor *v = variable({2, 3}, "v"), *sum = op("add", {v, v}), *y = op("exp", {sum});
  Chain() {
    outputs = {y};
    lower_all();
    REQUIRE(nodes.size() == 2);
    verify_nodes(nodes, outputs);
  }
};

/// w += g, then z = w * g.
struct Update : Lowered {
  InSequence order{ir.main(), InSequence::Mode::yes};
  Tensor *w = variable({4}, "w"), *g = variable({4}, "g");
  Tensor *updated = op("add_", {w, g}), *z = op("mul", {w, g});
  Update() {
    outputs = {z};
    lower_all();
    REQUIRE(nodes.size() == 2);
    verify_nodes(nodes, outputs);
  }
};

}  // namespace

TEST_CASE("definitions come once and before uses") {
  Chain late;
  std::swap(late.nodes[0], late.nodes[1]);
  CHECK(contains(late.broken(), "node 0 (exp): an operand is used before its definition"));
  Chain twice;
  twice.nodes.push_back(twice.nodes[1]);
  CHECK(contains(twice.broken(), "a result is null or defined twice"));
  Chain missing;
  missing.nodes.pop_back();
  CHECK(contains(missing.broken(), "is not defined"));
  Chain no_op;
  no_op.nodes[0].op = nullptr;
  CHECK(contains(no_op.broken(), "node 0 (?): no op"));
}

TEST_CASE("slots are in range, present and unique") {
  for (int slot : {-1, 2}) {
    Update u;
    u.nodes[0].modified = {slot};
    CHECK(contains(u.broken(), "a modified slot is out of range or empty"));
  }
  Update twice;
  twice.nodes[0].modified = {0, 0};
  CHECK(contains(twice.broken(), "a slot is modified twice"));
  Update alias;
  alias.nodes[0].alias = 7;
  CHECK(contains(alias.broken(), "the alias is out of range or empty"));
  Chain view;
  view.nodes[1].strided_view = true;
  CHECK(contains(view.broken(), "a strided view"));
  CHECK_NOTHROW(verify_nodes(view.nodes, view.outputs, true));
}

TEST_CASE("operands and results have the specs of the op") {
  Chain other;
  Tensor* wide = other.variable({3, 2}, "wide");
  other.nodes[0].in[1] = wide;
  CHECK(contains(other.broken(), "an operand has another shape or dtype than its op's"));
  Chain fewer;
  fewer.nodes[0].in.pop_back();
  CHECK(contains(fewer.broken(), "another number of operands or results"));
  Chain absent;
  absent.nodes[0].in[1] = nullptr;
  CHECK(contains(absent.broken(), "an operand has another shape or dtype than its op's"));
}

TEST_CASE("aliases and in-place candidates fit their memory") {
  Update alias;
  Tensor* wide = alias.variable({8}, "wide");
  alias.nodes[0].in[0] = wide;
  CHECK(contains(alias.broken(), "the alias has another dtype or size"));
  Chain in_place;
  Tensor* tall = in_place.variable({3, 2}, "tall");
  in_place.nodes[1].in.push_back(tall);
  in_place.nodes[1].in_place_candidates = {{0, 1}};
  CHECK(contains(in_place.broken(), "an in-place candidate has another shape or dtype"));
  in_place.nodes[1].in_place_candidates = {{0, 5}};
  CHECK(contains(in_place.broken(), "an in-place candidate is out of range"));
  Update both;
  both.nodes[0].in_place_candidates = {{0, 0}};
  CHECK(contains(both.broken(), "an in-place candidate is an alias already"));
  Chain later;
  later.nodes[0].output_aliases = {{0, true, 0}};
  CHECK(contains(later.broken(), "an output alias of no operand and no earlier output"));
  later.nodes[0].output_aliases = {{1, false, 0}};
  CHECK(contains(later.broken(), "an output alias is out of range"));
}

namespace {

/// c += tanh(a @ b), in one node of members.
struct Fused : Lowered {
  InSequence order{ir.main(), InSequence::Mode::yes};
  Tensor *a = variable({4, 5}, "a"), *b = variable({5, 6}, "b"), *c = variable({4, 6}, "c");
  Tensor *product = op("matmul", {a, b}), *y = op("tanh", {product});
  explicit Fused(bool wanted = true) {
    op("scaled_add_", {c, y}, {{"b", 0.5}});
    lower_all();
    REQUIRE(nodes.size() == 3);
    nodes[0].form = Form::product;
    nodes[0].product = {.shape = gemm_shape({4, 5}, false, {5, 6}, false), .in_blocks = true};
    Node one = compose(Form::fused, std::move(nodes), [&](const Tensor* t) { return wanted && t == y; });
    nodes.clear();
    nodes.push_back(std::move(one));
    if (wanted) outputs = {y};
    verify_nodes(nodes, outputs);
  }
  Node& one() { return nodes[0]; }
};

}  // namespace

TEST_CASE("products stay within their operands") {
  const auto broken = [](auto change) {
    Fused f;
    change(f.one().members[0]);
    return f.broken();
  };
  CHECK(broken([](Node&) {}) == "");
  CHECK(contains(broken([](Node& n) { n.product->shape.lda = 6; }), "a product reads beyond its operands"));
  CHECK(contains(broken([](Node& n) { n.product->shape.tb = true; }), "a product reads beyond its operands"));
  CHECK(contains(broken([](Node& n) { n.product->shape.b_offset = 1; }), "a product reads beyond its operands"));
  CHECK(contains(broken([](Node& n) { n.product->exchanged = true; }), "a product reads beyond its operands"));
  CHECK(contains(broken([](Node& n) { n.product->shape.m = 3; }), "a product has another size than its result"));
  CHECK(contains(broken([](Node& n) { n.product.reset(); }), "its form has other parts"));
  CHECK(contains(broken([](Node& n) { n.form = Form::op; }), "its form has other parts"));
}

TEST_CASE("a node of members has the operands, results and changes of its members") {
  const std::string message = "its operands, results or changes are not those of its members";
  Fused unread;
  unread.one().in.push_back(unread.variable({4, 6}, "d"));
  CHECK(contains(unread.broken(), message));
  Fused swapped;
  std::swap(swapped.one().in[0], swapped.one().in[1]);
  CHECK(contains(swapped.broken(), message));
  Fused silent;
  silent.one().modified.clear();
  CHECK(contains(silent.broken(), message));
  Fused missing;
  missing.one().members.pop_back();
  CHECK(contains(missing.broken(), message));
  Fused alone;
  alone.one().members.resize(1);
  CHECK(contains(alone.broken(), "another number of members"));
  Fused empty;
  empty.one().members.clear();
  CHECK(contains(empty.broken(), "its form has other parts"));
  Fused other;
  other.one().members[1].in[0] = other.a;
  CHECK(contains(other.broken(), "an operand has another shape or dtype than its op's"));
  CHECK(Fused(false).one().out.empty());
}

TEST_CASE("functions with derivatives, gradients by derivatives and writes of views fit their tensors") {
  Lowered l;
  Tensor *x = l.variable({3}, "x"), *dy = l.variable({3}, "dy"), *wide = l.variable({4}, "wide");
  Tensor *y = l.op("gelu", {x}), *dx = l.op("gelu_grad", {dy, x});
  l.outputs = {y, dx};
  l.lower_all();
  l.nodes[0].in_place_candidates.clear();
  l.nodes[0].form = Form::with_derivative;
  CHECK(contains(l.broken(), "its form has other parts"));
  l.nodes[0].gradient = dx->producer;
  CHECK(contains(l.broken(), "a function with its derivative is not of one tensor"));
  Tensor derivative = *y;
  l.nodes[0].out.push_back(&derivative);
  l.nodes[1].form = Form::by_derivative;
  l.nodes[1].in[1] = &derivative;
  CHECK(l.broken() == "");
  l.nodes[1].in[1] = wide;
  CHECK(contains(l.broken(), "a gradient and a derivative differ"));

  Update u;
  u.nodes[0].form = Form::view_write;
  u.nodes[0].part = ViewPart{0, contiguous({4}), contiguous({4})};
  CHECK(u.broken() == "");
  u.nodes[0].part->operand.offset = 1;
  CHECK(contains(u.broken(), "a view is written beyond its memory"));
}

TEST_CASE("passes keep what nodes read, and effects in their order") {
  Update u;
  const auto moved = [&](auto change) {
    std::vector<Node> nodes = u.nodes;
    const PassVerifier verifier(nodes);
    change(nodes);
    return error_of([&] { verifier.check(nodes, u.outputs, Keep::all, "test"); });
  };
  CHECK(moved([](auto&) {}) == "");
  CHECK(contains(moved([](auto& nodes) { std::swap(nodes[0], nodes[1]); }),
                 "pass test: node 1 reads `w` as written by node -1"));
  CHECK(contains(moved([](auto& nodes) { nodes[0].parts = {1}; }), "a node runs twice"));

  Lowered stores;
  const InSequence order(stores.ir.main(), InSequence::Mode::yes);
  Tensor* v = stores.variable({2}, "v");
  store(stores.ir, v, "first");
  store(stores.ir, v, "second");
  stores.lower_all();
  std::vector<Node> nodes = stores.nodes;
  const PassVerifier verifier(nodes);
  const std::vector<Node> numbered = nodes;
  std::swap(nodes[0], nodes[1]);
  CHECK(contains(error_of([&] { verifier.check(nodes, {}, Keep::all, "test"); }), "side effects change their order"));
  nodes = {numbered[0]};
  CHECK(
      contains(error_of([&] { verifier.check(nodes, {}, Keep::all, "test"); }), "a node with side effects is removed"));
  CHECK_NOTHROW(verifier.check(nodes, {}, Keep::results, "test"));
}

TEST_CASE("storage: memory holds what is read from it") {
  Lowered program;
  Tensor* v = program.variable({64}, "v");
  const InSequence order(program.ir.main(), InSequence::Mode::yes);
  Tensor *a = program.op("exp", {v}), *b = program.op("sin", {v}), *c = program.op("cos", {v});
  Tensor* y = program.op("add", {program.op("add", {c, a}), b});
  program.outputs = {y};
  program.lower_all();
  const auto plan = [&](auto change) {
    Plan p;
    Storage storage = assign_storage(program.nodes, {}, program.outputs);
    p.buffers = storage.buffers;
    p.buffer_of = storage.buffer_of;
    int64_t offset = 0;
    for (Buffer& buffer : p.buffers)
      if (buffer.kind == Buffer::Kind::arena) offset = (buffer.offset = offset) + buffer.bytes;
    change(p);
    return error_of([&] { verify_storage(p, program.nodes, program.outputs); });
  };
  const auto at = [](Plan& p, const Tensor* t) -> Buffer& { return p.buffers[static_cast<size_t>(p.buffer_of.at(t))]; };
  CHECK(plan([](Plan&) {}) == "");
  // b is written to the memory of a, which is read later.
  CHECK(contains(plan([&](Plan& p) { at(p, b).offset = at(p, a).offset; }), "an operand's memory holds another value"));
  CHECK(contains(plan([&](Plan& p) { at(p, b).offset = at(p, a).offset + 8; }),
                 "an operand's memory holds another value"));
  CHECK(contains(plan([&](Plan& p) { p.buffer_of[b] = p.buffer_of[a]; }), "an operand's memory holds another value"));
  // A result in the memory of an operand that the op may not overwrite: `add` may do so with its first only.
  CHECK(contains(plan([&](Plan& p) { p.buffer_of[y] = p.buffer_of[b]; }), "a result is in the memory of an operand"));
  // The temporary of a call, in the memory of an operand.
  CHECK(contains(plan([&](Plan& p) {
                   Buffer temporary;
                   temporary.bytes = 8;
                   temporary.offset = at(p, a).offset;
                   temporary.first = temporary.last = 2;
                   p.buffers.push_back(temporary);
                 }),
                 "an operand's memory holds another value"));
  CHECK(contains(plan([&](Plan& p) {
                   Buffer temporary;
                   temporary.bytes = 8;
                   temporary.offset = at(p, b).offset;
                   temporary.first = temporary.last = 1;
                   p.buffers.push_back(temporary);
                 }),
                 "a temporary of a call overlaps with a result"));
}
