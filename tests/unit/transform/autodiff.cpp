// The structure of gradient graphs: their inputs and outputs, what is stashed, shared, pruned and refused.
#include "runtime/transform/autodiff.hpp"

#include <doctest/doctest.h>

#include "tests/unit/transform/build.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("inputs, outputs and stashed activations of the worked example") {
  Ir ir;
  Graph& g = linear(ir, true);
  Op* site = ir.main().add_call(g, {variable(ir, {2, 2}, {1, 2, 3, 4}, "x"), variable(ir, {2, 2}, {1, 1, 1, 1}, "w"),
                                    variable(ir, {2}, {0, 0}, "b")});
  const GradGraphInfoPtr info = autodiff(g);
  CHECK(info->graph->id() == "Linear_subgraph(0)_bwd");
  CHECK(inputs_of(*info) == "gelu_out:grad W add_out x");
  CHECK(outputs_of(*info) == "x W b");
  CHECK(info->graph->inputs()[0]->name == "Gradient___gelu_out");
  CHECK(info->graph->outputs()[1]->name == "Gradient___W");
  CHECK(g.outputs().size() == 2);
  CHECK(g.outputs()[1]->name == "add_out");
  CHECK(g.declared_outputs() == 1);
  CHECK(site->outputs.size() == 2);
  verify(ir);

  const auto values = info->inputs_dict(*site);
  CHECK(values.size() == 3);
  CHECK(values.at(info->graph->inputs()[2]) == site->outputs[1]);
  CHECK(values.at(info->graph->inputs()[3]) == site->inputs[0]);

  const GradGraphInfoPtr some = autodiff(g, {}, {{g.inputs()[1], g.inputs()[2]}});
  CHECK(inputs_of(*some) == "gelu_out:grad add_out x");
  CHECK(outputs_of(*some) == "W b");
  CHECK(some->graph->id() == "Linear_subgraph(0)_bwd_1");
  CHECK(outputs_of(*autodiff(g, {}, {{g.inputs()[2], g.inputs()[1]}})) == "b W");
  verify(ir);
}

TEST_CASE("equal requests share one gradient graph, and a rollback forgets it") {
  Ir ir;
  Graph& g = linear(ir);
  const auto mark = ir.mark();
  const GradGraphInfoPtr info = autodiff(g);
  CHECK(autodiff(g) == info);
  CHECK(autodiff(g, {{g.outputs()[0]}}, {{g.inputs()[0], g.inputs()[1], g.inputs()[2]}}) == info);
  ir.rollback(*mark);
  CHECK(ir.graphs().size() == 2);
  CHECK(autodiff(g)->graph->id() == "Linear_subgraph(0)_bwd");
  verify(ir);
}

TEST_CASE("several uses are summed, one use is passed on") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  Tensor* y = op("mul", {op("add", {x, x}), x});
  g.add_output(y);
  const GradGraphInfoPtr info = autodiff(g);
  CHECK(outputs_of(*info) == "x");
  CHECK(info->graph->outputs()[0]->name == "Gradient___x");

  Graph& h = ir.create_graph("h");
  Tensor* a = h.add_input(f32({3}), "a");
  h.add_output(op("add", {a, h.add_input(f32({3}), "b")}));
  const GradGraphInfoPtr plain = autodiff(h);
  CHECK(plain->graph->ops().empty());
  CHECK(plain->graph->outputs() == std::vector<Tensor*>{plain->graph->inputs()[0], plain->graph->inputs()[0]});
  verify(ir);
}

TEST_CASE("returned inputs, repeated outputs and integer outputs") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  Tensor* labels = g.add_input({{3}, DType::int32, {}}, "labels");
  Tensor* y = op("mul", {x, x});
  for (Tensor* t : {y, x, labels, y}) g.add_output(t);
  const GradGraphInfoPtr info = autodiff(g);
  CHECK(inputs_of(*info) == "mul_out:grad x:grad x");
  CHECK(outputs_of(*info) == "x");
  verify(ir);
}

