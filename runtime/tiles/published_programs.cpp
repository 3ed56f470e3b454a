#include "runtime/tiles/published_programs.hpp"

#include <algorithm>
#include <map>

#include "runtime/ops/op_builder.hpp"
#include "runtime/tiles/estimate.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/inline.hpp"

namespace pxl::tiles {

namespace {

using Attrs = std::initializer_list<std::pair<std::string_view, Attr>>;
using Ints = std::vector<int64_t>;

Tensor* op(std::string_view name, std::vector<Tensor*> operands, Attrs attrs = {}) {
  GraphOpBuilder builder(*operands.at(0)->graph);
  std::vector<OpArg> args;
  for (Tensor* t : operands) args.emplace_back(builder.of(t));
  return builder.one(name, std::move(args), attrs).tensor();
}
Tensor* reshape(Tensor* t, Ints shape) { return op("reshape", {t}, {{"shape", std::move(shape)}}); }
Tensor* transpose(Tensor* t, Ints order) { return op("transpose", {t}, {{"permutation", std::move(order)}}); }

TensorSpec spec(Shape shape, DType dtype) { return {std::move(shape), dtype, {}}; }

// Nothing runs: the values are never read, so their pages are never touched.
Tensor* variable(Ir& ir, Shape shape, DType dtype) {
  return ir.main().add_variable(Array(dtype, std::move(shape)), "w");
}

Report report(const Ir& ir, std::string_view machine, bool copies = false, bool half_partials = false) {
  EstimateOptions options;
  options.machine = parse_machine(machine);
  options.candidates.copies = copies;
  if (half_partials) options.candidates.half_partial_bytes = 2;
  return estimate(ir.main(), options);
}

/// Sizes of a transformer layer.
struct LayerSizes {
  int64_t batch, tokens, width, heads, inner;
};
std::vector<Shape> layer_weights(const LayerSizes& s) {
  return {{s.width}, {s.width}, {s.width, 3 * s.width}, {s.width, s.width},
          {s.width}, {s.width}, {s.width, s.inner},     {s.inner, s.width}};
}

/// x [batch * tokens, width] through attention and the two dense layers; weights as in layer_weights.
Tensor* transformer_layer(const LayerSizes& s, Tensor* x, std::vector<Tensor*> w) {
  for (Tensor*& t : w)
    if (t->spec.dtype != x->spec.dtype) t = op("cast", {t}, {{"data_type", x->spec.dtype}});
  const int64_t head = s.width / s.heads, rows = s.batch * s.tokens;
  Tensor* h = op("layer_norm", {x, w[0], w[1]});
  // [3, batch, heads, tokens, head]
  Tensor* qkv = transpose(reshape(op("matmul", {h, w[2]}), {s.batch, s.tokens, 3, s.heads, head}), {2, 0, 3, 1, 4});
  GraphOpBuilder builder(*x->graph);
  const auto parts = builder.emit("split", {builder.of(qkv)}, {{"splits", Ints{1, 1, 1}}, {"axis", int64_t{0}}});
  Tensor* each[3];
  for (size_t i = 0; i < 3; ++i) each[i] = reshape(parts[i].tensor(), {s.batch * s.heads, s.tokens, head});
  Tensor* scores = op("matmul", {each[0], transpose(each[1], {0, 2, 1})});
  Tensor* mixed = op("matmul", {op("softmax", {scores}, {{"axis", int64_t{-1}}}), each[2]});
  mixed = reshape(transpose(reshape(mixed, {s.batch, s.heads, s.tokens, head}), {0, 2, 1, 3}), {rows, s.width});
  x = op("add", {x, op("matmul", {mixed, w[3]})});
  h = op("layer_norm", {x, w[4], w[5]});
  return op("add", {x, op("matmul", {op("gelu", {op("matmul", {h, w[6]})}), w[7]})});
}

Report twenty_layers() {
  Ir ir;
  Tensor* x = variable(ir, {32, 1400}, DType::float32);
  for (int i = 0; i < 20; ++i)
    x = op("add",
           {op("matmul", {x, variable(ir, {1400, 1400}, DType::float32)}), variable(ir, {1400}, DType::float32)});
  return report(ir, "mk2");
}

Report vit() {
  const LayerSizes s{1, 729, 1152, 16, 4304};
  Ir ir;
  Graph& layer = ir.create_graph("Layer");
  Tensor* in = layer.add_input(spec({s.tokens, s.width}, DType::float16), "x");
  std::vector<Tensor*> weights;
  for (const Shape& shape : layer_weights(s)) weights.push_back(layer.add_input(spec(shape, DType::int8), "w"));
  layer.add_output(transformer_layer(s, in, weights));
  Tensor* x = variable(ir, {s.tokens, s.width}, DType::float16);
  for (int i = 0; i < 27; ++i) {
    std::vector<Tensor*> given = {x};
    for (const Shape& shape : layer_weights(s)) given.push_back(variable(ir, shape, DType::int8));
    x = ir.main().add_call(layer, given)->outputs[0];
  }
  return report(ir, "c600", false, true);
}

Report bert_layer(bool copies) {
  const LayerSizes s{8, 128, 1024, 16, 4096};
  Ir ir;
  std::vector<Tensor*> weights;
  for (const Shape& shape : layer_weights(s)) weights.push_back(variable(ir, shape, DType::float16));
  transformer_layer(s, variable(ir, {s.batch * s.tokens, s.width}, DType::float16), weights);
  return report(ir, "mk2", copies);
}

Report nanogpt(int64_t tokens) {
  const LayerSizes s{2, tokens, 384, 6, 1536};
  constexpr int64_t characters = 65;
  Ir ir;
  Graph& net = ir.create_graph("Net");
  Tensor* x = net.add_input(spec({s.batch * tokens, s.width}, DType::float32), "x");
  std::vector<Tensor*> given = {variable(ir, x->spec.shape, DType::float32)};
  Tensor* h = x;
  for (int i = 0; i < 6; ++i) {
    std::vector<Tensor*> weights;
    for (const Shape& shape : layer_weights(s)) {
      weights.push_back(net.add_input(spec(shape, DType::float32), "w", true));
      given.push_back(variable(ir, shape, DType::float32));
    }
    h = transformer_layer(s, h, weights);
  }
  Tensor* head = net.add_input(spec({s.width, characters}, DType::float32), "head", true);
  given.push_back(variable(ir, head->spec.shape, DType::float32));
  net.add_output(op("matmul", {h, head}));
  const GradGraphInfoPtr gradient = autodiff(net);
  const Op* forward = ir.main().add_call(net, given);
  const auto known = gradient->inputs_dict(*forward);
  std::vector<Tensor*> operands;
  for (Tensor* t : gradient->graph->inputs())
    operands.push_back(known.count(t) ? known.at(t) : op("softmax", {forward->outputs[0]}, {{"axis", int64_t{-1}}}));
  const Op* backward = ir.main().add_call(*gradient->graph, operands);
  for (const auto& [weight, grad] : gradient->fwd_parent_ins_to_grad_parent_outs(*forward, *backward))
    if (weight != given[0]) op("scaled_add_", {weight, grad}, {{"a", 1.0}, {"b", -0.1}});
  // The published program had no calls, which would add copies of the saved activations.
  return report(*inline_calls(ir, [](const Graph&) { return true; }).ir, "mk2");
}

Report product(std::string_view which) {
  Ir ir;
  const auto of = [&](Shape a, Shape b) {
    op("matmul", {variable(ir, std::move(a), DType::float16), variable(ir, std::move(b), DType::float16)});
  };
  if (which == "qkv") of({729, 1152}, {1152, 3456});
  if (which == "qk") of({16, 729, 72}, {16, 72, 729});
  if (which == "qk_f8")
    op("matmul_pow2scaled", {variable(ir, {16, 729, 72}, DType::float8_143),
                             variable(ir, {16, 72, 729}, DType::float8_143), variable(ir, {}, DType::int32)});
  if (which == "pv") of({16, 729, 729}, {16, 729, 72});
  return report(ir, "c600", false, true);
}

}  // namespace

const Report& published_dense_layer() {
  static const Report r = [] {
    Ir ir;
    op("add", {op("matmul", {variable(ir, {32, 2048}, DType::float32), variable(ir, {2048, 2060}, DType::float32)}),
               variable(ir, {2060}, DType::float32)});
    return report(ir, "mk2");
  }();
  return r;
}

const Report& published_two_calls() {
  static const Report r = [] {
    Ir ir;
    const TensorSpec square = spec({64, 64}, DType::float32), row = spec({64}, DType::float32);
    Graph& body = ir.create_graph("Body");
    Tensor *x = body.add_input(square, "x"), *w = body.add_input(square, "w"), *b = body.add_input(row, "b");
    body.add_output(op("sigmoid", {op("add", {op("matmul", {x, w}), b})}));
    Tensor* t = variable(ir, square.shape, DType::float32);
    for (int i = 0; i < 2; ++i)
      t = ir.main()
              .add_call(body, {t, variable(ir, square.shape, DType::float32), variable(ir, row.shape, DType::float32)})
              ->outputs[0];
    return report(ir, "mk2,tiles=8");
  }();
  return r;
}

const Report& published_shared_weight() {
  static const Report r = [] {
    Ir ir;
    const Shape square = {1024, 1024};
    Tensor* w = variable(ir, square, DType::float16);
    op("matmul", {op("matmul", {variable(ir, square, DType::float16), w}), w});
    // The sizes exceed a real tile's memory, which the profiler accepts; candidates are limited to 60 % of a real tile.
    EstimateOptions options;
    options.machine = parse_machine("mk2,tiles=8,memory=4Mi");
    options.candidates.available_memory_permille = 91;
    options.candidates.copies = false;
    return estimate(ir.main(), options);
  }();
  return r;
}

const Report& published_twenty_layers() {
  static const Report r = twenty_layers();
  return r;
}

const Report& published_vit() {
  static const Report r = vit();
  return r;
}

const Report& published_bert_layer(bool copies) {
  static const Report both = bert_layer(true), gather = bert_layer(false);
  return copies ? both : gather;
}

const Report& published_nanogpt(int64_t tokens) {
  static std::map<int64_t, Report> reports;
  const auto found = reports.find(tokens);
  return found != reports.end() ? found->second : reports.emplace(tokens, nanogpt(tokens)).first->second;
}

const Report& published_product(std::string_view which) {
  static std::map<std::string_view, Report> reports;
  const auto found = reports.find(which);
  return found != reports.end() ? found->second : reports.emplace(which, product(which)).first->second;
}

double mean_bytes(const Report& r, MemoryCategory category) {
  return static_cast<double>(r.memory[static_cast<size_t>(category)]) / static_cast<double>(r.tiles.size());
}

double mean_bytes(const Report& r) {
  double sum = 0;
  for (const TileMemory& t : r.tiles) sum += static_cast<double>(t.total);
  return sum / static_cast<double>(r.tiles.size());
}

double max_tile_bytes(const Report& r) {
  return static_cast<double>(r.tiles[static_cast<size_t>(r.fullest_tile)].total);
}

double largest_vertex_cycles(const Report& r) {
  int64_t most = 0;
  for (const ReportStep& s : r.steps)
    if (s.kind == BspPhaseKind::compute) most = std::max(most, s.cycles);
  return static_cast<double>(most);
}

double largest_exchange_code(const Report& r) {
  int64_t most = 0;
  for (const ReportStep& s : r.steps)
    if (!s.what.ends_with("to another layout")) most = std::max(most, s.code_bytes);
  return static_cast<double>(most);
}

}  // namespace pxl::tiles
