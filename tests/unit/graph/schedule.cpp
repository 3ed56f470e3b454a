// Order, its textual form, and the refusal of racing updates.
#include "runtime/graph/schedule.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <map>

#include "tests/unit/graph/rows.hpp"

using namespace pxl;
using namespace pxl::test;
using Mode = InSequence::Mode;

TEST_CASE("the form of a schedule") {
  Ir ir;
  Graph& g = ir.create_graph("Linear");
  Tensor* x = g.add_input(f32({2, 32}), "x");
  Tensor* b = g.add_input(f32({32}), "bias", false, "fc.bias");
  Tensor* y = binary_op(add_row, x, b);
  g.add_output(y);
  CHECK(print_schedule(g) ==
        "Graph : Linear_subgraph(0)\n"
        "  (%1, fc.bias=%2) -> (%3) {\n"
        "    Add.100 (%1 [(2, 32) float32], %2 [(32,) float32]) -> (%3 [(2, 32) float32])\n"
        "  }");
  Tensor* v = ones(ir, {2, 32}, "v");
  ir.main().add_call(g, {v, ones(ir, {32}, "b")});
  CHECK(print_schedule(ir.main()) ==
        "Graph : \n"
        "  () -> () {\n"
        "    Call.101(Linear_subgraph(0)) (%1 [(2, 32) float32], %2 [(32,) float32]) -> (%3 [(2, 32) float32])\n"
        "  }");
}

TEST_CASE("without sequence the order that keeps fewer bytes live is taken") {
  Ir ir;
  Tensor* big = ones(ir, {2, 2}, "big");
  Tensor* small = ones(ir, {}, "small");
  Graph& g = ir.main();
  SUBCASE("unsequenced") {
    binary_op(add_row, big, one(g));
    binary_op(mul_row, small, one(g));
    CHECK(order_of(g) == "Mul Add");
  }
  SUBCASE("in sequence") {
    InSequence s(g, Mode::yes);
    binary_op(add_row, big, one(g));
    binary_op(mul_row, small, one(g));
    CHECK(order_of(g) == "Add Mul");
  }
  SUBCASE("unordered block in a chain") {
    {
      InSequence s(g, Mode::yes);
      binary_op(sub_row, big, one(g));
      {
        InSequence n(g, Mode::no);
        binary_op(add_row, big, one(g));
        binary_op(mul_row, small, one(g));
      }
      binary_op(div_row, small, one(g));
    }
    CHECK(order_of(g) == "Sub Mul Add Div");
  }
  SUBCASE("pass keeps the chain and stays outside") {
    InSequence s(g, Mode::yes);
    Tensor* a = binary_op(add_row, big, one(g));
    {
      InSequence p(g, Mode::pass);
      Tensor* free_op = binary_op(mul_row, small, one(g));
      CHECK(free_op->producer->after.empty());
    }
    Tensor* c = binary_op(div_row, small, one(g));
    CHECK(c->producer->after == std::vector<Op*>{a->producer});
  }
  SUBCASE("nested yes continues the chain, blocks one after the other are independent") {
    Tensor *a, *b, *c;
    {
      InSequence s(g, Mode::yes);
      a = binary_op(add_row, big, one(g));
      InSequence t(g, Mode::yes);
      b = binary_op(add_row, big, one(g));
    }
    InSequence u(g, Mode::yes);
    c = binary_op(add_row, big, one(g));
    CHECK(b->producer->after == std::vector<Op*>{a->producer});
    CHECK(c->producer->after.empty());
  }
  verify(ir);
}

TEST_CASE("each graph has its own chain") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  InSequence s(ir.main(), Mode::yes);
  Tensor* a = unary_op(neg_row, ones(ir, {}, "v"));
  CHECK(unary_op(neg_row, g.add_input(f32({}), "x"))->producer->after.empty());
  CHECK(unary_op(neg_row, a)->producer->after.size() == 1);
}

TEST_CASE("updates keep their place among the other uses") {
  Ir ir;
  Tensor* v = ones(ir, {64}, "v");
  Tensor* tiny = ones(ir, {}, "tiny");
  Graph& g = ir.main();
  Tensor* read = binary_op(add_row, v, one(g));  // uses the old value, large result
  Tensor* updated = unary_op(relu_in_place_row, v);
  Tensor* later = unary_op(neg_row, v);  // uses the new value
  const std::vector<Op*> order = schedule_order(g);
  CHECK(order == std::vector<Op*>{read->producer, updated->producer, later->producer});
  (void)tiny;
}

