// Each pass keeps the values of nodes, which run by definitions; two wrong rewrites of each pass show in them.
#include "runtime/plan/node_values.hpp"

#include "runtime/graph/schedule.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/plan/verify_nodes.hpp"
#include "runtime/plan/views.hpp"
#include "runtime/transform/autodiff.hpp"
#include "small_program.hpp"
#include "tests/unit/support/small_target.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

using Ints = std::vector<int64_t>;
using Nodes = std::vector<Node>;

/// A program, and its nodes before and after one pass.
struct Planted : SmallProgram {
  InSequence order{ir->main(), InSequence::Mode::yes};
  Planner planner{PlanOptions()};
  FlattenedGraph flat;
  std::deque<Tensor> constants;
  std::vector<const Tensor*> outputs;
  Nodes nodes;
  NodeValues before;

  NodeValues values(const Nodes& of) const { return run_nodes(of, outputs, Keep::all, 1); }
  void lower_all(const Graph& g, bool all = true) {
    flat = flatten_calls(
        schedule_order(g), [this](const Graph& called) { return &planner.plan(called); }, all);
    outputs.assign(g.outputs().begin(), g.outputs().end());
    for (const Tensor*& t : outputs) t = flat.of(t);
    nodes = std::move(flat.nodes);
    resolve_views(nodes, outputs, flat);
  }
  /// Runs all passes for a target; no value changes.
  void plan_for(const Target& target) {
    lower_all(ir->main());
    before = values(nodes);
    run_passes(nodes, outputs, Keep::all, constants, nullptr, PlanOptions(), target);
    verify_nodes(nodes, outputs);
    CHECK(first_difference(before, values(nodes)) == "");
  }
  /// Runs the passes before one, and that one, which must change something, but for what is not printed, and no value.
  void run(std::string_view pass, bool is_printed = true) { run(pass, ir->main(), is_printed); }
  void run(std::string_view pass, const Graph& g, bool is_printed = true) {
    lower_all(g);
    PlanOptions earlier;
    for (size_t i = pass_index(pass); i < plan_passes().size(); ++i) earlier.without(plan_passes()[i].name);
    const std::vector<const Tensor*> inputs(g.inputs().begin(), g.inputs().end());
    const std::optional<Unchanged> unchanged = unchanged_values(g, nodes, inputs, outputs);
    run_passes(nodes, outputs, Keep::all, constants, unchanged ? &*unchanged : nullptr, earlier, cpu_target());
    const std::string text = print_nodes(nodes);
    before = values(nodes);
    const Aliases aliases(nodes);
    PassContext context(nodes, aliases, outputs, Keep::all, constants, unchanged ? &*unchanged : nullptr, cpu_target());
    plan_passes()[pass_index(pass)].apply(context);
    std::erase_if(nodes, [](const Node& n) { return !n.op; });
    if (is_printed) CHECK(print_nodes(nodes) != text);
    CHECK(first_difference(before, values(nodes)) == "");
  }
  template <class F>
  void wrong(F change) const {
    Nodes spoiled = nodes;
    change(spoiled);
    CHECK(first_difference(before, values(spoiled)) != "");
  }
};

/// The node of this form, or of this row.
Node& of(Nodes& nodes, Form form) {
  for (Node& n : nodes)
    if (n.form == form) return n;
  FAIL("no node of the form ", name(form));
  return nodes.front();
}
Node& of(Nodes& nodes, std::string_view row, int which = 0) {
  for (Node& n : nodes)
    if (n.op->row->name == row && which-- == 0) return n;
  FAIL("no node of the row ", row);
  return nodes.front();
}
void erase(Nodes& nodes, const Node& n) { nodes.erase(nodes.begin() + (&n - nodes.data())); }
/// Moves a node to another place.
void move(Nodes& nodes, const Node& n, size_t to) {
  Node moved = n;
  erase(nodes, n);
  nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
}
void replace(Nodes& nodes, const Tensor* from, const Tensor* by) {
  for (Node& n : nodes)
    for (const Tensor*& t : n.in)
      if (t == from) t = by;
}

}  // namespace

