// Fused plans against op-by-op ones: the same bits, fewer passes.
#include "runtime/execute/session.hpp"
#include "runtime/plan/passes/flatten_calls.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Program {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  std::vector<Stream*> out;
  std::vector<Tensor*> variables;
};

/// Runs a program three times, fused or not, and gives its outputs and variables.
std::vector<Array> results(const Program& p, bool fuse) {
  setenv("PXL_FUSE", fuse ? "on" : "off", 1);
  Session s(p.ir, "cpu");
  unsetenv("PXL_FUSE");
  std::vector<Array> all;
  for (int run = 0; run < 3; ++run) {
    auto outputs = s.run({});
    for (Stream* stream : p.out) all.push_back(outputs.at(stream));
  }
  for (Tensor* v : p.variables) all.push_back(s.get_tensor_data(v));
  return all;
}

void check_same_bits(const Program& p) {
  const auto fused = results(p, true), plain = results(p, false);
  REQUIRE(fused.size() == plain.size());
  for (size_t i = 0; i < fused.size(); ++i) CHECK(identical(fused[i], plain[i]));
}

std::string plan_of(const Program& p) {
  Planner planner(PlanOptions{});
  return print_plan(planner.plan(p.ir->main()));
}

Tensor* variable(Program& p, Shape shape, float from, float step = 0.01f) {
  Array a(DType::float32, std::move(shape));
  float* to = a.mutable_data<float>();
  for (int64_t i = 0; i < a.size(); ++i) to[i] = from + step * static_cast<float>(i * 7 % 61);
  p.variables.push_back(p.ir->main().add_variable(std::move(a), "v"));
  return p.variables.back();
}

}  // namespace

TEST_CASE("a product takes up bias and activation, an update takes up its gradient") {
  Program p;
  Ops op(p.ir->main());
  Tensor *x = variable(p, {8, 300}, -0.3f), *w = variable(p, {300, 40}, 0.2f), *b = variable(p, {40}, 0.1f);
  Tensor* y = op("gelu", {op("add", {op("matmul", {x, w}), b})});
  Tensor* g = op("matmul", {op("transpose", {x}), y});
  op("scaled_add_", {w, g}, {{"b", -0.001}});
  p.out.push_back(&store(*p.ir, y));
  check_same_bits(p);
  CHECK_CONTAINS(plan_of(p), "matmul+add+gelu");
  CHECK_CONTAINS(plan_of(p), "scaled_add_");
  CHECK_CONTAINS(plan_of(p), "[lhs transposed]+");
}

TEST_CASE("a product that others read keeps its values beside what follows it") {
  for (int64_t rows : {8, 100}) {
    CAPTURE(rows);
    Program p;
    Ops op(p.ir->main());
    Tensor *x = variable(p, {rows, 300}, -0.3f), *w = variable(p, {300, 40}, 0.2f), *b = variable(p, {40}, 0.1f);
    Tensor* product = op("matmul", {x, w});
    Tensor* y = op("tanh", {op("add", {product, b})});
    p.out = {&store(*p.ir, product), &store(*p.ir, y)};
    check_same_bits(p);
    CHECK_CONTAINS(plan_of(p), "matmul+add+tanh");
  }
}

TEST_CASE("an update after a reader of the old value stays after it") {
  Program p;
  Ops op(p.ir->main());
  InSequence order(p.ir->main(), InSequence::Mode::yes);
  Tensor *w = variable(p, {64, 64}, 0.5f), *g = variable(p, {64, 64}, -0.2f);
  Tensor* step = op("tanh", {g});
  Tensor* before = op("relu", {w});
  Tensor* product = op("matmul", {w, g});
  op("scaled_add_", {w, step}, {{"b", 0.5}});
  Tensor* after = op("relu", {w});
  p.out = {&store(*p.ir, before), &store(*p.ir, product), &store(*p.ir, after)};
  check_same_bits(p);
}

