// Cost of a program on several IPUs and replicas: a report for each IPU, and the traffic between them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/costs/links.hpp"
#include "runtime/tiles/mapped_program.hpp"
#include "runtime/tiles/report/report.hpp"

namespace pxl::tiles {

/// An IPU of a replica.
struct IpuCost {
  int ipu = 0;
  Report report;
  int64_t pipelined_cycles = 0;  ///< part of a run, in pipelines
};

/// Collectives of a run that have one shape.
struct CollectiveCost {
  std::string op;  ///< as in schedules
  int ipu = 0;
  int64_t bytes = 0;    ///< CollectiveShape::bytes
  int64_t members = 0;  ///< 0: all replicas, regardless of their number
  int64_t stride = 1;   ///< between members
  int64_t passes = 2;
  int64_t times = 0;
};

/// One run of one replica.
struct SystemCost {
  std::string program;
  Links links;
  int64_t replicas = 1;  ///< of the program as written
  std::vector<IpuCost> ipus;
  std::vector<CollectiveCost> collectives;
  int64_t stages = 0, micro_batches = 0;       ///< of the longest pipeline; 0: none
  int64_t copied_bytes = 0, remote_bytes = 0;  ///< between IPUs, reductions included; from and to remote memory

  double compute_seconds = 0;  ///< of all IPUs together, without host, links and remote memory
  double copy_seconds = 0;
  double remote_seconds = 0;  ///< 0 if Links::remote_bytes is not known

  double seconds() const { return compute_seconds + copy_seconds + remote_seconds; }
};

/// IPUs compute at the same time in a pipeline, and one after the other elsewhere. A pipeline with S stages and n
/// micro-batches takes (n + S - 1) times what the most loaded IPU takes per micro-batch.
SystemCost system_cost(const Ir& ir, const EstimateOptions& options, const Links& links);

struct Prediction {
  int64_t replicas = 1, chips = 1;
  double collective_seconds = 0;
  double seconds = 0;     ///< of a run
  double throughput = 0;  ///< replicas / seconds
  double efficiency = 0;  ///< relative `throughput`: 1 if collectives take no time
};
Prediction predict(const SystemCost& cost, int64_t replicas);

/// The table of `pxl profile --replicas`, and the assumptions.
std::string prediction_text(const SystemCost& cost, std::span<const int64_t> replicas);
/// The same as one JSON object.
std::string prediction_json(const SystemCost& cost, std::span<const int64_t> replicas);

}  // namespace pxl::tiles
