// The numbers that gradient graphs compute, run by sessions.
#include <doctest/doctest.h>

#include "runtime/execute/session.hpp"
#include "tests/unit/transform/build.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// Stores a tensor of the main graph in every run.
const Stream* store(Ir& ir, Tensor* t) {
  Stream& s = ir.add_stream(t->spec, "out", false);
  ir.main().add_host_store(s, t);
  return &s;
}

std::vector<double> numbers(const Array& a) {
  std::vector<double> found;
  for (int64_t i = 0; i < a.size(); ++i) found.push_back(a.number(i));
  return found;
}

std::vector<std::vector<double>> run(const std::shared_ptr<Ir>& ir, const std::vector<Tensor*>& tensors) {
  std::vector<const Stream*> streams;
  for (Tensor* t : tensors) streams.push_back(store(*ir, t));
  verify(*ir);
  Session session(ir, "cpu");
  const auto results = session.run({});
  std::vector<std::vector<double>> found;
  for (const Stream* s : streams) found.push_back(numbers(results.at(s)));
  return found;
}

void check_near(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

/// The gradients of a call `g` with respect to `wanted`, for an output gradient with ones.
std::vector<std::vector<double>> gradients(const std::shared_ptr<Ir>& ir, Graph& g, std::vector<Tensor*> given,
                                           const std::vector<Tensor*>& wanted) {
  Op* site = ir->main().add_call(g, std::move(given));
  Tensor* dy = ir->main().add_constant(Array::full(DType::float32, g.outputs()[0]->spec.shape, 1), "dy");
  return run(ir, backward(*site, {dy}, wanted).gradients);
}

struct LinearCase {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Tensor* x = variable(*ir, {2, 2}, {1, 2, 3, 4}, "x");
  Tensor* w = variable(*ir, {2, 2}, {1, -1, 2, 0}, "w");
  Tensor* b = variable(*ir, {2}, {.5, -.5}, "b");
};

}  // namespace

TEST_CASE("a linear layer") {
  LinearCase c;
  const auto found = gradients(c.ir, linear(*c.ir), {c.x, c.w, c.b}, {c.x, c.w, c.b});
  check_near(found[0], {0, 2, 0, 2});
  check_near(found[1], {4, 4, 6, 6});
  check_near(found[2], {2, 2});
}

TEST_CASE("a linear layer with gelu, inlined and in a call") {
  LinearCase c;
  Graph* g = &linear(*c.ir, true);
  SUBCASE("at once") {}
  SUBCASE("through a call") {
    Graph& outer = c.ir->create_graph("outer");
    std::vector<Tensor*> inputs;
    for (const Tensor* t : g->inputs()) inputs.push_back(outer.add_input(t->spec, t->name));
    outer.add_output(outer.add_call(*g, inputs)->outputs[0]);
    g = &outer;
  }
  const auto found = gradients(c.ir, *g, {c.x, c.w, c.b}, {c.x, c.w, c.b});
  check_near(found[0], {1.127711, 2, 1.002423, 2});
  check_near(found[1], {4, -.134979, 6, -.265112});
  check_near(found[2], {2, -.130133});
}

TEST_CASE("a tensor given to two inputs has the sum of both gradients") {
  auto ir = std::make_shared<Ir>();
  Graph& g = ir->create_graph("f");
  g.add_output(op("mul", {g.add_input(f32({2}), "a"), g.add_input(f32({2}), "b")}));
  Tensor* v = variable(*ir, {2}, {3, 5}, "v");
  check_near(gradients(ir, g, {v, v}, {v})[0], {6, 10});
}

TEST_CASE("second derivative of x cubed") {
  auto ir = std::make_shared<Ir>();
  Graph& g = ir->create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  g.add_output(op("mul", {op("mul", {x, x}), x}));
  Graph& first = ir->create_graph("first");
  Tensor* y = first.add_input(f32({3}), "x");
  Op* site = first.add_call(g, {y});
  Tensor* ones = first.add_constant(Array::full(DType::float32, {3}, 1), "ones");
  first.add_output(backward(*site, {ones}, {y}).gradients[0]);
  Tensor* v = variable(*ir, {3}, {1, 2, -3}, "v");
  check_near(gradients(ir, first, {v}, {v})[0], {6, 12, -18});
}

TEST_CASE("a repeat: carried state and an invariant") {
  auto ir = std::make_shared<Ir>();
  Graph& body = ir->create_graph("body");
  Tensor* x = body.add_input(f32({2}), "x");
  Tensor* w = body.add_input(f32({2}), "w");
  body.add_output(op("mul", {x, w}));
  Graph& g = ir->create_graph("f");
  Tensor* a = g.add_input(f32({2}), "a");
  Tensor* b = g.add_input(f32({2}), "b");
  const OpRow& loop = get_op("loop");
  Attributes attrs(loop.params.size());
  for (size_t i = 0; i < attrs.size(); ++i)
    if (loop.params[i].name == "count") attrs[i] = int64_t{3};
  g.add_output(g.add_control(loop, {&body}, {a, b}, attrs)->outputs[0]);  // a b^3
  Tensor* v = variable(*ir, {2}, {2, 1}, "v");
  Tensor* w0 = variable(*ir, {2}, {3, -2}, "w");
  const auto found = gradients(ir, g, {v, w0}, {v, w0});
  check_near(found[0], {27, -8});
  check_near(found[1], {54, 12});
}

TEST_CASE("a conditional: the branch that is taken has the gradient") {
  auto ir = std::make_shared<Ir>();
  Graph& square = ir->create_graph("square");
  Tensor* x = square.add_input(f32({2}), "x");
  square.add_output(op("mul", {x, x}));
  Graph& twice = ir->create_graph("twice");
  Tensor* y = twice.add_input(f32({2}), "y");
  twice.add_output(op("add", {y, y}));
  Graph& g = ir->create_graph("f");
  Tensor* condition = g.add_input({{}, DType::boolean, {}}, "c");
  Tensor* a = g.add_input(f32({2}), "a");
  const OpRow& branch = get_op("branch");
  g.add_output(g.add_control(branch, {&square, &twice}, {condition, a, a})->outputs[0]);
  Tensor* v = variable(*ir, {2}, {3, 4}, "v");
  bool taken = true;
  std::vector<double> expected{6, 8};
  SUBCASE("then") {}
  SUBCASE("else") {
    taken = false;
    expected = {2, 2};
  }
  Tensor* c = ir->main().add_constant(Array::scalar(taken), "c");
  check_near(gradients(ir, g, {c, v}, {v})[0], expected);
}