TEST_CASE("loads of one stream keep their order") {
  Ir ir;
  Stream& s = ir.add_stream(f32({4}), "s", true);
  std::vector<Op*> loads;
  for (int i = 0; i < 3; ++i) loads.push_back(ir.main().add_host_load(s, "x"));
  std::vector<Op*> seen;
  for (Op* op : schedule_order(ir.main()))
    if (op->stream) seen.push_back(op);
  CHECK(seen == loads);
}

TEST_CASE("racing updates are refused") {
  Ir ir;
  Tensor* w = ones(ir, {2}, "w");
  Tensor* x = ones(ir, {2}, "x");
  Graph& g = ir.main();
  SUBCASE("an update and a reader") {
    binary_op(add_row, w, x);
    unary_op(relu_in_place_row, w);
    const std::string message = error_of([&] { check_inplace_order(ir); });
    CHECK(contains(message,
                   "Inplacing ambiguity detected. The tensor `w` is modified by `relu_` and used by "
                   "`add`"));
    CHECK(contains(message, "in_sequence()"));
  }
  SUBCASE("two updates of one tensor") {
    unary_op(relu_in_place_row, w);
    unary_op(relu_in_place_row, w);
    CHECK(contains(error_of([&] { check_inplace_order(ir); }), "Inplacing ambiguity detected"));
  }
  SUBCASE("inside a called graph") {
    Graph& f = ir.create_graph("f");
    Tensor* a = f.add_input(f32({2}), "a", true);
    unary_op(relu_in_place_row, a);
    unary_op(neg_row, a);
    CHECK_NOTHROW(check_inplace_order(ir));  // not called yet
    g.add_call(f, {w});
    CHECK(contains(error_of([&] { check_inplace_order(ir); }), "`a`"));
  }
  SUBCASE("in sequence") {
    InSequence s(g, Mode::yes);
    binary_op(add_row, w, x);
    unary_op(relu_in_place_row, w);
    unary_op(relu_in_place_row, w);
    CHECK_NOTHROW(check_inplace_order(ir));
  }
  SUBCASE("ordered by data") {
    Tensor* y = unary_op(relu_in_place_row, w);
    binary_op(add_row, y, w);
    CHECK_NOTHROW(check_inplace_order(ir));
    unary_op(relu_in_place_row, y);
    CHECK(contains(error_of([&] { check_inplace_order(ir); }), "Inplacing ambiguity detected"));
  }
  SUBCASE("calls that update by reference keep creation order without a complaint") {
    Graph& f = ir.create_graph("f");
    unary_op(relu_in_place_row, f.add_input(f32({2}), "a", true));
    std::vector<Op*> calls{g.add_call(f, {w}), g.add_call(f, {w})};
    CHECK_NOTHROW(check_inplace_order(ir));
    CHECK(schedule_order(g) == calls);
  }
}

TEST_CASE("a schedule respects every constraint and is quick for thousands of ops") {
  Ir ir;
  Graph& g = ir.main();
  std::vector<Tensor*> pool{ones(ir, {3}, "a"), ones(ir, {3}, "b")};
  uint64_t state = 7;
  const auto draw = [&](size_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<size_t>(state >> 33) % n;
  };
  for (int i = 0; i < 6000; ++i) {
    if (i % 50 == 0) {
      pool.push_back(unary_op(relu_in_place_row, pool[draw(pool.size())]));
      continue;
    }
    pool.push_back(binary_op(add_row, pool[draw(pool.size())], pool[pool.size() - 1 - draw(2)]));
  }
  const std::clock_t start = std::clock();
  const std::vector<Op*> order = schedule_order(g);
  CHECK(std::clock() - start < CLOCKS_PER_SEC);
  std::map<const Op*, size_t> at;
  for (size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
  REQUIRE(at.size() == g.ops().size());
  for (const auto& op : g.ops())
    for (const Tensor* t : op->inputs)
      if (t->producer) CHECK(at[t->producer] < at[op.get()]);
  CHECK(schedule_order(g) == order);
  // Whoever reads memory that an update changes stays on its side of the update.
  for (const auto& update : g.ops()) {
    if (update->row != &relu_in_place_row) continue;
    for (const Op* user : update->inputs[0]->consumers)
      if (user != update.get()) CHECK((user->id < update->id) == (at[user] < at[update.get()]));
  }
}
