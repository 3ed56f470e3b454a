// Programs of Graphcore's own tests. The tests state the figures that their profiler must report.
#include <map>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/inline.hpp"
#include "tests/model/published/published_builders.hpp"
#include "tests/model/published/published_programs.hpp"

namespace pxl::tiles {

using namespace published;

namespace {

constexpr std::string_view eight_tiles = "mk2,tiles=8";
const Shape& square = never_destroyed(Shape{64, 64});

/// The gradient of the cross entropy for logits and labels.
Tensor* logits_gradient(Ir& ir, Tensor* logits) {
  Tensor* labels = from_host(ir, {logits->spec.shape[0]}, DType::int32);
  const std::vector<Tensor*> both = ops("cross_entropy_with_grad", {logits, labels});
  to_host(ir, both[0]);
  return both[1];
}

/// A variable that the program does not change is copied before its use (graphcore/tensorflow, entry_visitor:
/// resource_not_modified_clone).
Tensor* unmodified(Ir& ir, Shape shape, DType dtype) { return op("identity", {variable(ir, std::move(shape), dtype)}); }

void descend(Tensor* variable, Tensor* gradient) {
  op("scaled_add_", {variable, gradient}, {{"a", 1.0}, {"b", -0.001}});
}

Report dense_layer() {
  Ir ir;
  Tensor* y = op("matmul", {from_host(ir, {16, 4096}, DType::float32), variable(ir, {4096, 1024}, DType::float32)});
  to_host(ir, op("add", {y, variable(ir, {1024}, DType::float32)}));
  return report(ir.main(), "mk2");
}

Report calls(bool training) {
  Ir ir;
  Graph& body = ir.create_graph("Body");
  Tensor* in[3];
  for (Tensor*& t : in) t = body.add_input(spec(square, DType::float32), "x");
  body.add_output(op("sigmoid", {op("add", {op("matmul", {in[0], in[1]}), in[2]})}));
  Tensor *a = from_host(ir, square, DType::float32), *b = from_host(ir, square, DType::float32),
         *c = from_host(ir, square, DType::float32);
  const auto weight = [&] {
    return training ? variable(ir, square, DType::float32) : unmodified(ir, square, DType::float32);
  };
  Tensor *w0 = weight(), *w1 = weight();
  Op* first = ir.main().add_call(body, {a, w0, b});
  Op* second = ir.main().add_call(body, {first->outputs[0], w1, c});
  Tensor* y = op("sub", {first->outputs[0], second->outputs[0]});
  to_host(ir, y);
  if (training) {
    Tensor* dy = logits_gradient(ir, y);
    const Backward of_second = backward(*second, {op("negate", {dy})}, {first->outputs[0], w1});
    const Backward of_first = backward(*first, {op("add", {dy, of_second.gradients[0]})}, {w0});
    descend(w0, of_first.gradients[0]);
    descend(w1, of_second.gradients[1]);
  }
  return report(ir.main(), eight_tiles);
}

Report nested_calls() {
  Ir ir;
  const TensorSpec whole = spec(square, DType::float32), row = spec({64}, DType::float32);
  Graph& inner = ir.create_graph("Dense");
  Tensor *ix = inner.add_input(whole, "x"), *iw = inner.add_input(whole, "w"), *ib = inner.add_input(row, "b");
  inner.add_output(op("add", {op("matmul", {ix, iw}), ib}));
  Graph& outer = ir.create_graph("Layer");
  Tensor *ox = outer.add_input(whole, "x"), *ow = outer.add_input(whole, "w"), *ob = outer.add_input(row, "b");
  outer.add_output(op("sigmoid", {outer.add_call(inner, {ox, ow, ob})->outputs[0]}));
  Tensor* x = from_host(ir, square, DType::float32);
  Op* calls[2];
  Tensor *w[2], *b[2];
  for (int i = 0; i < 2; ++i) {
    w[i] = variable(ir, square, DType::float32);
    b[i] = variable(ir, {64}, DType::float32);
    calls[i] = ir.main().add_call(outer, {x, w[i], b[i]});
    x = calls[i]->outputs[0];
  }
  to_host(ir, x);
  const Backward of_second = backward(*calls[1], {logits_gradient(ir, x)}, {calls[0]->outputs[0], w[1], b[1]});
  const Backward of_first = backward(*calls[0], {of_second.gradients[0]}, {w[0], b[0]});
  for (size_t i = 0; i < 2; ++i) descend(i == 0 ? w[0] : b[0], of_first.gradients[i]);
  for (size_t i = 0; i < 2; ++i) descend(i == 0 ? w[1] : b[1], of_second.gradients[i + 1]);
  return report(ir.main(), eight_tiles);
}

Report lookups() {
  constexpr int64_t rows = 20000, width = 128, parts = 10, slice = rows / parts;
  Ir ir;
  Graph& body = ir.create_graph("Lookup");
  Tensor* table = body.add_input(spec({slice, width}, DType::float16), "table");
  Tensor* indices = body.add_input(spec({2 * parts}, DType::int32), "indices");
  Tensor *least = body.add_input(spec({}, DType::int32), "least"), *end = body.add_input(spec({}, DType::int32), "end");
  Tensor* found = op("gather", {table, op("sub", {indices, least})});
  Tensor* inside = op("logical_and", {op("less", {indices, end}), op("greater_equal", {indices, least})});
  inside = reshape(op("cast", {inside}, {{"data_type", DType::float16}}), {2 * parts, 1});
  body.add_output(op("mul", {found, inside}));
  Tensor *all = from_host(ir, {rows, width}, DType::float16), *wanted = from_host(ir, {2 * parts}, DType::int32);
  Tensor* sum = nullptr;
  for (int64_t i = 0; i < parts; ++i) {
    Tensor* part = op("slice", {all}, {{"start", Ints{i * slice}}, {"stop", Ints{(i + 1) * slice}}, {"axis", Ints{0}}});
    Tensor* bounds[2];
    for (int64_t j = 0; j < 2; ++j)
      bounds[j] = ir.main().add_constant(Array::full(DType::int32, {}, static_cast<double>((i + j) * slice)), "bound");
    Tensor* y = ir.main().add_call(body, {part, wanted, bounds[0], bounds[1]})->outputs[0];
    sum = sum ? op("add", {sum, y}) : y;
  }
  to_host(ir, sum);
  return report(ir.main(), eight_tiles);
}

Report broadcast_product() {
  Ir ir;
  const Shape large = {1024, 1024};
  Tensor* x = op("broadcast_to", {from_host(ir, {1024}, DType::float16)}, {{"shape", Ints{1024, 1024}}});
  Tensor* a = from_host(ir, large, DType::float16);
  to_host(ir, op("matmul", {a, op("matmul", {x, unmodified(ir, large, DType::float16)})}));
  // The sizes exceed a real tile's memory, which the profiler accepts. Candidates are limited to 60 % of a real tile.
  EstimateOptions options;
  options.machine = parse_machine("mk2,tiles=8,memory=4Mi");
  options.candidates.available_memory_permille = 91;
  options.candidates.copies = false;
  options.candidates.separately = true;
  return estimate(ir.main(), options);
}

Report initialisers() {
  Ir ir;
  Graph& g = ir.create_graph("Initialisers");
  Tensor* seed = g.add_input(spec({2}, DType::uint32), "seed");
  const auto draw = [&](int64_t rows, int64_t columns) {
    g.add_output(op("random_normal", {seed},
                    {{"shape", Ints{rows, columns}}, {"mean", 0.0}, {"std", 0.01}, {"dtype", DType::float16}}));
  };
  draw(50176, 1400);
  for (int i = 0; i < 19; ++i) draw(1400, 1400);
  draw(1400, 4);
  return report(g, "mk2");
}

Report serial_product() {
  constexpr int64_t rows = 30522, depth = 128, columns = 768, parts = 6, slice = rows / parts;
  Ir ir;
  Graph& body = ir.create_graph("Product");
  Tensor* left = body.add_input(spec({slice, depth}, DType::float16), "left");
  Tensor* right = body.add_input(spec({depth, columns}, DType::float16), "right");
  body.add_output(op("matmul", {left, right}));
  Tensor *x = from_host(ir, {rows, columns}, DType::float16), *y = from_host(ir, {rows, depth}, DType::float16),
         *z = from_host(ir, {depth, columns}, DType::float16);
  std::vector<Expr> products;
  GraphOpBuilder builder(ir.main());
  for (int64_t i = 0; i < parts; ++i) {
    Tensor* part = op("slice", {y}, {{"start", Ints{i * slice}}, {"stop", Ints{(i + 1) * slice}}, {"axis", Ints{0}}});
    products.push_back(builder.of(ir.main().add_call(body, {part, z})->outputs[0]));
  }
  Tensor* joined = builder.one("concat", {std::move(products)}, {{"axis", int64_t{0}}}).tensor();
  to_host(ir, op("add", {x, joined}));
  return report(ir.main(), "mk2");
}

Report small_net(int64_t batch, bool training) {
  Ir ir;
  Graph& net = ir.create_graph("Net");
  const int64_t widths[] = {50176, 32, 64, 64};
  Tensor* h = net.add_input(spec({batch, widths[0]}, DType::float16), "x");
  std::vector<Tensor*> given = {from_host(ir, {batch, widths[0]}, DType::float16)};
  const auto parameter = [&](Shape shape) {
    given.push_back(training ? variable(ir, shape, DType::float16) : unmodified(ir, shape, DType::float16));
    return net.add_input(spec(std::move(shape), DType::float16), "w", true);
  };
  for (size_t i = 0; i < 3; ++i) {
    h = op("matmul", {h, parameter({widths[i], widths[i + 1]})});
    h = op("relu", {op("add", {h, parameter({widths[i + 1]})})});
  }
  net.add_output(h);
  Op* call = ir.main().add_call(net, given);
  Tensor* dy = logits_gradient(ir, call->outputs[0]);
  if (training) {
    const std::vector<Tensor*> parameters(given.begin() + 1, given.end());
    const Backward made = backward(*call, {dy}, parameters);
    for (size_t i = 0; i < parameters.size(); ++i) descend(parameters[i], made.gradients[i]);
  }
  // The test has no calls.
  return report(inline_calls(ir, [](const Graph&) { return true; }).ir->main(), "mk2");
}

}  // namespace

const Report& published_dense_layer() {
  static const auto& r = never_destroyed(dense_layer());
  return r;
}
const Report& published_calls() {
  static const auto& r = never_destroyed(calls(false));
  return r;
}
const Report& published_calls_training() {
  static const auto& r = never_destroyed(calls(true));
  return r;
}
const Report& published_nested_calls() {
  static const auto& r = never_destroyed(nested_calls());
  return r;
}
const Report& published_lookups() {
  static const auto& r = never_destroyed(lookups());
  return r;
}
const Report& published_broadcast_product() {
  static const auto& r = never_destroyed(broadcast_product());
  return r;
}
const Report& published_initialisers() {
  static const auto& r = never_destroyed(initialisers());
  return r;
}
const Report& published_serial_product() {
  static const auto& r = never_destroyed(serial_product());
  return r;
}
const Report& published_small_net(int64_t batch, bool training) {
  static auto& reports = never_destroyed(std::map<std::pair<int64_t, bool>, Report>());
  const auto found = reports.find({batch, training});
  return found != reports.end() ? found->second
                                : reports.emplace(std::pair(batch, training), small_net(batch, training)).first->second;
}

}  // namespace pxl::tiles
