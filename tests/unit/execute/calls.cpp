// Calls, loops and branches: value semantics and flattening.
#include <cmath>
#include <utility>

#include "runtime/execute/evaluate.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// x += 1, without outputs or returning the updated or the given tensor.
Graph& increment(Ir& ir, bool by_ref, int returns = 0) {
  Graph& g = ir.create_graph("increment");
  Tensor* x = g.add_input({{2}, DType::float32, {}}, "x", by_ref);
  Ops op(g);
  Tensor* y = op("add_", {x, op.constant(floats({2}, {1, 1}))});
  if (returns) g.add_output(returns == 1 ? y : x);
  return g;
}

struct Result {
  Array variable, out;
};

/// Calls `callee` on a variable of 1s in sequence, then stores the variable (or the call's output).
template <class Prepare>
Result run_call(std::shared_ptr<Ir> ir, Graph& callee, Prepare&& prepare) {
  Graph& g = ir->main();
  Tensor* w = g.add_variable(floats({2}, {1, 1}), "w");
  InSequence order(g, InSequence::Mode::yes);
  Op* call = g.add_call(callee, {w});
  prepare(*call);
  Stream& out = store(*ir, call->outputs.empty() ? w : call->outputs[0]);
  Session s(ir, "cpu");
  Result result;
  result.out = s.run({}).at(&out);
  result.variable = s.get_tensor_data(w);
  return result;
}

}  // namespace

TEST_CASE("inputs are passed by value unless by reference or marked") {
  const auto nothing = [](Op&) {};
  for (int returns : {0, 1, 2}) {
    auto ir = std::make_shared<Ir>();
    Result r = run_call(ir, increment(*ir, false, returns), nothing);
    CHECK(first(r.variable) == 1.0F);
    CHECK(first(r.out) == (returns ? 2.0F : 1.0F));

    ir = std::make_shared<Ir>();
    r = run_call(ir, increment(*ir, true, returns), nothing);
    CHECK(first(r.variable) == 2.0F);
    CHECK(first(r.out) == 2.0F);

    ir = std::make_shared<Ir>();
    r = run_call(ir, increment(*ir, false, returns), [](Op& call) { call.input_modified = {true}; });
    CHECK(first(r.variable) == 2.0F);
    CHECK(first(r.out) == 2.0F);
  }
}

TEST_CASE("a by-reference input reaches through nested calls") {
  auto ir = std::make_shared<Ir>();
  Graph& inner = increment(*ir, true);
  Graph& outer = ir->create_graph("outer");
  Tensor* x = outer.add_input({{2}, DType::float32, {}}, "x", true);
  {
    InSequence order(outer, InSequence::Mode::yes);
    outer.add_call(inner, {x});
    outer.add_call(inner, {x});
  }
  CHECK(first(run_call(ir, outer, [](Op&) {}).variable) == 3.0F);

  // The same inner graph with a by-value input.
  ir = std::make_shared<Ir>();
  Graph& inner2 = increment(*ir, true);
  Graph& value = ir->create_graph("value");
  Tensor* v = value.add_input({{2}, DType::float32, {}}, "x", false);
  value.add_call(inner2, {v});
  CHECK(first(run_call(ir, value, [](Op&) {}).variable) == 1.0F);
}

TEST_CASE("outputs that are inputs, constants, or the same tensor twice") {
  auto ir = std::make_shared<Ir>();
  Graph& f = ir->create_graph("f");
  Tensor* a = f.add_input({{2, 2}, DType::float32, {}}, "a");
  Tensor* b = f.add_input({{2, 2}, DType::float32, {}}, "b");
  Ops in(f);
  Tensor* sum = in("add", {a, b});
  f.add_output(b);
  f.add_output(a);
  f.add_output(sum);
  f.add_output(sum);
  f.add_output(in.constant(floats({2}, {5, 6})));
  f.add_output(in("reshape", {a}, {{"shape", std::vector<int64_t>{4}}}));
  f.add_output(in("transpose", {b}));

  Graph& g = ir->main();
  Ops op(g);
  Tensor* x = g.add_variable(counting({2, 2}), "x");
  Tensor* y = g.add_variable(counting({2, 2}, 10), "y");
  InSequence order(g, InSequence::Mode::yes);
  Op* call = g.add_call(f, {x, y});
  op("add_", {x, y});  // what the call returned must not follow
  std::vector<Stream*> outs;
  for (Tensor* t : call->outputs) outs.push_back(&store(*ir, t));
  op("add_", {call->outputs[2], x});
  Stream& last = store(*ir, call->outputs[3]);
  Session s(ir, "cpu");
  for (int run = 0; run < 2; ++run) {
    s.write_variable_data(x, counting({2, 2}));
    auto out = s.run({});
    CHECK(identical(out.at(outs[0]), counting({2, 2}, 10)));
    CHECK(identical(out.at(outs[1]), counting({2, 2})));
    CHECK(identical(out.at(outs[2]), floats({2, 2}, {10, 12, 14, 16})));
    CHECK(identical(out.at(outs[3]), floats({2, 2}, {10, 12, 14, 16})));
    CHECK(identical(out.at(outs[4]), floats({2}, {5, 6})));
    CHECK(identical(out.at(outs[5]), counting({4})));
    CHECK(identical(out.at(outs[6]), floats({2, 2}, {10, 12, 11, 13})));
    CHECK(identical(out.at(&last), floats({2, 2}, {10, 12, 14, 16})));
  }
}

