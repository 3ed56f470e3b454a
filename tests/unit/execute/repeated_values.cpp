// Which programs need no copies of their variables: those whose indices are the same in every run.
#include "runtime/execute/repeated_values.hpp"

#include "runtime/plan/plan.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

Array count_of(int32_t n) { return ints({1}, {n}); }
Array filled(const Shape& shape, double value) { return Array::full(DType::float32, shape, value); }

/// A program that changes a variable, then reads slices of a table by an index.
struct Reading {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Graph& main = ir->main();
  InSequence order{main, InSequence::Mode::yes};
  Ops op{main};
  Tensor* table = main.add_variable(filled({8, 4}, 1), "table");
  Tensor* changed = main.add_variable(filled({4}, 0), "changed");
  Tensor* counter = main.add_variable(count_of(0), "counter");
  std::map<const Tensor*, Array> memory;

  Reading() { op("copy_var_update_", {changed, op.constant(filled({4}, 2))}); }

  static Tensor* slice(Ops& at, Tensor* from, Tensor* index) {
    return at(
        "reshape",
        {at("dynamic_slice", {from, index}, {{"axes", std::vector<int64_t>{0}}, {"sizes", std::vector<int64_t>{1}}})},
        {{"shape", Shape{4}}});
  }
  /// The sum of the slices from index `first` on, up by `by` in each of `n` iterations.
  void loop(Tensor* first, Tensor* by, int64_t n) {
    Graph& body = ir->create_graph("body");
    Tensor *sum = body.add_input(f32({4}), "sum"), *index = body.add_input({{1}, DType::int32, {}}, "index"),
           *rows = body.add_input(table->spec, "rows"), *step = body.add_input({{1}, DType::int32, {}}, "step");
    Ops inside(body);
    body.add_output(inside("add", {sum, slice(inside, rows, index)}));
    body.add_output(inside("add", {index, step}));
    Op* run = add_repeat(main, body, n, {op.constant(filled({4}, 0)), first, table, by});
    store(*ir, run->outputs[0]);
  }
  /// Whether a run copies variables: in the first, and in later ones.
  std::pair<bool, bool> fallible(const PlanOptions& options = {}) {
    Planner planner(options);
    const Plan& plan = planner.plan(main);
    Program program(plan,
                    [&](const Tensor* t) { return memory.emplace(t, t->data.clone()).first->second.mutable_raw(); });
    const bool first = program.fallible_after_commit();
    const auto& steps = program.steps();
    const bool later = std::any_of(steps.begin(), steps.end(),
                                   [](const RunStep& step) { return step.fallible && !step.proven_by_run; });
    return {first, later};
  }
};

using Fallible = std::pair<bool, bool>;

}  // namespace

TEST_CASE("intervals of memory") {
  const std::byte bytes[64] = {};
  RepeatedMemory m, other;
  CHECK(m.holds(bytes, 0));
  CHECK(!m.holds(bytes, 1));
  m.keep(bytes + 8, 8);
  m.keep(bytes + 16, 8);
  CHECK(m.holds(bytes + 8, 16));
  CHECK(m.holds(bytes + 10, 10));
  CHECK(!m.holds(bytes + 7, 2));
  CHECK(!m.holds(bytes + 20, 5));
  m.drop(bytes + 12, 6);
  CHECK(m.holds(bytes + 8, 4));
  CHECK(m.holds(bytes + 18, 6));
  CHECK(!m.holds(bytes + 11, 2));
  CHECK(!m.holds(bytes + 17, 1));
  other.keep(bytes + 10, 10);
  CHECK(m.intersect(other));
  CHECK(m.holds(bytes + 10, 2));
  CHECK(m.holds(bytes + 18, 2));
  CHECK(!m.holds(bytes + 9, 1));
  CHECK(!m.holds(bytes + 20, 1));
  CHECK(!m.intersect(other));
  m.drop(bytes, 64);
  CHECK(!m.holds(bytes + 10, 1));
}

TEST_CASE("a counter from a constant is proven by a run; one from a variable is not") {
  for (const PlanOptions& options : {PlanOptions(), PlanOptions::reference()}) {
    Reading constant, odd, variable, by_variable, changed;
    constant.loop(constant.op.constant(count_of(0)), constant.op.constant(count_of(1)), 8);
    CHECK(constant.fallible(options) == Fallible{true, false});
    odd.loop(odd.op.constant(count_of(6)), odd.op.constant(count_of(-1)), 7);
    CHECK(odd.fallible(options) == Fallible{true, false});
    variable.loop(variable.counter, variable.op.constant(count_of(1)), 4);
    CHECK(variable.fallible(options) == Fallible{true, true});
    by_variable.loop(by_variable.op.constant(count_of(0)), by_variable.counter, 4);
    CHECK(by_variable.fallible(options) == Fallible{true, true});
  }
}

TEST_CASE("an index that the program computes is the same in every run if its operands are") {
  Reading constant, counted;
  Tensor* two = constant.op("add", {constant.op.constant(count_of(1)), constant.op.constant(count_of(1))});
  store(*constant.ir, Reading::slice(constant.op, constant.table, constant.op("mul", {two, two})));
  CHECK(constant.fallible(PlanOptions::reference()) == Fallible{true, false});
  counted.op("add_", {counted.counter, counted.op.constant(count_of(1))});
  store(*counted.ir, Reading::slice(counted.op, counted.table, counted.counter));
  CHECK(counted.fallible(PlanOptions::reference()) == Fallible{true, true});
}

TEST_CASE("an index from a stream, and one in a branch, prove nothing") {
  Reading loaded, branched;
  Stream& in = loaded.ir->add_stream({{1}, DType::int32, {}}, "in", true);
  store(*loaded.ir, Reading::slice(loaded.op, loaded.table, loaded.main.add_host_load(in, "i")->outputs[0]));
  CHECK(loaded.fallible(PlanOptions::reference()) == Fallible{true, true});
  Graph &yes = branched.ir->create_graph("yes"), &no = branched.ir->create_graph("no");
  for (Graph* graph : {&yes, &no}) {
    Tensor* rows = graph->add_input(branched.table->spec, "rows");
    Tensor* index = graph->add_input({{1}, DType::int32, {}}, "index");
    Ops inside(*graph);
    graph->add_output(Reading::slice(inside, rows, graph == &yes ? index : inside.constant(count_of(1))));
  }
  Array condition(DType::boolean, {});
  condition.mutable_data<bool>()[0] = true;
  Tensor* chosen = branched.main.add_variable(std::move(condition), "chosen");
  Tensor* two = branched.op.constant(count_of(2));
  Op* branch = add_conditional(branched.main, yes, no, {chosen, branched.table, two, branched.table, two});
  store(*branched.ir, branch->outputs[0]);
  CHECK(branched.fallible(PlanOptions::reference()) == Fallible{true, true});
}