TEST_CASE("constants are copied, never passed") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  g.add_output(op("mul", {x, g.add_constant(floats({3}, {1, 2, 3}), "c")}));
  const GradGraphInfoPtr info = autodiff(g);
  CHECK(inputs_of(*info) == "mul_out:grad");
  CHECK(g.outputs().size() == 1);
}

TEST_CASE("calls: gradients of callees are shared, and activations travel through every level") {
  Ir ir;
  Graph& layer = linear(ir, true);
  Graph& net = ir.create_graph("Net");
  Tensor* x = net.add_input(f32({2, 2}), "x");
  Tensor* w = net.add_input(f32({2, 2}), "W");
  Tensor* b = net.add_input(f32({2}), "b");
  Tensor* h = net.add_call(layer, {x, w, b})->outputs[0];
  net.add_output(net.add_call(layer, {h, w, b})->outputs[0]);
  Op* site = ir.main().add_call(net, {variable(ir, {2, 2}, {1, 2, 3, 4}, "x"), variable(ir, {2, 2}, {1, 1, 1, 1}, "w"),
                                      variable(ir, {2}, {0, 0}, "b")});
  const GradGraphInfoPtr info = autodiff(net);
  CHECK(outputs_of(*info) == "x W b");
  CHECK(info->graph->called_graphs().size() == 1);
  CHECK(info->graph->called_graphs()[0]->id() == "Linear_subgraph(0)_bwd");
  CHECK(info->graph->called_graphs()[0]->call_sites().size() == 2);
  // The first layer's result and both layers' activations.
  CHECK(net.outputs().size() == 4);
  CHECK(site->outputs.size() == 4);
  verify(ir);

  SUBCASE("only what is required is computed below") {
    const GradGraphInfoPtr bias = autodiff(net, {}, {{b}});
    CHECK(outputs_of(*bias) == "b");
    verify(ir);
  }
  SUBCASE("given gradient graphs are used") {
    const GradGraphInfoPtr given = autodiff(layer, {}, {{layer.inputs()[1], layer.inputs()[0]}});
    const GradGraphInfoPtr with = autodiff(net, {}, {{x, w}}, {{&layer, given}});
    CHECK(with->graph->called_graphs() == std::vector<Graph*>{given->graph});
    verify(ir);
  }
}

TEST_CASE("backward connects a call, sums gradients of a tensor given twice, and refuses strangers") {
  Ir ir;
  Graph& g = linear(ir, true);
  Tensor* x = variable(ir, {2, 2}, {1, 2, 3, 4}, "x");
  Tensor* b = variable(ir, {2}, {0, 0}, "b");
  Op* site = ir.main().add_call(g, {x, x, b});
  Tensor* dy = variable(ir, {2, 2}, {1, 1, 1, 1}, "dy");
  const Backward made = backward(*site, {dy}, {b, x});
  REQUIRE(made.gradients.size() == 2);
  CHECK(made.gradients[0] == made.call->outputs[2]);
  CHECK(made.gradients[1]->producer->row->name == "add");
  const auto pairs = made.info->fwd_parent_ins_to_grad_parent_outs(*site, *made.call);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].first == x);
  CHECK(pairs[0].second == made.call->outputs[1]);  // the last one wins
  CHECK(contains(error_of([&] { backward(*site, {dy}, {dy}); }), "`dy` was not given to this call"));
  CHECK(contains(error_of([&] { backward(*site, {b}, {x}); }), "must be float32[2, 2], but `b` is float32[2]"));
  CHECK(contains(error_of([&] { backward(*site, {dy, dy}, {x}); }), "2 gradients were given"));
  CHECK(contains(error_of([&] { backward(*site, {nullptr}, {x}); }), "no gradient was given"));
  CHECK(contains(error_of([&] { backward(*made.gradients[1]->producer, {dy}, {x}); }), "is not a call of a graph"));
  CHECK(contains(error_of([&] { made.info->inputs_dict(*made.call); }), "calls `"));
  verify(ir);
}

TEST_CASE("gradients of gradients") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  g.add_output(op("mul", {op("mul", {x, x}), x}));
  const GradGraphInfoPtr first = autodiff(g);
  const GradGraphInfoPtr second = autodiff(*first->graph);
  CHECK(second->graph->id() == "f_subgraph(0)_bwd_bwd");
  CHECK(second->expected_outputs.size() == first->graph->inputs().size());
  verify(ir);
}