TEST_CASE("flatten_calls") {
  Planted p;
  Graph& f = p.ir->create_graph("f");
  Ops at(f);
  const InSequence in_order(f, InSequence::Mode::yes);
  Tensor *x = f.add_input(f32({8}), "x"), *y = f.add_input(f32({8}), "y");
  at("add_", {x, y});
  f.add_output(at("sub", {x, y}));
  Tensor *a = p.variable({8}, 0.1F), *b = p.variable({8}, -0.4F);
  p.give(p.ir->main().add_call(f, {a, b})->outputs[0]);
  p.give(p.op("tanh", {a}));
  p.lower_all(p.ir->main(), false);
  p.before = p.values(p.nodes);
  p.lower_all(p.ir->main());
  CHECK(first_difference(p.before, p.values(p.nodes)) == "");
  p.wrong([](Nodes& n) { std::swap(of(n, "sub").in[0], of(n, "sub").in[1]); });
  p.wrong([&](Nodes& n) { of(n, "add_").in[0] = a; });  // the caller's memory, without the copy
}

TEST_CASE("merge_loops") {
  Planted p;
  Graph &step = p.ir->create_graph("step"), &layer = p.ir->create_graph("layer");
  Tensor *h = p.variable({4, 8}, -0.3F), *w = p.variable({8, 8}, -0.3F), *dy = p.variable({4, 8}, 0.1F);
  Tensor *sh = step.add_input(h->spec, "h"), *sw = step.add_input(w->spec, "w");
  Ops at(step);
  step.add_output(at("tanh", {at("matmul", {sh, sw})}));
  Tensor *lh = layer.add_input(h->spec, "h"), *lw = layer.add_input(w->spec, "w");
  layer.add_output(add_repeat(layer, step, 9, {lh, lw})->outputs[0]);
  Op* call = p.ir->main().add_call(layer, {h, w});
  p.give(call->outputs[0]);
  for (Tensor* g : backward(*call, {dy}, {h, w}).gradients) p.give(g);
  p.run("merge_loops");
  const auto loop = [](Nodes& nodes) -> Node& {
    for (Node& n : nodes)
      if (n.op->row->role == Role::loop) return n;
    return nodes.front();
  };
  p.wrong([&](Nodes& n) { std::replace(loop(n).in.begin(), loop(n).in.end(), (const Tensor*)h, (const Tensor*)dy); });
  p.wrong([&](Nodes& n) { replace(n, loop(n).out[0], h); });
}

TEST_CASE("eliminate_dead_code") {
  Planted p;
  Tensor *v = p.variable({8}, 0.1F), *g = p.variable({8}, 0.3F);
  p.op("exp", {v});
  p.op("scaled_add_", {v, g}, {{"b", 0.5}});
  p.give(p.op("tanh", {v}));
  p.run("eliminate_dead_code");
  p.wrong([](Nodes& n) { erase(n, of(n, "scaled_add_")); });
  p.wrong([](Nodes& n) { n.pop_back(); });  // the store
}

TEST_CASE("fold_constants") {
  Planted p;
  Tensor* scale = p.op("exp", {p.op.constant(floats({}, {1.5F}))});
  p.give(p.op("mul", {p.variable({8}, 0.1F), scale}));
  p.run("fold_constants");
  Tensor other = p.constants.back();
  other.data = floats({}, {4.5F});
  p.wrong([&](Nodes& n) { of(n, "mul").in[1] = &other; });
  p.wrong([&](Nodes& n) { of(n, "mul").in[1] = scale->producer->inputs[0]; });
}