TEST_CASE("a by-value input beside a by-reference one of the same tensor") {
  auto ir = std::make_shared<Ir>();
  Graph& f = ir->create_graph("f");
  Tensor* a = f.add_input({{2}, DType::float32, {}}, "a", true);
  Tensor* b = f.add_input({{2}, DType::float32, {}}, "b");
  Ops in(f);
  InSequence inner(f, InSequence::Mode::yes);
  in("add_", {a, b});
  in("add_", {a, b});
  Graph& g = ir->main();
  Tensor* w = g.add_variable(floats({2}, {1, 1}), "w");
  g.add_call(f, {w, w});
  Session s(ir, "cpu");
  s.run({});
  CHECK(first(s.get_tensor_data(w)) == 3.0F);
}

TEST_CASE("a constant that a called graph changes starts afresh in every run") {
  auto ir = std::make_shared<Ir>();
  Graph& f = ir->create_graph("f");
  Tensor* x = f.add_input({{2}, DType::float32, {}}, "x", true);
  Ops inner(f);
  inner("add_", {x, inner.constant(floats({2}, {1, 1}))});
  Graph& g = ir->main();
  Ops op(g);
  InSequence order(g, InSequence::Mode::yes);
  Tensor* c = op.constant(floats({2}, {1, 1}));
  CHECK_CONTAINS(error_of([&] { op("add_", {c, c}); }), "cannot be changed in place");
  g.add_call(f, {c});
  Stream& out = store(*ir, op("relu", {c}));
  Session s(ir, "cpu");
  CHECK(first(s.run({}).at(&out)) == 2.0F);
  CHECK(first(s.run({}).at(&out)) == 2.0F);
  CHECK(first(s.get_tensor_data(c)) == 1.0F);
}

TEST_CASE("repeat carries outputs to inputs and streams slices") {
  for (int64_t n : {0, 1, 4, 10}) {
    auto ir = std::make_shared<Ir>();
    Graph& body = ir->create_graph("body");
    Tensor* x = body.add_input({{2}, DType::float32, {}}, "x");
    Tensor* step = body.add_input({{2}, DType::float32, {}}, "step");
    Tensor* total = body.add_input({{2}, DType::float32, {}}, "total", true);
    {
      InSequence order(body, InSequence::Mode::yes);
      Ops op(body);
      Tensor* twice = op("add_", {step, step});  // by value: every iteration starts from the caller's step
      Tensor* next = op("add", {x, twice});
      op("add_", {total, next});
      body.add_output(next);
    }
    Graph& g = ir->main();
    Ops op(g);
    Tensor* w = g.add_variable(floats({2}, {1, 1}), "w");
    Tensor* sum = g.add_variable(floats({2}, {0, 0}), "sum");
    Op* loop = add_repeat(g, body, n, {w, op.constant(floats({2}, {0.5F, 0.5F})), sum});
    Stream& out = store(*ir, loop->outputs[0]);
    Session s(ir, "cpu");
    const auto count = static_cast<float>(n);
    CHECK(first(s.run({}).at(&out)) == 1.0F + count);
    CHECK(first(s.get_tensor_data(w)) == 1.0F);
    CHECK(first(s.get_tensor_data(sum)) == count + count * (count + 1) / 2);
  }
  auto ir = std::make_shared<Ir>();
  Stream& in = ir->add_stream({{}, DType::float32, {}}, "in", true);
  Stream& out = ir->add_stream({{}, DType::float32, {}}, "out", false);
  Graph& body = ir->create_graph("body");
  Ops op(body);
  Tensor* a = body.add_host_load(in, "a")->outputs[0];
  {
    InSequence order(body, InSequence::Mode::yes);
    Tensor* b = body.add_host_load(in, "b")->outputs[0];
    body.add_host_store(out, op("sub", {b, a}));
  }
  add_repeat(ir->main(), body, 3, {});
  Session s(ir, "cpu");
  CHECK(s.num_host_transfers() == 6);
  CHECK(s.transfers(&out) == 3);
  CHECK(identical(s.run({{&in, floats({6}, {1, 2, 10, 20, 100, 200})}}).at(&out), floats({3}, {1, 10, 100})));
}