TEST_CASE("updates inside called graphs meet their gradients") {
  Program p;
  Graph& main = p.ir->main();
  Graph& update = p.ir->create_graph("update");
  {
    Ops op(update);
    InSequence order(update, InSequence::Mode::yes);
    Tensor* weight = update.add_input({{300, 40}, DType::float32, {}}, "weight", true);
    Tensor* grad = update.add_input({{300, 40}, DType::float32, {}}, "grad");
    Tensor* state = update.add_input({{300, 40}, DType::float32, {}}, "state", true);
    op("accumulate_moving_average_", {state, grad}, {{"f", 0.9}});
    op("scaled_add_", {weight, state}, {{"b", -0.1}});
  }
  Ops op(main);
  Tensor *x = variable(p, {8, 300}, -0.3f), *w = variable(p, {300, 40}, 0.2f), *m = variable(p, {300, 40}, 0, 0);
  Tensor* y = op("matmul", {x, w});
  Tensor* g = op("matmul", {op("transpose", {x}), y});
  main.add_call(update, {w, g, m});
  p.out.push_back(&store(*p.ir, y));
  check_same_bits(p);
  CHECK_CONTAINS(plan_of(p), "matmul[lhs transposed]+accumulate_moving_average_+scaled_add_");
}

TEST_CASE("broadcasts, casts and results that several need are fused right") {
  Program p;
  Ops op(p.ir->main());
  Tensor *x = variable(p, {33, 70}, -1.5f), *row = variable(p, {70}, 0.5f), *column = variable(p, {33, 1}, 2.0f);
  Tensor* a = op("mul", {x, row});
  Tensor* b = op("sub", {a, column});
  Tensor* c = op("exp", {op("negate", {op("mul", {b, b})})});
  Tensor* d = op("add", {c, a});
  Tensor* total = op("sum", {d}, {{"axis", std::vector<int64_t>{0}}});
  Tensor* e = op("div", {d, total});
  p.out = {&store(*p.ir, e), &store(*p.ir, b)};
  check_same_bits(p);
  CHECK_CONTAINS(plan_of(p), "mul+sub");
}

TEST_CASE("a broadcast is computed with what reads it, unless that is the epilogue of a product") {
  for (bool with_product : {false, true}) {
    Program p;
    Ops op(p.ir->main());
    Tensor *x = variable(p, {33, 70}, -1.5f), *column = variable(p, {33, 1}, 2.0f);
    Tensor* wide = op("broadcast_to", {column}, {{"shape", std::vector<int64_t>{33, 70}}});
    Tensor* other = with_product ? op("matmul", {x, variable(p, {70, 70}, 0.2f)}) : x;
    p.out = {&store(*p.ir, op("mul", {op("exp", {wide}), other}))};
    check_same_bits(p);
    CHECK_CONTAINS(plan_of(p), with_product ? "matmul+mul" : "broadcast_to+exp+mul");
  }
}

TEST_CASE("a callee's changes of by-value inputs stay its own") {
  Program p;
  Graph& main = p.ir->main();
  Graph& f = p.ir->create_graph("f");
  {
    Ops op(f);
    InSequence order(f, InSequence::Mode::yes);
    Tensor* x = f.add_input({{40, 40}, DType::float32, {}}, "x");
    Tensor* c = op.constant(counting({40, 40}, 1));
    op("add_", {x, c});
    f.add_output(op("tanh", {x}));
    f.add_output(op("reshape_", {x}, {{"shape", std::vector<int64_t>{1600}}}));
    f.add_output(x);
    f.add_output(c);
  }
  Ops op(main);
  Tensor* v = variable(p, {40, 40}, 0.25f);
  for (int i = 0; i < 2; ++i) {
    Op* call = main.add_call(f, {v});
    for (Tensor* t : call->outputs) p.out.push_back(&store(*p.ir, op("relu", {t})));
  }
  check_same_bits(p);
}

