// Collectives of replicas in several processes: the messages between the processes, and the kernels that compute
// results from the messages. The bits are the bits of one process.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "runtime/execute/engines/engine.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {

class ProcessCollectives {
 public:
  ProcessCollectives(Processes& processes, const ReplicaRange& range);
  ~ProcessCollectives();
  ProcessCollectives(const ProcessCollectives&) = delete;
  ProcessCollectives& operator=(const ProcessCollectives&) = delete;

  Processes& processes() const { return processes_; }
  /// Runs collectives of one row and group as one message. Each inner span has the stops for one replica of this
  /// process; the replicas ascend.
  void run(std::span<const std::span<const CollectiveStop>> stops);

 private:
  class Batch;
  Processes& processes_;
  ReplicaRange range_;
  /// The batches that have run, by the first collective's op and step, and by the number of collectives.
  std::map<std::tuple<const Op*, size_t, size_t>, std::unique_ptr<Batch>> batches_;
  Array memory_;  ///< of the messages of one batch
};

}  // namespace pxl
