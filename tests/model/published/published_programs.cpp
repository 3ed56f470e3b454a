#include "tests/model/published/published_programs.hpp"

#include <algorithm>
#include <map>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/inline.hpp"
#include "tests/model/published/published_builders.hpp"

namespace pxl::tiles {

using namespace published;

namespace {

/// Sizes of a transformer layer.
struct LayerSizes {
  int64_t batch, tokens, width, heads, inner;
  bool biased = false;  ///< dense layers have biases, and queries and keys are scaled
};
std::vector<Shape> layer_weights(const LayerSizes& s) {
  std::vector<Shape> shapes = {{s.width}, {s.width}, {s.width, 3 * s.width}, {s.width, s.width},
                               {s.width}, {s.width}, {s.width, s.inner},     {s.inner, s.width}};
  if (s.biased) shapes.insert(shapes.end(), {{3 * s.width}, {s.width}, {s.inner}, {s.width}});
  return shapes;
}

/// Applies attention and the two dense layers to x [batch * tokens, width]. The weights are those of layer_weights.
Tensor* transformer_layer(const LayerSizes& s, Tensor* x, std::vector<Tensor*> w) {
  for (Tensor*& t : w)
    if (t->spec.dtype != x->spec.dtype) t = op("cast", {t}, {{"data_type", x->spec.dtype}});
  const int64_t head = s.width / s.heads, rows = s.batch * s.tokens;
  const auto dense = [&](Tensor* t, size_t weight, size_t bias) {
    Tensor* y = op("matmul", {t, w[weight]});
    return s.biased ? op("add", {y, w[bias]}) : y;
  };
  const auto scaled = [&](Tensor* t) {
    return s.biased ? op("mul", {t, t->graph->add_constant(Array::full(t->spec.dtype, {}, 0.5), "scale")}) : t;
  };
  Tensor* h = op("layer_norm", {x, w[0], w[1]});
  // [3, batch, heads, tokens, head]
  Tensor* qkv = transpose(reshape(dense(h, 2, 8), {s.batch, s.tokens, 3, s.heads, head}), {2, 0, 3, 1, 4});
  const std::vector<Tensor*> parts = ops("split", {qkv}, {{"splits", Ints{1, 1, 1}}, {"axis", int64_t{0}}});
  Tensor* each[3];
  for (size_t i = 0; i < 3; ++i) each[i] = reshape(parts[i], {s.batch * s.heads, s.tokens, head});
  Tensor* scores = op("matmul", {scaled(each[0]), transpose(scaled(each[1]), {0, 2, 1})});
  Tensor* mixed = op("matmul", {op("softmax", {scores}, {{"axis", int64_t{-1}}}), each[2]});
  mixed = reshape(transpose(reshape(mixed, {s.batch, s.heads, s.tokens, head}), {0, 2, 1, 3}), {rows, s.width});
  x = op("add", {x, dense(mixed, 3, 9)});
  h = op("layer_norm", {x, w[4], w[5]});
  return op("add", {x, dense(op("gelu", {dense(h, 6, 10)}), 7, 11)});
}

/// Weights of dense layers are int8 here, which takes as many bytes as float8. Other weights are float16.
DType vit_dtype(const Shape& shape) { return shape.size() > 1 ? DType::int8 : DType::float16; }

/// One query, a parameter, attends to all tokens. Two dense layers follow.
Tensor* attention_pool(Ir& ir, const LayerSizes& s, Tensor* x) {
  const int64_t head = s.width / s.heads;
  const auto dense = [&](Tensor* t, int64_t columns) {
    Tensor* w = variable(ir, {t->spec.shape.back(), columns}, DType::int8);
    Tensor* y = op("matmul", {t, op("cast", {w}, {{"data_type", x->spec.dtype}})});
    return op("add", {y, variable(ir, {columns}, x->spec.dtype)});
  };
  const auto heads = [&](Tensor* t) { return transpose(reshape(t, {s.tokens, s.heads, head}), {1, 0, 2}); };
  const std::vector<Tensor*> both =
      ops("split", {dense(x, 2 * s.width)}, {{"splits", Ints{s.width, s.width}}, {"axis", int64_t{1}}});
  Tensor* scores =
      op("matmul", {variable(ir, {s.heads, 1, head}, x->spec.dtype), transpose(heads(both[0]), {0, 2, 1})});
  Tensor* mixed = op("matmul", {op("softmax", {scores}, {{"axis", int64_t{-1}}}), heads(both[1])});
  Tensor* y = dense(reshape(mixed, {1, s.width}), s.width);
  const std::vector<Tensor*> norm = {y, variable(ir, {s.width}, x->spec.dtype), variable(ir, {s.width}, x->spec.dtype)};
  return op("add", {y, dense(op("gelu", {dense(op("layer_norm", norm), s.inner)}), s.width)});
}

Report vit() {
  const LayerSizes s{1, 729, 1152, 16, 4304, true};
  Ir ir;
  Graph& layer = ir.create_graph("Layer");
  Tensor* in = layer.add_input(spec({s.tokens, s.width}, DType::float16), "x");
  std::vector<Tensor*> weights;
  for (const Shape& shape : layer_weights(s)) weights.push_back(layer.add_input(spec(shape, vit_dtype(shape)), "w"));
  layer.add_output(transformer_layer(s, in, weights));
  // 27 x 27 patches of 14 x 14 elements of 3 channels.
  Tensor* x =
      op("matmul", {from_host(ir, {s.tokens, 588}, DType::float16), variable(ir, {588, s.width}, DType::float16)});
  const auto parameter = [&](Shape shape) { return variable(ir, std::move(shape), DType::float16); };
  x = op("add", {op("add", {x, parameter({s.width})}), parameter({s.tokens, s.width})});
  for (int i = 0; i < 27; ++i) {
    std::vector<Tensor*> given = {x};
    for (const Shape& shape : layer_weights(s)) given.push_back(variable(ir, shape, vit_dtype(shape)));
    x = ir.main().add_call(layer, given)->outputs[0];
  }
  x = op("layer_norm", {x, parameter({s.width}), parameter({s.width})});
  to_host(ir, attention_pool(ir, s, x));
  return report(ir.main(), "c600", true);
}

Report bert_layer(bool copies) {
  const LayerSizes s{8, 128, 1024, 16, 4096};
  Ir ir;
  std::vector<Tensor*> weights;
  for (const Shape& shape : layer_weights(s)) weights.push_back(variable(ir, shape, DType::float16));
  transformer_layer(s, variable(ir, {s.batch * s.tokens, s.width}, DType::float16), weights);
  if (!copies) return report(ir.main(), "mk2");
  EstimateOptions options;
  options.machine = parse_machine("mk2");
  return estimate(ir.main(), options);
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
  // The published program had no calls. Calls would add copies of the saved activations.
  return report(inline_calls(ir, [](const Graph&) { return true; }).ir->main(), "mk2");
}

/// The products of a ViT's layer, by name. The suffix "_f8" selects float8.
Report product(std::string_view which) {
  const bool float8 = which.ends_with("_f8");
  const std::string_view name = which.substr(0, which.size() - (float8 ? 3 : 0));
  const std::map<std::string_view, std::pair<Shape, Shape>> shapes = {
      {"qkv", {{729, 1152}, {1152, 3456}}},    {"qk", {{16, 729, 72}, {16, 72, 729}}},
      {"pv", {{16, 729, 729}, {16, 729, 72}}}, {"projection", {{729, 1152}, {1152, 1152}}},
      {"up", {{729, 1152}, {1152, 4304}}},     {"down", {{729, 4304}, {4304, 1152}}}};
  const auto& [left, right] = shapes.at(name);
  const DType dtype = float8 ? DType::float8_143 : DType::float16;
  Ir ir;
  std::vector<Tensor*> operands = {variable(ir, left, dtype), variable(ir, right, dtype)};
  if (float8) operands.push_back(variable(ir, {}, DType::int32));
  op(float8 ? "matmul_pow2scaled" : "matmul", operands);
  return report(ir.main(), "c600", true);
}

/// Bytes that reports of a model without compiled code do not count. Programs in Graphcore's tests of such models take
/// 772 and 2,110 bytes on their fullest tile. The runtime and the code of one vertex take more.
constexpr MemoryCategory not_of_data[] = {MemoryCategory::vertex_code, MemoryCategory::runtime, MemoryCategory::gaps};

template <class F>
void for_steps(const Report& r, const ReportOp& o, F&& f) {
  for (int i = 0; i < o.step_count; ++i) f(r.steps[static_cast<size_t>(o.first_step + i)]);
}

bool is_of_host(const ReportOp& o) { return o.strategy == "host" || o.name == "Init"; }

}  // namespace

const Report& published_vit() {
  static const auto& r = never_destroyed(vit());
  return r;
}

const Report& published_bert_layer(bool copies) {
  static const auto &both = never_destroyed(bert_layer(true)), &gather = never_destroyed(bert_layer(false));
  return copies ? both : gather;
}

const Report& published_nanogpt(int64_t tokens) {
  static auto& reports = never_destroyed(std::map<int64_t, Report>());
  const auto found = reports.find(tokens);
  return found != reports.end() ? found->second : reports.emplace(tokens, nanogpt(tokens)).first->second;
}

const Report& published_product(std::string_view which) {
  static auto& reports = never_destroyed(std::map<std::string_view, Report>());
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

double mean_bytes_of_data(const Report& r) {
  double sum = mean_bytes(r);
  for (const MemoryCategory c : not_of_data) sum -= mean_bytes(r, c);
  return sum;
}

double max_bytes_of_data(const Report& r) {
  int64_t most = 0;
  for (const TileMemory& t : r.tiles) {
    int64_t bytes = t.total;
    for (const MemoryCategory c : not_of_data) bytes -= t.bytes[static_cast<size_t>(c)];
    most = std::max(most, bytes);
  }
  return static_cast<double>(most);
}

double mean_live_bytes(const Report& r) {
  int64_t most = 0;
  for (const LivenessPoint& p : r.liveness) most = std::max(most, p.live_bytes);
  return static_cast<double>(most) / static_cast<double>(r.tiles.size());
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

double layer_exchange_code(const Report& r) {
  int64_t sum = 0;
  for (const ReportOp& o : r.ops)
    if (!is_of_host(o)) sum += o.exchange_code_bytes;
  return static_cast<double>(sum);
}

double layer_control_code(const Report& r) {
  int64_t sum = 0;
  for (const ReportOp& o : r.ops) {
    if (is_of_host(o)) continue;
    sum += o.control_bytes;
    for_steps(r, o, [&](const ReportStep& s) { sum -= s.kind == BspPhaseKind::sync ? sync_control_bytes : 0; });
  }
  return static_cast<double>(sum);
}

double layer_state(const Report& r) {
  double of_host = 0;
  for (const ReportOp& o : r.ops)
    if (is_of_host(o)) of_host += static_cast<double>(o.state_bytes * o.tiles) / static_cast<double>(r.tiles.size());
  return mean_bytes(r, MemoryCategory::vertex_state) - of_host;
}

double layer_cycles(const Report& r) {
  int64_t sum = 0;
  for (const ReportOp& o : r.ops) {
    if (is_of_host(o)) continue;
    sum += o.cycles.compute + o.cycles.exchange;
    // A phase's cycles beyond its schedule were found on hardware. The figure is an estimate of the schedule alone.
    for_steps(r, o,
              [&](const ReportStep& s) { sum -= s.kind == BspPhaseKind::exchange ? phase_overhead(r.machine) : 0; });
  }
  return static_cast<double>(sum);
}

double exchange_code_of(const Report& r, std::string_view op, std::string_view result) {
  int64_t most = 0;
  for (const ReportOp& o : r.ops)
    if (o.name == op && !o.results.empty() && o.results[0] == result)
      for (int i = 0; i < o.step_count; ++i)
        most = std::max(most, r.steps[static_cast<size_t>(o.first_step + i)].code_bytes);
  return static_cast<double>(most);
}

double largest_exchange_code(const Report& r) {
  int64_t most = 0;
  for (const ReportStep& s : r.steps)
    if (!s.what.ends_with("to another layout")) most = std::max(most, s.code_bytes);
  return static_cast<double>(most);
}

}  // namespace pxl::tiles
