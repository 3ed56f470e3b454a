#include "tests/model/published/published_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::tiles {

namespace {

constexpr std::string_view gemm_source = "Tenstorrent, tt-metal, GEMM FLOPS report";

constexpr GemmRow gemm_table[] = {
    {"wormhole", 512, 512, 512, 12545.59, 12753.01, 10795.59},
    {"wormhole", 512, 1024, 1024, 28338.43, 29408.93, 20890.24},
    {"wormhole", 512, 1024, 2048, 50821.30, 54254.53, 34127.24},
    {"wormhole", 1024, 1024, 1024, 37293.43, 46966.08, 27542.11},
    {"wormhole", 1024, 1024, 2048, 65734.39, 90940.00, 49431.32},
    {"wormhole", 1024, 2048, 2048, 123534.20, 171875.95, 91581.34},
    {"wormhole", 2048, 2048, 2048, 224154.00, 332493.78, 178198.81},
    {"wormhole", 2048, 2048, 3072, 334920.88, 502057.08, 262610.91},
    {"wormhole", 2048, 3072, 3072, 500411.99, 730600.36, 387239.46},
    {"wormhole", 3072, 3072, 3072, 773649.22, 1117739.68, 580282.21},
    {"wormhole", 3072, 3072, 4096, 1149344.44, 1636314.39, 771944.52},
    {"wormhole", 3072, 4096, 4096, 1386282.44, 2020318.51, 0},
    {"wormhole", 3328, 2560, 2560, 727927.68, 1009585.86, 509407.52},
    {"wormhole", 4096, 4096, 4096, 2007951.74, 2711439.13, 1451368.33},
    {"wormhole", 8192, 8192, 8192, 13551716.80, 20846247.67, 10994498.73},
    {"wormhole", 16384, 16384, 16384, 103051669.60, 162119269.37, 85866348.74},
    {"blackhole", 640, 832, 832, 13282.30, 13475.42, 12385.85},
    {"blackhole", 640, 1664, 1664, 23472.31, 27432.44, 20432.47},
    {"blackhole", 640, 1664, 3328, 37662.98, 49912.93, 30994.42},
    {"blackhole", 1280, 1664, 1664, 28655.53, 48174.86, 28252.60},
    {"blackhole", 1280, 1664, 3328, 52068.23, 91440.68, 51298.14},
    {"blackhole", 1280, 3328, 3328, 97250.94, 176091.19, 94885.83},
    {"blackhole", 2560, 3328, 3328, 183117.39, 340666.77, 180659.29},
    {"blackhole", 2560, 3328, 4992, 271618.37, 508291.72, 268156.53},
    {"blackhole", 2560, 4992, 4992, 401725.77, 757009.98, 397031.31},
    {"blackhole", 3840, 4992, 4992, 604395.87, 1137721.54, 592327.12},
    {"blackhole", 3840, 4992, 6656, 952718.26, 1647534.37, 784502.03},
    {"blackhole", 3840, 6656, 6656, 1201236.25, 2130529.88, 0},
    {"blackhole", 4160, 4160, 4160, 540421.01, 909597.87, 478374.96},
    {"blackhole", 5120, 6656, 6656, 1609930.99, 2818577.29, 1475803.85},
    {"blackhole", 10240, 13312, 13312, 12722597.12, 24077782.63, 11736917.50},
    {"blackhole", 20480, 26624, 26624, 121321547.03, 205641906.26, 107297601.70},
};

double predicted_nanoseconds(const GemmRow& row, DType dtype, std::string_view changes) {
  Ir ir;
  // Nothing runs: the values are never read.
  Tensor* a = ir.main().add_variable(Array(dtype, {row.rows, row.depth}), "a");
  Tensor* b = ir.main().add_variable(Array(dtype, {row.depth, row.columns}), "b");
  GraphOpBuilder builder(ir.main());
  if (is_float8(dtype))
    builder.one("matmul_pow2scaled",
                {builder.of(a), builder.of(b), builder.of(ir.main().add_variable(Array::scalar(int32_t{0}), "scale"))},
                {});
  else
    builder.one("matmul", {builder.of(a), builder.of(b)}, {});
  EstimateOptions options;
  options.machine = parse_machine(fmt::format("{}{}", row.machine, changes));
  return estimate(ir.main(), options).microseconds * 1000;
}

std::vector<GemmPoint> plan_points() {
  std::vector<GemmPoint> points;
  std::string_view machine;
  bool fitted = false;
  for (const GemmRow& row : gemm_table) {
    fitted = row.machine != machine || !fitted;
    machine = row.machine;
    const auto add = [&](std::string_view what, double measured, DType dtype, std::string_view changes) {
      if (measured > 0) points.push_back({&row, what, fitted, measured, predicted_nanoseconds(row, dtype, changes)});
    };
    add("bfloat16, HiFi2", row.half_2, DType::float16, ",block_f16=32");
    add("bfloat16, HiFi4", row.half_4, DType::float16, "");
    add("BFLOAT8_B, HiFi2", row.quarter_2, DType::float8_143, "");
  }
  return points;
}

}  // namespace

const std::vector<GemmPoint>& gemm_points() {
  static const auto& points = never_destroyed(plan_points());
  return points;
}

std::string gemm_text() {
  std::string text;
  for (const std::string_view machine : {gemm_table[0].machine, gemm_table[std::size(gemm_table) - 1].machine})
    for (const bool fitted : {true, false}) {
      double mean = 0;
      int64_t count = 0;
      const GemmPoint* worst = nullptr;
      for (const GemmPoint& p : gemm_points()) {
        if (p.row->machine != machine || p.fitted != fitted) continue;
        mean += std::abs(p.error_percent());
        ++count;
        if (!worst || std::abs(p.error_percent()) > std::abs(worst->error_percent())) worst = &p;
      }
      if (!worst) continue;
      const std::string_view how = fitted ? "fitted" : "held out";
      text += fmt::format("| time of {} products, 512 to 26,624 a side: mean error | {} | | | {:.1f} % | {} | {} |\n",
                          count, machine, mean / static_cast<double>(count), how, gemm_source);
      text += fmt::format("| the same: largest, {} x {} x {}, {} | {} | {:.1f} us | {:.1f} | {:+.1f} % | {} | {} |\n",
                          worst->row->rows, worst->row->depth, worst->row->columns, worst->what, machine,
                          worst->measured / 1000, worst->predicted / 1000, worst->error_percent(), how, gemm_source);
    }
  return text;
}

std::string gemm_points_text() {
  std::string text =
      "\n| product | machine | operands | measured us | model | error | |\n|---|---|---|---|---|---|---|\n";
  for (const GemmPoint& p : gemm_points())
    text += fmt::format("| {} x {} x {} | {} | {} | {:.1f} | {:.1f} | {:+.1f} % | {} |\n", p.row->rows, p.row->depth,
                        p.row->columns, p.row->machine, p.what, p.measured / 1000, p.predicted / 1000,
                        p.error_percent(), p.fitted ? "fitted" : "held out");
  return text;
}

}  // namespace pxl::tiles
