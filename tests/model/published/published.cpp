#include "tests/model/published/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/tiles/costs/cost.hpp"
#include "runtime/tiles/costs/exchange.hpp"
#include "tests/model/published/published_gemm.hpp"
#include "tests/model/published/published_programs.hpp"

namespace pxl::tiles {

namespace {

constexpr AmpPoint points[] = {
    {16, 55494},    {48, 127720},   {80, 170724},   {112, 201236},  {144, 221119},  {176, 236558},  {208, 250009},
    {240, 258999},  {272, 266821},  {304, 274521},  {336, 279521},  {368, 284208},  {400, 289269},  {432, 292392},
    {464, 295497},  {496, 299119},  {528, 301219},  {560, 303416},  {592, 306162},  {624, 307648},  {656, 309280},
    {688, 311449},  {720, 312541},  {752, 313795},  {784, 315564},  {816, 316388},  {848, 317379},  {880, 318858},
    {912, 319493},  {944, 320294},  {976, 321554},  {1008, 322051}, {1040, 322710}, {1072, 323801}, {1104, 324196},
    {1136, 324746}, {1168, 325703}, {1200, 326020}, {1232, 326485}, {1264, 327334}, {1296, 327590}, {1328, 327987},
    {1360, 328748}, {1392, 328955}, {1424, 329298}, {1456, 329985}, {1488, 330154}, {1520, 330452}, {1552, 331077},
    {1584, 331214}, {1616, 331475}, {1648, 332048}, {1680, 332159}, {1712, 332390}, {1744, 332916}, {1776, 333007},
    {1808, 333211}, {1840, 333698}, {1872, 333771}, {1904, 333952}, {1936, 334406}, {1968, 334464}, {2000, 334626},
    {2032, 335049},
};

constexpr std::string_view tessellate = "tessellate-ipu, IPU Peak Flops", stack = "ipu-stack, C600 recordings",
                           tut6 = "Graphcore tutorial 6, hardware run", vendor = "vendor's data sheet",
                           jia = "Jia et al. 2019, as summarised", byte_perf = "ByteMLPerf, C600",
                           addons = "Graphcore TensorFlow add-ons, profiler test",
                           outlining = "Graphcore TensorFlow, tests", flash = "flash-attention-ipu, nanoGPT",
                           cnns = "Graphcore examples, PyTorch CNNs, benchmarks";

const Machine& machine(std::string_view name) {
  for (const Machine& m : machine_table())
    if (m.name == name) return m;
  return machine_table()[0];
}

double as_double(int64_t v) { return static_cast<double>(v); }

double per_second(std::string_view name, int64_t per_tile_cycle) {
  const Machine& m = machine(name);
  return as_double(m.tiles * per_tile_cycle) * as_double(m.clock);
}
double teraflops(std::string_view name, int64_t operand_bytes, int64_t partial_bytes) {
  return 2 * per_second(name, machine(name).macs(operand_bytes, partial_bytes)) / 1e12;
}

double gelu(int64_t elements) { return as_double(nonlinearity_cycles(machine("c600"), tile_gelu.vector, elements, 2)); }
/// A bias for each of 16 columns.
double bias(int64_t elements) {
  return as_double(broadcast_vector_cycles(machine("c600"), tile_add.vector, elements / 16, 16, 2));
}
double phase(int64_t scheduled) { return as_double(scheduled + phase_overhead(machine("c600"))); }

constexpr auto identity = ReferenceMeasurement::Of::identity, planned = ReferenceMeasurement::Of::planned,
               unstated = ReferenceMeasurement::Of::unstated;

constexpr ReferenceMeasurement published_rows[] = {
    {"qk_f16", "QK^T of 16 heads, 729 x 72 x 729, float16: product on a tile", "c600", "cycles", 8488, 8488, 3, stack,
     [] { return largest_vertex_cycles(published_product("qk")); }, planned},
    {"qk_f8", "the same in float8", "c600", "cycles", 5502, 5502, 4, stack,
     [] { return largest_vertex_cycles(published_product("qk_f8")); }, planned},
    {"phase", "an exchange phase beyond its scheduled transfers", "c600", "cycles", 238, 238, 25, stack,
     [] { return phase(0); }},

    {"phase_long", "exchange phase of 36,987 scheduled cycles", "c600", "cycles", 37224, 37224, 0, stack,
     [] { return phase(36987); }},
    {"phase_floor", "planning constant of a phase: synchronisation, entry, exit", "c600", "cycles", 600, 600, 0, stack,
     [] {
       const Machine& m = machine("c600");
       return as_double(m.sync + exchange_cycles(m, {4, 4, 1, 4, 0}));
     }},
    {"gelu_1408", "gelu of 1,408 halves on a tile, hand-written kernel", "c600", "cycles", 7260, 7260, 0, stack,
     [] { return gelu(1408); }},
    {"gelu_2208", "gelu of 2,208 halves on a tile, hand-written kernel", "c600", "cycles", 10956, 10956, 0, stack,
     [] { return gelu(2208); }},
    {"copy_8k", "aligned copy of 8 KiB on a tile", "c600", "cycles", 1308, 1308, 0, stack,
     [] { return as_double(memcpy_cycles(machine("c600"), 8192)); }},
    {"gather_2", "gather of 11.8 kB of halves with long strides on a tile", "c600", "cycles", 126283, 126283, 0, stack,
     [] { return as_double(reorder_cycles(machine("c600"), 11800, 2)); }},
    {"clock_tut6", "time of 6,681,766 cycles", "mk2", "us", 5023.9, 5023.9, 0, tut6,
     [] { return machine("mk2").microseconds(6681766); }, identity},
    {"f16_mk1", "peak rate, float16", "mk1", "TFLOP/s", 124.5, 124.5, 0, jia, [] { return teraflops("mk1", 2, 2); }, identity},
    {"f32_mk1", "peak rate, float32", "mk1", "TFLOP/s", 31.1, 31.1, 0, jia, [] { return teraflops("mk1", 4, 4); }, identity},
    {"f16_mk2", "peak rate, float16", "mk2", "TFLOP/s", 250, 250, 0, vendor, [] { return teraflops("mk2", 2, 2); }, identity},
    {"f16_bow", "peak rate, float16", "bow", "TFLOP/s", 350, 350, 0, vendor, [] { return teraflops("bow", 2, 2); }, identity},
    {"f16_c600", "peak rate, float16", "c600", "TFLOP/s", 280, 280, 0, byte_perf,
     [] { return teraflops("c600", 2, 2); }, identity},
    {"f8_c600", "peak rate, float8", "c600", "TFLOP/s", 560, 560, 0, byte_perf, [] { return teraflops("c600", 1, 2); }, identity},
    {"sram_mk1", "memory rate, all tiles", "mk1", "TB/s", 45, 45, 0, jia,
     [] { return per_second("mk1", machine("mk1").load_store_bytes) / 1e12; }, identity},
    {"sram_mk2", "memory rate, all tiles", "mk2", "TB/s", 47.5, 47.5, 0, vendor,
     [] { return per_second("mk2", machine("mk2").load_store_bytes) / 1e12; }, identity},
    {"exchange_mk2", "exchange rate, all tiles", "mk2", "TB/s", 8, 8, 0, vendor,
     [] { return per_second("mk2", machine("mk2").exchange_bytes) / 1e12; }, identity},
    {"memory_mk1", "memory of the chip", "mk1", "MiB", 304, 304, 0, jia,
     [] { return as_double(machine("mk1").memory_of_chip()) / 1048576; }, identity},
    {"memory_mk2", "memory of the chip", "mk2", "MiB", 897, 897, 0, vendor,
     [] { return as_double(machine("mk2").memory_of_chip()) / 1048576; }, identity},
    {"phase_2", "exchange phase of 33,542 scheduled cycles", "c600", "cycles", 33780, 33780, 0, stack,
     [] { return phase(33542); }},
    {"phase_3", "exchange phase of 37,377 scheduled cycles", "c600", "cycles", 37614, 37614, 0, stack,
     [] { return phase(37377); }},
    {"qk_bound", "QK^T in float8: least cycles at the unit's rate", "c600", "cycles", 3249, 3249, 0, stack,
     [] {
       const Machine& m = machine("c600");
       return as_double(div_up(int64_t{16} * 729 * 72 * 729, m.tiles * m.macs(1, 2)));
     }, identity},
    {"bias_gelu_1408", "bias and gelu of 1,408 halves on a tile, fused by hand", "c600", "cycles", 5760, 5760, 0, stack,
     [] { return gelu(1408) + bias(1408); }},
    {"bias_gelu_2208", "the same of 2,208 halves", "c600", "cycles", 8730, 8730, 0, stack,
     [] { return gelu(2208) + bias(2208); }},
    {"core_mk2", "exchange rate of a tile", "mk2", "GB/s", 5.5, 5.5, 0, "T10",
     [] { return per_second("mk2", machine("mk2").exchange_bytes) / as_double(machine("mk2").tiles) / 1e9; }, identity},
    {"copy_mk1", "memory rate reached in assembly, loads and stores of 8 bytes", "mk1", "TB/s", 30.7, 30.7, 0, jia,
     [] { return per_second("mk1", 2 * machine("mk1").memcpy_bytes) / 1e12; }, identity},
    {"host_mk2", "8.8 MB from the chip to the host", "mk2", "us", 3100, 3100, 0, "Graphcore examples, EfficientDet",
     [] { return 8.8e6 / as_double(machine("mk2").host_bytes) * 1e6; }},
    {"qkv_f16", "the other products of the layer, of 729 rows: 1152 x 3456", "c600", "cycles", 37277, 37277, 0, stack,
     [] { return largest_vertex_cycles(published_product("qkv")); }, planned},
    {"pv_f16", "16 x (729 x 729 x 72)", "c600", "cycles", 12900, 12900, 0, stack,
     [] { return largest_vertex_cycles(published_product("pv")); }, planned},
    {"projection_f16", "1152 x 1152", "c600", "cycles", 14153, 14153, 0, stack,
     [] { return largest_vertex_cycles(published_product("projection")); }, planned},
    {"up_f16", "1152 x 4304", "c600", "cycles", 48248, 48248, 0, stack,
     [] { return largest_vertex_cycles(published_product("up")); }, planned},
    {"down_f16", "4304 x 1152", "c600", "cycles", 52187, 52187, 0, stack,
     [] { return largest_vertex_cycles(published_product("down")); }, planned},
    {"qkv_f8", "the same five in float8: 1152 x 3456", "c600", "cycles", 22415, 22415, 0, stack,
     [] { return largest_vertex_cycles(published_product("qkv_f8")); }, planned},
    {"pv_f8", "16 x (729 x 729 x 72)", "c600", "cycles", 7377, 7377, 0, stack,
     [] { return largest_vertex_cycles(published_product("pv_f8")); }, planned},
    {"projection_f8", "1152 x 1152", "c600", "cycles", 8178, 8178, 0, stack,
     [] { return largest_vertex_cycles(published_product("projection_f8")); }, planned},
    {"up_f8", "1152 x 4304", "c600", "cycles", 26425, 26425, 0, stack,
     [] { return largest_vertex_cycles(published_product("up_f8")); }, planned},
    {"down_f8", "4304 x 1152", "c600", "cycles", 28265, 28265, 0, stack,
     [] { return largest_vertex_cycles(published_product("down_f8")); }, planned},
    {"code_qkv", "exchange code of 729 x 1152 x 3456, largest phase of a tile", "c600", "bytes", 324, 324, 0, stack,
     [] { return largest_exchange_code(published_product("qkv")); }, planned},
    {"code_qkv_f8", "the same in float8", "c600", "bytes", 164, 164, 0, stack,
     [] { return largest_exchange_code(published_product("qkv_f8")); }, planned},
    {"code_qk", "the same of 16 x (729 x 72 x 729)", "c600", "bytes", 248, 248, 0, stack,
     [] { return largest_exchange_code(published_product("qk")); }, planned},
    {"code_pv", "the same of 16 x (729 x 729 x 72) after a softmax", "c600", "bytes", 2212, 2212, 0, stack,
     [] { return exchange_code_of(published_vit(), "MatMul", "float16[16, 729, 72]"); }, planned},
    {"code_scores", "scores to rows of the softmax: exchange code", "c600", "bytes", 7372, 7372, 0, stack,
     [] { return exchange_code_of(published_vit(), "Softmax", "float16[16, 729, 729]"); }, planned},
    {"dense_vertex", "dense layer [16, 4096] x [4096, 1024]: vertex code of a tile", "mk2", "bytes", 2422, 2422, 0,
     addons, [] { return mean_bytes(published_dense_layer(), MemoryCategory::vertex_code); }, planned},
    {"dense_exchange", "the same: exchange code", "mk2", "bytes", 250, 250, 0, addons,
     [] { return layer_exchange_code(published_dense_layer()); }, planned},
    {"dense_state", "the same: vertex state, without 48 KiB of the runtime", "mk2", "bytes", 90, 90, 0, addons,
     [] { return layer_state(published_dense_layer()); }, planned},
    {"dense_control", "the same: control code", "mk2", "bytes", 70, 70, 0, addons,
     [] { return layer_control_code(published_dense_layer()); }, planned},
    {"dense_live", "the same: not always live, at most", "mk2", "bytes", 6981, 6981, 0, addons,
     [] { return mean_live_bytes(published_dense_layer()); }, planned},
    {"dense_total", "the same: everything but gaps", "mk2", "bytes", 23365, 23365, 0, addons,
     [] { return mean_bytes(published_dense_layer()) - mean_bytes(published_dense_layer(), MemoryCategory::gaps); },
     planned},
    {"dense_cycles", "the same: computing and exchanging", "mk2", "cycles", 8700, 8700, 0, addons,
     [] { return layer_cycles(published_dense_layer()); }, planned},
    {"calls_total", "two calls of sigmoid(x w + b), 64 x 64, eight tiles: fullest tile", "mk2", "bytes", 25647, 25647,
     0, outlining, [] { return max_bytes_of_data(published_calls()); }, planned},
    {"calls_training", "the same, a training step", "mk2", "bytes", 40691, 40691, 0, outlining,
     [] { return max_bytes_of_data(published_calls_training()); }, planned},
    {"nested_total", "training of two nested calls, 64 x 64, eight tiles: fullest tile", "mk2", "bytes", 38837, 38837, 0,
     outlining, [] { return max_bytes_of_data(published_nested_calls()); }, planned},
    {"lookups_total", "ten lookups in a table of 20,000 x 128 by calls, eight tiles: fullest tile", "mk2", "bytes",
     802278, 802278, 0, outlining, [] { return max_bytes_of_data(published_lookups()); }, planned},
    {"shared_total", "a (x w) with a broadcast x, 1024 x 1024, eight tiles: fullest tile", "mk2", "bytes", 1651014,
     1651014, 0, outlining, [] { return max_bytes_of_data(published_broadcast_product()); }, planned},
    {"twenty_total", "initial values of 21 dense layers, 215 MB: fullest tile", "mk2", "bytes", 162410, 162410, 0,
     outlining,
     [] {
       const Report& r = published_initialisers();
       const TileMemory& t = r.tiles[static_cast<size_t>(r.fullest_tile)];
       return as_double(t.total - t.bytes[static_cast<size_t>(MemoryCategory::gaps)]);
     }, planned},
    {"serial_total", "x + y z by six calls, [30522, 768]: mean", "mk2", "bytes", 86238, 86238, 0, outlining,
     [] { return mean_bytes_of_data(published_serial_product()); }, planned},
    {"serial_most", "the same: fullest tile", "mk2", "bytes", 86813, 86813, 0, outlining,
     [] { return max_bytes_of_data(published_serial_product()); }, planned},
    {"small_inference", "three dense layers from 50,176 inputs, batch 2: mean", "mk2", "bytes", 8275, 8275, 0, outlining,
     [] { return mean_bytes_of_data(published_small_net(2, false)); }, planned},
    {"small_training_1", "the same, a training step, batch 1", "mk2", "bytes", 4852, 4852, 0, outlining,
     [] { return mean_bytes_of_data(published_small_net(1, true)); }, planned},
    {"small_training_2", "the same, batch 2", "mk2", "bytes", 10956, 10956, 0, outlining,
     [] { return mean_bytes_of_data(published_small_net(2, true)); }, planned},
    {"vit_cycles", "ViT of 27 layers, outlined: cycles", "c600", "cycles", 15987659, 15987659, 0, stack,
     [] { return as_double(published_vit().cycles.device()); }, planned},
    {"vit_code", "the same: exchange code, mean", "c600", "bytes", 15603, 15603, 0, stack,
     [] { return mean_bytes(published_vit(), MemoryCategory::exchange_code); }, planned},
    {"vit_code_most", "the same: exchange code, largest", "c600", "bytes", 37092, 37092, 0, stack,
     [] {
       int64_t most = 0;
       for (const TileMemory& t : published_vit().tiles)
         most = std::max(most, t.bytes[static_cast<size_t>(MemoryCategory::exchange_code)]);
       return as_double(most);
     }, planned},
    {"vit_total", "the same: everything, mean", "c600", "bytes", 550544, 550544, 0, stack,
     [] { return mean_bytes(published_vit()); }, planned},
    {"vit_most", "the same: fullest tile", "c600", "bytes", 596494, 596494, 0, stack,
     [] { return max_tile_bytes(published_vit()); }, planned},
    {"gpt_1024", "training of nanoGPT, 1,024 tokens, does not fit: fullest tile", "mk2", "bytes", 876060, 876060, 0,
     flash, [] { return max_tile_bytes(published_nanogpt(1024)); }, planned},
    {"gpt_256", "the same with 256 tokens fits: fullest tile", "mk2", "bytes", 0, 638976, 0, flash,
     [] { return max_tile_bytes(published_nanogpt(256)); }, planned},
    {"resnet_16", "inference of ResNet-50 in batches of 16 fits: fullest tile", "mk2", "bytes", 0, 638976, 0, cnns,
     [] { return max_tile_bytes(published_resnet(16)); }, planned},
    {"resnet_90", "the same in batches of 90", "mk2", "bytes", 0, 638976, 0, cnns,
     [] { return max_tile_bytes(published_resnet(90)); }, planned},
    {"copy_share", "BERT layer without rotated operands: share of exchange", "mk2", "%", 50, 74, 0, "T10",
     [] {
       const PhaseCycles& c = published_bert_layer(false).cycles;
       return 100 * as_double(c.exchange + c.sync) / as_double(c.device());
     }, unstated},
    {"rotate_gain", "gain by rotated operands, mean over models (model: BERT layer)", "mk2", "times", 1.69, 1.69, 0,
     "T10",
     [] {
       return as_double(published_bert_layer(false).cycles.device()) /
              as_double(published_bert_layer(true).cycles.device());
     }, unstated},
};

std::string number(double v) {
  if (std::abs(v - std::round(v)) < 1e-9) return fmt::format("{}", static_cast<int64_t>(std::round(v)));
  return fmt::format("{:.1f}", v);
}

}  // namespace

double ReferenceMeasurement::error_percent(double predicted) const {
  if (predicted < figure) return 100 * (predicted - figure) / figure;
  return predicted > max_figure ? 100 * (predicted - max_figure) / max_figure : 0;
}

std::span<const ReferenceMeasurement> reference_measurements() { return published_rows; }
std::span<const AmpPoint> amp_points() { return points; }

double AmpPoint::measured_cycles() const {
  const Machine& m = machine("bow");
  return 2.0 * as_double(rows * 256 * m.tiles) / (as_double(gigaflops) * 1e9) * as_double(m.clock);
}

int64_t AmpPoint::predicted_cycles() const {
  ProductShape s;
  s.rows = rows;
  s.depth = s.columns = 16;
  s.operand_bytes = s.partial_bytes = 2;
  return amp_cycles(machine("bow"), s);
}

double AmpPoint::error_percent() const {
  return 100 * (as_double(predicted_cycles()) - measured_cycles()) / measured_cycles();
}

AmpErrors amp_errors() {
  AmpErrors e;
  for (const AmpPoint& p : points) {
    const double error = std::abs(p.error_percent());
    e.mean += error / static_cast<double>(std::size(points));
    if (error > e.largest) e.largest = error, e.rows = p.rows;
  }
  return e;
}

namespace {

constexpr std::string_view heading =
    "| figure | machine | published | model | error | | source |\n|---|---|---|---|---|---|---|\n";

std::string row_text(const ReferenceMeasurement& p) {
  const double predicted = p.predict(), error = p.error_percent(predicted);
  const std::string figure = p.figure == p.max_figure ? number(p.figure)
                             : p.figure == 0          ? "at most " + number(p.max_figure)
                                                      : number(p.figure) + " to " + number(p.max_figure);
  return fmt::format("| {} | {} | {} {} | {} | {:+.1f} % | {} | {} |\n", p.what, p.machine, figure, p.unit,
                     number(predicted), std::abs(error) < 0.05 ? 0.0 : error,
                     p.calibrated() ? fmt::format("calibrated to {} %", number(p.tolerance)) : "seen", p.source);
}

/// The rows of one kind, with the mean and the largest error.
std::string rows_text(ReferenceMeasurement::Of kind, std::string_view title, std::string_view first_rows = {}) {
  std::string text = fmt::format("{}{}", heading, first_rows);
  double sum = 0, largest = 0;
  int count = 0;
  for (const ReferenceMeasurement& p : published_rows) {
    if (p.of != kind) continue;
    text += row_text(p);
    const double error = std::abs(p.error_percent(p.predict()));
    sum += error;
    largest = std::max(largest, error);
    ++count;
  }
  if (kind == ReferenceMeasurement::Of::unstated) return fmt::format("{}\n\n{}\n", title, text);
  return fmt::format("{}: {} rows, errors {:.1f} % in the mean, {:.1f} % at most\n\n{}\n", title, count, sum / count,
                     largest, text);
}

}  // namespace

std::string validation_text(bool every_point) {
  const AmpErrors amp = amp_errors();
  const std::string points_rows = fmt::format(
      "| [N, 16] x [16, 16] in float16 on every tile, {} values of N: mean | bow | | | {:.2f} % | calibrated to 0.6 % "
      "| {} |\n"
      "| the same: largest, at N = {} | bow | | | {:.2f} % | calibrated to 4 % | {} |\n",
      std::size(points), amp.mean, tessellate, amp.rows, amp.largest, tessellate);
  std::string text = rows_text(planned, "Planned programs");
  text += rows_text(unstated, "Means over programs that the source does not state: not counted");
  text += rows_text(ReferenceMeasurement::Of::formula, "Formulas", points_rows);
  text += rows_text(identity, "Identities of data sheets: constants of the machines, multiplied");
  text += fmt::format("Products on other machines\n\n{}{}", heading, gemm_text());
  if (!every_point) return text;
  text += "\n| N | measured TFLOP/s | measured cycles | model | error |\n|---|---|---|---|---|\n";
  for (const AmpPoint& p : points)
    text += fmt::format("| {} | {:.3f} | {:.1f} | {} | {:+.2f} % |\n", p.rows, as_double(p.gigaflops) / 1000,
                        p.measured_cycles(), p.predicted_cycles(), p.error_percent());
  return text + gemm_points_text();
}

}  // namespace pxl::tiles
