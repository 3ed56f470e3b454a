// Naming, numbering, the checks of added ops, calls, and forgetting.
#include "runtime/graph/ir.hpp"

#include <doctest/doctest.h>

#include "tests/unit/graph/rows.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("names: scopes, suffixes from one counter, per graph") {
  Ir ir;
  ir.name_scopes = {"a", "b"};
  CHECK(ones(ir, {}, "")->id == "a/b/t");
  CHECK(ones(ir, {}, "")->id == "a/b/t__t0");
  ir.name_scopes.clear();
  Graph& g = ir.create_graph("fnA");
  CHECK(g.id() == "fnA_subgraph(0)");
  CHECK(ir.create_graph("fnB").id() == "fnB_subgraph(1)");
  Tensor* x = g.add_input(f32({1}), "t");
  CHECK(x->id == "fnA_subgraph(0)/t");
  CHECK(x->name == "t");
  CHECK(g.add_input(f32({1}), "t")->name == "t__t1");
  CHECK(text(*x) == "Tensor[fnA_subgraph(0)/t float32 (1,)]");
  CHECK(text(*ones(ir, {784, 512}, "fc1/weight")) == "Tensor[fc1/weight float32 (784, 512)]");
  CHECK(g.find_tensor("fnA_subgraph(0)/t") == x);
  CHECK(g.find_tensor("t") == x);
  CHECK(g.find_tensor("u") == nullptr);
  CHECK(ir.create_gradient_graph(g).id() == "fnA_subgraph(0)_bwd");
  CHECK(ir.create_gradient_graph(g).id() == "fnA_subgraph(0)_bwd_1");
  CHECK(ir.create_graph("fnC").id() == "fnC_subgraph(2)");
}

TEST_CASE("op ids count from 100 and default names use the first operand") {
  Ir ir;
  ir.name_scopes = {"s"};
  Tensor* x = ones(ir, {2, 2}, "x");
  Tensor* y = unary_op(neg_row, x);
  CHECK(y->producer->id == 100);
  CHECK(y->name == "s/x_neg");
  CHECK(binary_op(add_row, y, y)->producer->id == 101);
  CHECK(y->consumers.size() == 1);
  CHECK(ir.main().add_op(neg_row, {x}, {}, {"mine"})->outputs[0]->name == "s/mine");
  verify(ir);
}

TEST_CASE("an op refuses tensors of other graphs, mixed IPUs, and says what it was given") {
  Ir ir, other;
  Tensor* x = ones(ir, {2, 3}, "x");
  Graph& g = ir.create_graph("f");
  Tensor* y = g.add_input(f32({2, 3}), "y");
  std::string message = error_of([&] { g.add_op(add_row, {y, x}, {}); });
  CHECK(contains(message, "the input tensor `x` is not in the current graph `f`: it is in the main graph"));
  CHECK(contains(message, "pass it as an argument"));
  CHECK(contains(error_of([&] { g.add_op(add_row, {y, ones(other, {}, "z")}, {}); }), "belongs to another program"));
  Tensor* steps = ir.main().add_constant(Array::zeros(DType::int32, {3}), "steps");
  message = error_of([&] { ir.main().add_op(add_row, {x, steps}, {}); });
  CHECK(contains(message, "dtypes differ: x, steps\nx: float32[2, 3], steps: int32[3]"));
  CHECK(ir.main().ops().empty());

  ir.ipu = 0;
  Tensor* a = unary_op(neg_row, x);
  ir.ipu = 1;
  Tensor* b = unary_op(neg_row, x);
  CHECK(contains(error_of([&] { binary_op(add_row, a, b); }), "are located on different IPUs: 0 != 1"));
  CHECK(!x->ipu());
  CHECK(b->ipu() == 1);
  CHECK_NOTHROW(binary_op(add_row, x, b));

  ir.frozen = true;
  CHECK(contains(error_of([&] { unary_op(neg_row, x); }), "owned by a session"));
}

TEST_CASE("variables and inputs have their place") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  CHECK(contains(error_of([&] { g.add_variable(Array(), "w"); }), "outside the main graph"));
  CHECK(contains(error_of([&] { ir.main().add_input(f32({}), "x"); }), "the main graph has no inputs"));
  CHECK_NOTHROW(g.add_constant(Array(), "c"));
  CHECK(contains(error_of([&] { g.add_input(f32({int64_t{1} << 40, int64_t{1} << 40}), "huge"); }), ""));
  CHECK_THROWS_AS(g.add_input(f32({int64_t{1} << 40, int64_t{1} << 40}), "huge"), Error);
}