TEST_CASE("a graph without a gradient is refused and leaves no trace") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  Tensor* unused = g.add_input(f32({3}), "unused");
  Tensor* index = g.add_input({{3}, DType::int32, {}}, "index");
  SUBCASE("a modifying op") {
    g.add_output(op("relu_", {op("mul", {x, x})}));
    CHECK(contains(error_of([&] { autodiff(g); }), "the graph `f` contains a modifying op: `relu_`"));
  }
  SUBCASE("no path") {
    g.add_output(op("mul", {x, x}));
    const std::string message = error_of([&] { autodiff(g, {}, {{x, unused}}); });
    CHECK(contains(message, "cannot provide a gradient for `unused`: no differentiable path"));
    CHECK(contains(message, "no op uses it"));
    CHECK(contains(error_of([&] { autodiff(g, {}, {{index}}); }), "only floating tensors have gradients"));
    CHECK(g.outputs().size() == 1);
  }
  SUBCASE("a path through integers") {
    g.add_output(op("mul", {op("cast", {op("cast", {x}, {{"data_type", Attr(DType::int32)}})},
                               {{"data_type", Attr(DType::float32)}}),
                            unused}));
    CHECK(contains(error_of([&] { autodiff(g, {}, {{x}}); }), "the path stops at `cast`"));
  }
  SUBCASE("a path only through detach") {
    g.add_output(op("mul", {op("detach", {x}), unused}));
    CHECK(contains(error_of([&] { autodiff(g, {}, {{x}}); }), "the path stops at `detach`"));
  }
  SUBCASE("the main graph, foreign tensors, nothing floating") {
    CHECK(contains(error_of([&] { autodiff(ir.main()); }), "the main graph cannot be differentiated"));
    g.add_output(index);
    CHECK(contains(error_of([&] { autodiff(g); }), "has no output that can have a gradient"));
    CHECK(contains(error_of([&] { autodiff(g, {{variable(ir, {}, {1}, "v")}}); }), "is not a tensor of the graph"));
  }
  SUBCASE("frozen") {
    g.add_output(op("mul", {x, x}));
    ir.frozen = true;
    CHECK(contains(error_of([&] { autodiff(g); }), "owned by a session"));
  }
  CHECK(ir.graphs().size() == 2);
  verify(ir);
}

TEST_CASE("detach cuts, and what led only to it is pruned") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  Tensor* scale = op("detach", {op("exp", {x})});
  g.add_output(op("mul", {scale, x}));
  const GradGraphInfoPtr info = autodiff(g);
  CHECK(ops_of(*info->graph) == "mul");
  CHECK(inputs_of(*info) == "mul_out:grad detach_out");
  verify(ir);
}

TEST_CASE("unreachable inputs are left out by default") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  g.add_input(f32({3}), "unused");
  g.add_input({{3}, DType::int32, {}}, "index");
  g.add_output(op("mul", {x, x}));
  CHECK(outputs_of(*autodiff(g)) == "x");
  CHECK(differentiable_inputs(g) == std::vector<Tensor*>{x});
}

TEST_CASE("gradient ops carry the place and the IPU of their forward op") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Tensor* x = g.add_input(f32({3}), "x");
  const SourceFile& file = add_source("f.pxl", "y = x * x\n");
  ir.origin.span = Span{&file, 4, 9};
  ir.ipu = 1;
  g.add_output(op("mul", {x, x}));
  ir.ipu.reset();
  ir.origin = {};
  ir.name_scopes = {"scope"};
  const GradGraphInfoPtr info = autodiff(g);
  REQUIRE(!info->graph->ops().empty());
  CHECK(info->graph->ops()[0]->origin.span.begin == 4);
  CHECK(info->graph->ops()[0]->ipu == 1);
  CHECK(!ir.ipu);
  CHECK(!ir.origin.span);
  CHECK(ir.name_scopes == std::vector<std::string>{"scope"});
  CHECK(info->graph->outputs()[0]->name == "Gradient___x");
}
