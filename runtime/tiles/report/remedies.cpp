#include "runtime/tiles/report/remedies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/transform/inline.hpp"
#include "runtime/transform/outline.hpp"

namespace pxl::tiles {

namespace {

constexpr int64_t max_chips = 64, max_tiles = 65'536;

template <class F>
bool any_op(const Ir& ir, F&& f) {
  for (const auto& graph : ir.graphs())
    for (const auto& op : graph->ops())
      if (f(*op)) return true;
  return false;
}

bool has_float32(const Ir& ir) {
  return any_op(ir, [](const Op& op) {
    return std::any_of(op.outputs.begin(), op.outputs.end(),
                       [](const Tensor* t) { return t->spec.dtype == DType::float32; });
  });
}

bool has_float16_products(const Ir& ir) {
  return any_op(ir, [](const Op& op) {
    return !op.inputs.empty() && op.inputs[0] && op.inputs[0]->spec.dtype == DType::float16 &&
           strategy_info(op.row->tiles.strategy).peak == PeakRate::accumulating_units;
  });
}

}  // namespace

std::shared_ptr<Ir> in_float16(const Ir& ir) {
  Rewritten copy = inline_calls(ir, [](const Graph&) { return false; });
  for (const auto& graph : copy.ir->graphs())
    for (const auto& t : graph->tensors())
      if (t->spec.dtype == DType::float32) t->spec.dtype = DType::float16;
  return copy.ir;
}

Remedy remedy_of(std::string what, const Report& changed) {
  const int64_t bytes = changed.tiles.empty() ? 0 : changed.tiles[static_cast<size_t>(changed.fullest_tile)].total;
  return {std::move(what), changed.fits, changed.cycles.device(), bytes};
}

void try_remedies(Report& report, const Ir& ir, const EstimateOptions& options) {
  if (report.fits) return;
  const auto attempt = [&](std::string what, const Ir& changed, const EstimateOptions& with) {
    report.remedies.push_back(remedy_of(std::move(what), estimate(changed.main(), with)));
    return report.remedies.back().fits;
  };
  std::vector<std::string> all;
  std::shared_ptr<const Ir> together;
  EstimateOptions tightest = options;
  bool fits = false;

  const Rewritten outlined = outline(ir);
  // New graphs, or equal graphs that became one.
  bool less_code = outlined.ir->graphs().size() != ir.graphs().size();
  if (less_code) {
    fits |= attempt("outlined", *outlined.ir, options);
    all.emplace_back("outlined");
    together = outlined.ir;
    less_code = report.remedies.back().bytes < report.tiles[static_cast<size_t>(report.fullest_tile)].total;
  }
  if (options.candidates.half_partial_bytes > 2 && has_float16_products(ir)) {
    EstimateOptions half = options;
    half.candidates.half_partial_bytes = tightest.candidates.half_partial_bytes = 2;
    fits |= attempt("float16 partial sums (--partials float16)", ir, half);
    all.emplace_back("float16 partial sums");
  }
  if (has_float32(ir)) {
    fits |= attempt("float16 for float32", *in_float16(ir), options);
    all.emplace_back("float16");
    together = in_float16(together ? *together : ir);
    tightest.candidates.half_partial_bytes = 2;
  }
  if (!fits && all.size() > 1) {
    std::string what;
    for (const std::string& one : all) what += (what.empty() ? "" : ", ") + one;
    fits |= attempt(what, together ? *together : ir, tightest);
  }
  for (int64_t chips = 2; chips <= max_chips && chips * options.machine.tiles <= max_tiles; chips *= 2) {
    EstimateOptions more = options;
    more.machine.tiles *= chips;
    more.machine.dram_memory *= chips;
    more.machine.dram_bytes *= chips;
    const int64_t before = report.remedies.empty() ? INT64_MAX : report.remedies.back().bytes;
    if (attempt(
            fmt::format("{} chips as one{}, with links as fast as the exchange", chips, less_code ? ", outlined" : ""),
            less_code ? *outlined.ir : ir, more))
      break;
    if (chips > 2 && report.remedies.back().bytes >= before) break;  // the remaining bytes are on every tile
  }
}

void try_float16_partials(Report& report, const Graph& graph, const EstimateOptions& options) {
  if (!report.fits || options.candidates.half_partial_bytes <= 2 || !has_float16_products(graph.ir())) return;
  EstimateOptions half = options;
  half.candidates.half_partial_bytes = 2;
  const Report other = estimate(graph, half);
  if (other.fits && other.cycles.device() < report.cycles.device())
    report.float16_partials_cycles = other.cycles.device();
}

}  // namespace pxl::tiles