TEST_CASE("eliminate_common_subexpressions") {
  Planted p;
  Tensor *v = p.variable({8}, 0.1F), *g = p.variable({8}, 0.3F);
  Tensor *one = p.op("exp", {v}), *same = p.op("exp", {v}), *sine = p.op("sin", {v});
  p.op("scaled_add_", {v, g}, {{"b", 0.5}});
  Tensor* later = p.op("exp", {v});
  p.give(p.op("sub", {p.op("add", {one, same}), p.op("mul", {sine, later})}));
  p.run("eliminate_common_subexpressions");
  p.wrong([&](Nodes& n) { replace(n, sine, one); });
  p.wrong([&](Nodes& n) { replace(n, later, one); });  // of memory that has changed
}

TEST_CASE("absorb_transposes") {
  Planted p;
  p.give(p.op("matmul", {p.variable({8, 8}, 0.1F), p.op("transpose", {p.variable({8, 8}, -0.3F)})}));
  p.run("absorb_transposes");
  p.wrong([](Nodes& n) { of(n, Form::product).product->shape.tb = false; });
  p.wrong([](Nodes& n) { of(n, Form::product).product->shape.ta = true; });
}

TEST_CASE("strided_operands") {
  Planted p;
  const auto heads = [&](Tensor* t) {
    return p.op("transpose", {p.op("reshape", {t}, {{"shape", Ints{2, 24, 3, 16}}})},
                {{"permutation", Ints{0, 2, 1, 3}}});
  };
  Tensor *q = heads(p.op("tanh", {p.variable({48, 48}, 0.1F)})),
         *k = heads(p.op("tanh", {p.variable({48, 48}, -0.3F)}));
  Tensor* scores = p.op("matmul", {q, p.op("transpose", {k}, {{"permutation", Ints{0, 1, 3, 2}}})});
  p.give(p.op("exp", {p.op("transpose", {scores}, {{"permutation", Ints{0, 2, 1, 3}}})}));
  p.run("strided_operands");
  p.wrong([](Nodes& n) {
    std::swap(of(n, Form::product).product->shape.a_strides[0], of(n, Form::product).product->shape.a_strides[1]);
  });
  p.wrong([](Nodes& n) { of(n, Form::product).product->shape.c_strides.clear(); });
}

TEST_CASE("save_derivatives") {
  Planted p;
  Tensor* x = p.op("mul", {p.variable({40}, -0.3F), p.variable({40}, 0.7F)});
  Tensor* y = p.op("gelu", {x});
  p.give(p.op("tanh", {y}));
  p.give(p.op("gelu_grad", {p.op("exp", {y}), x}));
  p.run("save_derivatives");
  p.wrong([](Nodes& n) { std::swap(of(n, Form::with_derivative).out[0], of(n, Form::with_derivative).out[1]); });
  p.wrong([&](Nodes& n) { of(n, Form::by_derivative).in[1] = y; });
}

namespace {

/// exp(v), then v += g, then v * g.
struct Update : Planted {
  Tensor *v = variable({8}, 0.1F), *g = variable({8}, 0.3F), *w = variable({8}, 0.6F), *scale = op("tanh", {g});
  Update() {
    give(op("exp", {v}));
    Tensor* h = op("sin", {w});
    Tensor* changed = op("scaled_add_", {v, scale}, {{"b", 0.5}});
    give(op("mul", {changed, h}));
  }
};

}  // namespace

TEST_CASE("resolve_aliases") {
  Update p;
  p.run("resolve_aliases");
  p.wrong([&](Nodes& n) { of(n, "mul").in[0] = p.w; });
  p.wrong([&](Nodes& n) { of(n, "scaled_add_").in[0] = p.w; });
}

TEST_CASE("schedule_updates_early") {
  Update p;
  p.run("schedule_updates_early");
  p.wrong([](Nodes& n) { move(n, of(n, "scaled_add_"), 1); });             // before a reader of the old value
  p.wrong([](Nodes& n) { move(n, of(n, "scaled_add_"), n.size() - 1); });  // behind a reader of the new one
}