TEST_CASE("slices and rolled tensors are picked block by block where they are read, unless the reader changes them") {
  Program p;
  Ops op(p.ir->main());
  InSequence order(p.ir->main(), InSequence::Mode::yes);
  Tensor *u = variable(p, {70, 50}, -0.3f), *f = variable(p, {68, 48}, 0.2f);
  const auto window = [&](Tensor* t, int64_t row, int64_t column) {
    return op("slice_window", {t},
              {{"starts", std::vector<int64_t>{row, column}},
               {"steps", std::vector<int64_t>{1, 1}},
               {"sizes", std::vector<int64_t>{68, 48}}});
  };
  Tensor* sum = op("add", {op("add", {window(u, 0, 1), window(u, 2, 1)}), op("mul", {window(u, 1, 0), f})});
  p.out.push_back(&store(*p.ir, op("tanh", {sum})));
  // The neighbours of what the same kernel computes or changes are not ready.
  const auto roll = [&](Tensor* t, int64_t by, int64_t axis) {
    return op("roll", {t}, {{"shift", by}, {"axis", axis}});
  };
  Tensor* y = op("exp", {u});
  p.out.push_back(&store(*p.ir, op("add", {op("add", {roll(y, 1, 0), roll(y, -3, 1)}), y})));
  op("add_", {u, op("mul", {roll(u, 7, 0), roll(u, -1, 1)})});
  check_same_bits(p);
  CHECK_CONTAINS(plan_of(p), "slice_window+slice_window+add+slice_window+mul+add+tanh");
  CHECK_CONTAINS(plan_of(p), "roll+roll+add+add");
  CHECK_CONTAINS(plan_of(p), "roll+roll+mul");
  CHECK(plan_of(p).find("exp+roll") == std::string::npos);
}

TEST_CASE("equal parts of a tensor are picked where they are read, the gates of a recurrence for instance") {
  for (const int64_t axis : {int64_t{0}, int64_t{1}}) {
    Program p;
    Ops op(p.ir->main());
    Tensor *gates = variable(p, {40, 28}, -0.3f), *c = variable(p, axis == 0 ? Shape{10, 28} : Shape{40, 7}, 0.2f);
    const std::vector<Expr> parts =
        op.builder.emit("split", {op.builder.of(gates)}, {{"splits", int64_t{4}}, {"axis", axis}});
    Tensor* kept = op("mul", {op("sigmoid", {parts[0].tensor()}), c});
    Tensor* added = op("mul", {op("sigmoid", {parts[1].tensor()}), op("tanh", {parts[2].tensor()})});
    p.out = {&store(*p.ir, op("add", {kept, added})), &store(*p.ir, parts[3].tensor())};
    check_same_bits(p);
    CHECK_CONTAINS(plan_of(p), "split+sigmoid+mul+sigmoid+tanh+mul+add");
  }
}

TEST_CASE("what follows a product or a convolution of whole numbers runs on the parts of its result") {
  const auto bytes = [](Program& p, DType dtype, Shape shape) {
    Array a(dtype, std::move(shape));
    for (int64_t i = 0; i < a.size(); ++i) a.mutable_raw()[i] = static_cast<std::byte>(i * 37 % 251);
    p.variables.push_back(p.ir->main().add_variable(std::move(a), "v"));
    return p.variables.back();
  };
  const auto check = [](Program& p, Ops& op, Tensor* sum, std::string_view name) {
    Tensor* scaled = op("mul", {op("cast", {sum}, {{"data_type", DType::float32}}), variable(p, {1}, 0.01f)});
    p.out.push_back(&store(*p.ir, op("relu", {scaled})));
    check_same_bits(p);
    CHECK_CONTAINS(plan_of(p), std::string(name) + "+cast+mul+relu");
  };
  for (const Shape& a : {Shape{70, 33}, Shape{3, 130, 7}, Shape{1, 5}}) {
    Program p;
    Ops op(p.ir->main());
    const Shape weights{a.back(), 300};
    check(p, op, op("matmul_integer", {bytes(p, DType::uint8, a), bytes(p, DType::int8, weights)}), "matmul_integer");
  }
  for (const int64_t groups : {1, 2, 8}) {
    Program p;
    Ops op(p.ir->main());
    Tensor *x = bytes(p, DType::uint8, {3, 8, 9, 9}), *w = bytes(p, DType::int8, {24, 8 / groups, 3, 3});
    check(p, op, op("conv_integer", {x, w}, {{"padding", int64_t{1}}, {"groups", groups}}), "conv_integer");
  }
}