TEST_CASE("calls check their inputs and name their outputs after the callee's") {
  Ir ir;
  Graph& g = ir.create_graph("Linear");
  Tensor* x = g.add_input(f32({2, 4}), "x");
  g.add_input(f32({4}), "bias", false, "bias");
  g.add_output(binary_op(add_row, x, g.inputs()[1]));
  g.add_output(x);
  Tensor* v = ones(ir, {2, 4}, "v");
  Tensor* b = ones(ir, {4}, "b");
  Op* call = ir.main().add_call(g, {v, b});
  REQUIRE(call->outputs.size() == 2);
  CHECK(call->outputs[0]->name == "add_out");
  CHECK(ir.main().add_call(g, {v, b})->outputs[0]->name == "add_out__t0");
  CHECK(g.call_sites().size() == 2);
  CHECK(ir.main().called_graphs() == std::vector<Graph*>{&g});

  const std::string message = error_of([&] { ir.main().add_call(g, {v, v}); });
  CHECK(contains(message, "the input `bias` of `Linear` is float32[4], but `v` is float32[2, 4]"));
  CHECK(contains(error_of([&] { ir.main().add_call(g, {v}); }), "not enough inputs have been provided"));
  CHECK(contains(error_of([&] { ir.main().add_call(g, {v, b, b}); }), "too many inputs have been provided"));
  CHECK(contains(error_of([&] { g.add_call(g, {x, x}); }), "graphs are not recursive"));
  CHECK(contains(error_of([&] { g.add_call(ir.main(), {}); }), "the main graph cannot be called"));
  CHECK(contains(error_of([&] { g.add_output(x); }), "called or differentiated already"));
  Graph& h = ir.create_graph("h");
  h.add_call(g, {h.add_input(f32({2, 4}), "x"), h.add_input(f32({4}), "y")});
  CHECK(contains(error_of([&] { g.add_call(h, {x, g.inputs()[1]}); }), "not recursive"));
  verify(ir);
}

TEST_CASE("stashed outputs reach call sites, declared outputs stay") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({2}), "x");
  Tensor* h = unary_op(neg_row, x);
  g.add_output(unary_op(neg_row, h));
  Tensor* v = ones(ir, {2}, "v");
  Op* before = ir.main().add_call(g, {v});
  CHECK(g.add_stashed_outputs({{h, g.outputs()[0], h}}) == std::vector<size_t>{1, 0, 1});
  CHECK(g.add_stashed_outputs({{h}}) == std::vector<size_t>{1});
  Op* after = ir.main().add_call(g, {v});
  CHECK(before->outputs.size() == 2);
  CHECK(after->outputs.size() == 2);
  CHECK(before->outputs[1]->name == "x_neg");
  CHECK(g.declared_outputs() == 1);
  verify(ir);
}

TEST_CASE("by-ref inputs and marked inputs are modified by calls") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  g.add_input(f32({}), "a", true);
  g.add_input(f32({}), "b");
  Tensor* v = ones(ir, {}, "v");
  Op* call = ir.main().add_call(g, {v, v});
  CHECK(call->modifies(0));
  CHECK(!call->modifies(1));
  call->input_modified = {false, true};
  CHECK(call->modifies(1));
}

TEST_CASE("streams live in the main graph; loads take two ids; stores check their spec") {
  Ir ir;
  Stream& in = ir.add_stream(f32({4}), "x", true);
  Stream& out = ir.add_stream(f32({4}), "y", false);
  CHECK(ir.add_stream(f32({4}), "x", true).name() == "x__t0");
  Graph& g = ir.create_graph("f");
  Op* load = g.add_host_load(in, "x");
  CHECK(load->id == 101);
  CHECK(g.tensors().size() == 2);
  CHECK(in.used);
  CHECK(!out.used);
  g.add_host_store(out, load->outputs[0]);
  CHECK(ir.stream_of(in.handle) == &in);
  const std::string message = error_of([&] { g.add_host_store(out, g.add_input(f32({5}), "z")); });
  CHECK(contains(message, "the stream `y` takes float32[4], but `z` is float32[5]"));
  CHECK(contains(error_of([&] { g.add_host_load(out, ""); }), "is an output stream"));
  verify(ir);
}