TEST_CASE("sparse_updates") {
  Planted p;
  Tensor *w = p.variable({128, 32}, -0.3F), *dy = p.variable({6, 32}, 0.1F);
  const auto gradient = [&](std::initializer_list<int32_t> indices) {
    return p.op("gather_grad", {dy, p.op.constant(ints({6}, indices))},
                {{"shape", w->spec.shape}, {"axis", int64_t{0}}, {"zero_OOR", false}, {"batch", int64_t{0}}});
  };
  Tensor *first = gradient({3, 60, 3, 3, 0, 63}), *second = gradient({60, 3, 9, 127, 9, 60});
  p.op("scaled_add_", {w, p.op("add", {first, second})}, {{"b", -0.1}});
  p.run("sparse_updates");
  p.wrong([](Nodes& n) { of(n, Form::sparse).members[2].in[1] = of(n, Form::sparse).members[2].in[0]; });
  p.wrong([](Nodes& n) { of(n, Form::sparse).members[0].in[1] = of(n, Form::sparse).members[1].in[1]; });
}

TEST_CASE("compute_in_place") {
  Planted p;
  Tensor *v = p.variable({8}, 0.1F), *g = p.variable({8}, 0.3F);
  p.op("copy_var_update_", {v, p.op("mul", {p.op("exp", {g}), g})});
  p.run("compute_in_place", false);
  CHECK(of(p.nodes, "copy_var_update_").overwritten_by == 1);
  p.wrong([&](Nodes& n) { of(n, "copy_var_update_").in[1] = g; });
  p.wrong([](Nodes& n) { erase(n, of(n, "copy_var_update_")); });
}

TEST_CASE("fuse_elementwise") {
  Planted p;
  Tensor *a = p.variable({8}, 0.1F), *b = p.variable({8}, 0.3F);
  p.give(p.op("tanh", {p.op("sub", {p.op("exp", {a}), b})}));
  p.run("fuse_elementwise");
  p.wrong([](Nodes& n) { std::swap(of(n, Form::fused).members[1].in[0], of(n, Form::fused).members[1].in[1]); });
  p.wrong([&](Nodes& n) { of(n, Form::fused).members[1].in[0] = a; });  // leaves out a member
}

TEST_CASE("fuse_dgrad_wgrad") {
  Planted p;
  Tensor *x = p.variable({8, 64}, -0.3F), *w = p.variable({64, 64}, 0.2F), *dy = p.variable({8, 64}, -0.1F);
  p.give(p.op("matmul", {dy, p.op("transpose", {w})}));
  p.op("scaled_add_", {w, p.op("matmul", {p.op("transpose", {x}), dy})}, {{"b", -0.5}});
  p.run("fuse_dgrad_wgrad");
  p.wrong([](Nodes& n) { std::swap(of(n, Form::one_pass).members[0], of(n, Form::one_pass).members[1]); });
  p.wrong([](Nodes& n) { of(n, Form::one_pass).members[0].product->shape.tb = false; });
}

TEST_CASE("fuse_prologues") {
  Planted p;
  Tensor* w = p.ir->main().add_variable(counting({64, 96}, 1).cast(DType::float16), "w");
  Tensor* other = p.ir->main().add_variable(counting({64, 96}, 2).cast(DType::float16), "u");
  p.give(p.op("matmul", {p.variable({4, 64}, 0.1F), p.op("cast", {w}, {{"data_type", DType::float32}})}));
  p.run("fuse_prologues");
  p.wrong([&](Nodes& n) { of(n, Form::prologue).members[0].in[0] = other; });
  p.wrong([](Nodes& n) { of(n, Form::prologue).members[1].product->shape.b_offset = 1; });
}

TEST_CASE("compute_once") {
  Planted p;
  Graph& step = p.ir->create_graph("step");
  Ops at(step);
  Tensor *h = step.add_input(f32({12, 96}), "h"), *w = step.add_input(f32({96, 96}), "w"),
         *u = step.add_input(f32({96, 96}), "u");
  step.add_output(at("tanh", {at("matmul", {at("matmul", {h, w}), u})}));
  add_repeat(p.ir->main(), step, 5,
             {p.variable({12, 96}, 0.1F), p.variable({96, 96}, 0.2F), p.variable({96, 96}, -0.3F)});
  p.run("compute_once", step);
  p.wrong([&](Nodes& n) { of(n, Form::prepared_operand).in[0] = u; });
  p.wrong([](Nodes& n) { std::swap(n[0].in[0], n[1].in[0]); });
}