TEST_CASE("a convolution takes up a sum and bounds that follow it, and members compute other ops") {
  const auto check = [](const Shape& image, const Shape& weights, int64_t padding, int64_t dilation, int64_t groups) {
    Program p;
    Ops op(p.ir->main());
    Tensor *x = variable(p, image, -0.3f), *w = variable(p, weights, -0.2f), *bias = variable(p, {weights[0]}, -0.1f);
    const std::vector<int64_t> by(weights.size() - 2, dilation);
    const auto conv = [&](bool biased) {
      const OpRow& row = get_op("conv");
      OpArgs args{std::vector<OpArg>(row.params.size())};
      for (size_t i = 0; i < row.params.size(); ++i) {
        const std::string_view name = row.params[i].name;
        OpArg& arg = args.values[i];
        if (i < 2) arg = op.builder.of(i == 0 ? x : w);
        if (name == "padding") arg = Attr{padding};
        if (name == "dilation") arg = Attr{by};
        if (name == "groups") arg = Attr{groups};
        if (name == "bias" && biased) arg = op.builder.of(bias);
      }
      return op.builder.emit(row, args)[0].tensor();
    };
    const auto give = [&](Tensor* t) { p.out.push_back(&store(*p.ir, t)); };
    Tensor *one = variable(p, {}, 0.25f), *six = op.constant(Array::scalar(6.0F));
    for (const bool biased : {false, true}) {
      Tensor* r = variable(p, conv(biased)->spec.shape, -0.5f);
      give(op("relu", {op("add", {conv(biased), r})}));
      give(op("minimum", {op("relu", {op("add", {r, conv(biased)})}), six}));
      give(op("hard_swish", {op("add", {conv(biased), r})}));
      give(op("relu", {op("hard_swish", {conv(biased)})}));
      give(op("hard_swish", {op("relu", {conv(biased)})}));
      give(op("add", {op("relu", {conv(biased)}), r}));                             // the bound is first
      give(op("relu", {op("add", {conv(biased), one})}));                           // another shape
      give(op("add", {op("add", {conv(biased), r}), x->spec == r->spec ? x : r}));  // two sums
      give(op("add", {conv(biased), op("tanh", {r})}));                             // perhaps made by a member
      Tensor* y = conv(biased);
      give(op("relu", {op("add", {y, y})}));
      Tensor* sum = op("add", {conv(biased), r});  // read twice
      give(sum);
      give(op("relu", {sum}));
    }
    check_same_bits(p);
  };
  check({2, 16, 9, 9}, {16, 16, 3, 3}, 1, 1, 1);
  check({1, 48, 7, 7}, {70, 48, 1, 1}, 0, 1, 1);
  check({3, 20, 30, 30}, {24, 20, 1, 1}, 0, 1, 1);
  check({2, 16, 14, 14}, {16, 16, 3, 3}, 2, 2, 1);
  check({1, 24, 14, 14}, {24, 1, 3, 3}, 1, 1, 24);
  check({2, 3, 20, 20}, {12, 3, 5, 5}, 0, 1, 1);
  check({5, 8, 6}, {9, 8, 3}, 1, 1, 1);
}

TEST_CASE("a convolution in a loop adds the carried value that it replaces") {
  const auto check = [](int64_t times, int64_t channels, int64_t plane, int64_t kernel, bool last) {
    Program p;
    Tensor *h = variable(p, {1, channels, plane, plane}, -0.3f),
           *w = variable(p, {channels, channels, kernel, kernel}, -0.2f, 0.001f);
    Graph& step = p.ir->create_graph("step");
    Tensor *of_h = step.add_input(h->spec, "h"), *of_w = step.add_input(w->spec, "w");
    Ops at(step);
    Tensor* const sums = at("conv", {of_h, of_w}, {{"padding", kernel / 2}});
    step.add_output(at("relu", {last ? at("add", {of_h, sums}) : at("add", {sums, of_h})}));
    p.out.push_back(&store(*p.ir, add_repeat(p.ir->main(), step, times, {h, w})->outputs[0]));
    check_same_bits(p);
  };
  for (const bool last : {false, true}) {
    for (const int64_t times : {1, 2, 5}) check(times, 16, 7, 3, last);
    check(2, 260, 24, 1, last);  // sums of several blocks of terms
    check(2, 64, 14, 3, last);
  }
}