TEST_CASE("results of an iteration and its operands change places, for any number of iterations") {
  const Shape large{8192}, small{2};
  const auto filled = [](const Shape& shape, double value) { return Array::full(DType::float32, shape, value); };
  for (int64_t n : {0, 1, 2, 3, 10}) {
    auto ir = std::make_shared<Ir>();
    Graph& body = ir->create_graph("body");
    Tensor* x = body.add_input({large, DType::float32, {}}, "x");
    Tensor* y = body.add_input({large, DType::float32, {}}, "y");
    Tensor* z = body.add_input({small, DType::float32, {}}, "z");
    Tensor* same = body.add_input({large, DType::float32, {}}, "same");
    {
      Ops op(body);
      for (Tensor* t :
           {op("add", {y, op("roll", {x}, {{"shift", int64_t{1}}, {"axis", int64_t{0}}})}), x, op("add", {z, z}), same})
        body.add_output(t);
    }
    Graph& g = ir->main();
    Ops op(g);
    Tensor* start = g.add_variable(filled(large, 1), "start");
    Op* loop = add_repeat(g, body, n, {start, op.constant(filled(large, 2)), op.constant(filled(small, 1)), start});
    std::vector<Stream*> out;
    for (Tensor* t : loop->outputs) out.push_back(&store(*ir, t));
    if (n == 10) CHECK_CONTAINS(print_plan(Planner().plan(g)), "change places");
    Session s(ir, "cpu");
    for (int run = 0; run < 2; ++run) {
      const auto results = s.run({});
      double a = 1, b = 2;
      for (int64_t i = 0; i < n; ++i) a = std::exchange(b, a) + a;
      CHECK(identical(results.at(out[0]), filled(large, a)));
      CHECK(identical(results.at(out[1]), filled(large, b)));
      CHECK(identical(results.at(out[2]), filled(small, std::ldexp(1.0, static_cast<int>(n)))));
      CHECK(identical(results.at(out[3]), filled(large, 1)));
    }
    CHECK(identical(s.get_tensor_data(start), filled(large, 1)));
  }
}

TEST_CASE("conditional runs one branch") {
  for (bool which : {true, false}) {
    auto ir = std::make_shared<Ir>();
    Graph* graphs[2] = {&ir->create_graph("yes"), &ir->create_graph("no")};
    for (Graph* f : graphs) {
      Tensor* x = f->add_input({{2}, DType::float32, {}}, "x");
      Ops op(*f);
      f->add_output(op("add_", {x, op.constant(f == graphs[0] ? floats({2}, {5, 5}) : floats({2}, {-3, -3}))}));
    }
    Graph& g = ir->main();
    Tensor* yes = g.add_variable(floats({2}, {20, 20}), "a");
    Tensor* no = g.add_variable(floats({2}, {10, 10}), "b");
    Tensor* condition = g.add_variable(Array::scalar(which), "c");
    Stream& out = store(*ir, add_conditional(g, *graphs[0], *graphs[1], {condition, yes, no})->outputs[0]);
    Session s(ir, "cpu");
    CHECK(first(s.run({}).at(&out)) == (which ? 25.0F : 7.0F));
    CHECK(first(s.get_tensor_data(yes)) == 20.0F);
    CHECK(first(s.get_tensor_data(no)) == 10.0F);
  }
}

TEST_CASE("calls that multiply without end are refused, not attempted") {
  auto ir = std::make_shared<Ir>();
  Graph* inner = &increment(*ir, true);
  for (int level = 0; level < 60; ++level) {
    Graph& outer = ir->create_graph("level");
    Tensor* x = outer.add_input({{2}, DType::float32, {}}, "x", true);
    InSequence order(outer, InSequence::Mode::yes);
    outer.add_call(*inner, {x});
    outer.add_call(*inner, {x});
    inner = &outer;
  }
  ir->main().add_call(*inner, {ir->main().add_variable(floats({2}, {1, 1}), "w")});
  CHECK_CONTAINS(error_of([&] { Session s(ir, "cpu"); }), "steps");
}