TEST_CASE("fuse_horizontally") {
  Planted p;
  Tensor *x = p.variable({8, 512}, -0.3F), *w = p.variable({512, 64}, 0.2F), *b = p.variable({64}, 0.1F),
         *dy = p.variable({8, 64}, -0.1F), *other = p.variable({8, 64}, 0.5F);
  p.op("scaled_add_", {b, p.op("sum", {dy}, {{"axis", Ints{0}}})}, {{"b", -0.01}});
  p.op("scaled_add_", {w, p.op("matmul", {p.op("transpose", {x}), dy})}, {{"b", -0.01}});
  p.run("fuse_horizontally");
  p.wrong([](Nodes& n) { of(n, Form::side_by_side).members.erase(of(n, Form::side_by_side).members.begin()); });
  p.wrong([&](Nodes& n) { of(n, Form::side_by_side).members[0].members[0].in[0] = other; });
}

namespace {

/// A step of training: two layers, their gradients and updates with momentum, and a table of rows.
struct Step : Planted {
  explicit Step(int64_t batch) {
    Tensor *x = variable({batch, 40}, 0.1F), *w = variable({40, 48}, -0.2F), *b = variable({48}, 0.3F),
           *u = variable({48, 24}, 0.1F);
    Tensor* sum = op("add", {op("matmul", {x, w}), b});
    Tensor *h = op("gelu", {sum}), *y = op("softmax", {op("matmul", {h, u})}, {{"axis", int64_t{-1}}});
    Tensor* dh = op("gelu_grad", {op("matmul", {y, op("transpose", {u})}), sum});
    update(u, op("matmul", {op("transpose", {h}), y}));
    update(w, op("matmul", {op("transpose", {x}), dh}));
    update(b, op("sum", {dh}, {{"axis", Ints{0}}}));
    Tensor *table = variable({128, 24}, 0.5F), *rows = op.constant(ints({3}, {5, 2, 5}));
    op("scaled_add_",
       {table,
        op("gather_grad",
           {op("slice_window", {y}, {{"starts", Ints{0, 0}}, {"steps", Ints{1, 1}}, {"sizes", Ints{3, 24}}}), rows},
           {{"shape", table->spec.shape}, {"axis", int64_t{0}}, {"zero_OOR", false}, {"batch", int64_t{0}}})},
       {{"b", -0.1}});
    give(y);
  }
  void update(Tensor* w, Tensor* gradient) {
    Tensor* m = variable(w->spec.shape, 0);
    op("accumulate_moving_average_", {m, gradient}, {{"f", 0.9}});
    op("scaled_add_", {w, m}, {{"b", -0.1}});
  }
  int count(Form form) const {
    return static_cast<int>(std::ranges::count_if(nodes, [&](const Node& n) { return n.form == form; }));
  }
};

}  // namespace

TEST_CASE("a step of training has its values on the processor, and on a machine that can do less") {
  for (const int64_t batch : {8, 64}) {
    CAPTURE(batch);
    Step fast(batch), small(batch);
    fast.plan_for(cpu_target());
    CHECK(fast.count(Form::one_pass) == (batch == 8 ? 1 : 0));
    CHECK(fast.count(Form::sparse) == 1);
    small.plan_for(SmallTarget());
    CHECK(small.count(Form::one_pass) + small.count(Form::with_derivative) == 0);
    for (const Node& n : small.nodes)
      CHECK((n.form != Form::fused || (n.members.size() == 2 && !product_in_blocks(n))));
    CHECK(small.nodes.size() > fast.nodes.size());
  }
}
