// Predictions for replicas as text and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/tiles/machine/system.hpp"

namespace pxl::tiles {

namespace {

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

int64_t exchanged_bytes(const SystemCost& cost) {
  int64_t bytes = 0;
  for (const CollectiveCost& c : cost.collectives) bytes += c.bytes * c.times;
  return bytes;
}

bool fits(const SystemCost& cost) {
  for (const IpuCost& i : cost.ipus)
    if (!i.report.fits) return false;
  return true;
}

}  // namespace

std::string prediction_text(const SystemCost& cost, std::span<const int64_t> replicas) {
  const Machine& m = cost.ipus.front().report.machine;
  std::string s = fmt::format("{} on {}, {} IPU{} a replica\n\n", cost.program, m.name, cost.ipus.size(),
                              cost.ipus.size() == 1 ? "" : "s");
  s += fmt::format("  {} of computation a run of a replica", seconds_text(cost.compute_seconds));
  if (cost.stages > 0)
    s += fmt::format(
        ", in {} stages for {} micro-batches: {:.1f} % of the pipeline is idle", cost.stages, cost.micro_batches,
        100.0 * static_cast<double>(cost.stages - 1) / static_cast<double>(cost.micro_batches + cost.stages - 1));
  s += "\n";
  if (cost.copied_bytes > 0)
    s += fmt::format("  {} bytes copied between IPUs: {}\n", grouped(cost.copied_bytes),
                     seconds_text(cost.copy_seconds));
  if (cost.remote_bytes > 0)
    s += fmt::format("  {} bytes from and to remote memory: {}\n", grouped(cost.remote_bytes),
                     cost.links.remote_bytes > 0 ? seconds_text(cost.remote_seconds)
                                                 : std::string("not priced; --links remote_bytes=BYTES_A_SECOND"));
  s += cost.collectives.empty() ? "  no collectives: replicas do not depend on each other\n"
                                : fmt::format("  {} bytes in collectives\n", grouped(exchanged_bytes(cost)));
  s += fmt::format("\n  {:>8} {:>8} {:>14} {:>14} {:>16} {:>11}\n", "replicas", "IPUs", "a run", "collectives",
                   "replica runs/s", "efficiency");
  for (const int64_t n : replicas) {
    const Prediction p = predict(cost, n);
    s += fmt::format("  {:>8} {:>8} {:>14} {:>14} {:>16} {:>9.1f} %\n", grouped(n), grouped(p.chips),
                     seconds_text(p.seconds), seconds_text(p.collective_seconds), fmt::format("{:.1f}", p.throughput),
                     100 * p.efficiency);
  }
  s += "\n  without the host link; collectives follow computation, and all IPUs use their links at once\n";
  if (!fits(cost)) s += "  does not fit: `pxl profile` without --replicas tells what is missing\n";
  return s;
}

std::string prediction_json(const SystemCost& cost, std::span<const int64_t> replicas) {
  using Json = nlohmann::ordered_json;
  Json collectives = Json::array(), predictions = Json::array();
  for (const CollectiveCost& c : cost.collectives)
    collectives.push_back(
        {{"op", c.op}, {"ipu", c.ipu}, {"bytes", c.bytes}, {"members", c.members}, {"times", c.times}});
  for (const int64_t n : replicas) {
    const Prediction p = predict(cost, n);
    predictions.push_back({{"replicas", p.replicas},
                           {"ipus", p.chips},
                           {"seconds", p.seconds},
                           {"collective_seconds", p.collective_seconds},
                           {"throughput", p.throughput},
                           {"efficiency", p.efficiency}});
  }
  const Json all{{"program", cost.program},
                 {"machine", cost.ipus.front().report.machine.name},
                 {"ipus_of_replica", cost.ipus.size()},
                 {"fits", fits(cost)},
                 {"compute_seconds", cost.compute_seconds},
                 {"stages", cost.stages},
                 {"micro_batches", cost.micro_batches},
                 {"copied_bytes", cost.copied_bytes},
                 {"copy_seconds", cost.copy_seconds},
                 {"remote_bytes", cost.remote_bytes},
                 {"remote_seconds", cost.links.remote_bytes > 0 ? Json(cost.remote_seconds) : Json()},
                 {"collectives", std::move(collectives)},
                 {"predictions", std::move(predictions)}};
  return all.dump();
}

}  // namespace pxl::tiles