TEST_CASE("rollback leaves no trace") {
  Ir ir;
  Tensor* v = ones(ir, {2}, "v");
  Graph& g = ir.create_graph("f");
  Tensor* h = unary_op(neg_row, g.add_input(f32({2}), "x"));
  g.add_output(unary_op(neg_row, h));
  Stream& in = ir.add_stream(f32({2}), "s", true);
  Op* call = ir.main().add_call(g, {v});
  const std::string before = print_schedule(ir.main()) + print_schedule(g);
  ir.memo["a"] = nullptr;
  const auto mark = ir.mark();

  ones(ir, {2}, "v");
  unary_op(neg_row, call->outputs[0]);
  g.add_stashed_outputs({{h}});
  call->input_modified = {true};
  Graph& extra = ir.create_graph("extra");
  extra.add_call(g, {extra.add_input(f32({2}), "x")});
  ir.main().add_host_load(in, "s");
  ir.add_stream(f32({2}), "t", false);
  ir.name_scopes = {"s"};
  ir.memo["b"] = nullptr;
  ir.rollback(*mark);

  CHECK(print_schedule(ir.main()) + print_schedule(g) == before);
  CHECK(ir.graphs().size() == 2);
  CHECK(ir.streams().size() == 1);
  CHECK(!in.used);
  CHECK(call->outputs.size() == 1);
  CHECK(call->outputs[0]->consumers.empty());
  CHECK(call->input_modified.empty());
  CHECK(g.call_sites().size() == 1);
  CHECK(ir.memo.count("a") == 1);
  CHECK(ir.memo.count("b") == 0);
  CHECK(ir.name_scopes.empty());
  CHECK(ones(ir, {2}, "v")->name == "v__t0");
  CHECK(ir.create_graph("k").id() == "k_subgraph(1)");
  CHECK(unary_op(neg_row, v)->producer->id == 103);
  // Labels of streams that are gone are free, others are not.
  CHECK(ir.add_stream(f32({2}), "t", false).name() == "t");
  CHECK(ir.add_stream(f32({2}), "s", true).name() != "s");
  verify(ir);
}

TEST_CASE("a part that is rolled back stays in memory, and every use of it is refused") {
  Ir ir;
  Tensor* v = ones(ir, {2}, "v");
  Graph& g = ir.create_graph("f");
  g.add_output(unary_op(neg_row, g.add_input(f32({2}), "x")));
  Op* call = ir.main().add_call(g, {v});
  const std::string before = print_schedule(ir.main()) + print_schedule(g);
  const auto mark = ir.mark();

  Tensor* w = ones(ir, {1000}, "w");
  Tensor* y = unary_op(neg_row, call->outputs[0]);
  Graph& extra = ir.create_graph("extra");
  Tensor* inner = unary_op(neg_row, extra.add_input(f32({2}), "x"));
  extra.add_output(inner);
  ir.main().add_call(extra, {y});
  Stream &in = ir.add_stream(f32({2}), "s", true), &out = ir.add_stream(f32({2}), "t", false);
  ir.main().add_host_load(in, "s");
  ir.frozen = true;
  ir.take_back_since(*mark);

  CHECK(print_schedule(ir.main()) + print_schedule(g) == before);
  CHECK(ir.streams().empty());
  CHECK_FALSE(ir.frozen);
  CHECK(y->name == "x_neg_neg");
  CHECK(&y->graph->ir() == &ir);
  CHECK_FALSE(y->graph->is_main());
  CHECK(w->data.size() <= 1);
  CHECK(extra.inputs().size() == 1);
  const auto refused = [&](const auto& use) {
    const std::string why = error_of(use);
    CHECK_MESSAGE(contains(why, "was taken back with the input or the block that made it"), why);
  };
  refused([&] { unary_op(neg_row, y); });
  refused([&] { binary_op(add_row, v, y); });
  refused([&] { ir.main().add_call(extra, {v}); });
  refused([&] { ir.main().add_call(g, {y}); });
  refused([&] { extra.add_constant(Array::zeros(DType::float32, {2}), "c"); });
  refused([&] { unary_op(neg_row, inner); });
  refused([&] { ir.main().add_host_load(in, ""); });
  refused([&] { ir.main().add_host_store(out, v); });
  CHECK(ones(ir, {2}, "w")->name == "w");
  CHECK(ir.add_stream(f32({2}), "s", true).name() == "s");
  verify(ir);
  ir.rollback(*mark);
  CHECK(print_schedule(ir.main()) + print_schedule(g) == before);
  // Sessions that an input made of a program which it did not change go on.
  ir.frozen = true;
  ir.take_back_since(*mark);
  CHECK(ir.frozen);
}

TEST_CASE("prune drops unused ops and inputs, and keeps updates") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({2}), "x");
  Tensor* y = g.add_input(f32({2}), "y");
  Tensor* z = g.add_input(f32({2}), "z");
  Tensor* dead = unary_op(neg_row, y);
  binary_op(add_row, dead, one(g));
  unary_op(relu_in_place_row, z);
  g.add_output(unary_op(neg_row, x));
  g.prune(0);
  CHECK(g.inputs() == std::vector<Tensor*>{x, z});
  CHECK(g.ops().size() == 2);
  CHECK(g.tensors().size() == 4);
  verify(ir);
}

TEST_CASE("verify finds a broken graph") {
  Ir ir;
  Tensor* v = ones(ir, {2}, "v");
  Tensor* y = unary_op(neg_row, v);
  verify(ir);
  SUBCASE("spec") { y->spec.shape = {3}; }
  SUBCASE("consumers") { v->consumers.clear(); }
  SUBCASE("producer") { y->output_index = 1; }
  SUBCASE("name") { y->id = "other"; }
  SUBCASE("order") { y->producer->after.push_back(y->producer); }
  CHECK_THROWS_AS(verify(ir), Error);
}
