// The remote buffers of a session: one memory for each buffer and replica of the process.
#pragma once

#include <functional>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/kernels/outside/remote.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {

class RemoteStorage {
 public:
  /// `variable` returns a replica's memory of a variable. Entries that are variables share that memory. Throws
  /// run_error if the buffers need more than memory.
  RemoteStorage(const Ir& ir, const ReplicaRange& range,
                const std::function<std::byte*(const Tensor*, int replica)>& variable);

  RemoteMemory* at(int replica, int64_t buffer) {
    return &memories_.at(static_cast<size_t>(replica - first_)).at(static_cast<size_t>(buffer));
  }
  void begin_run();
  /// Undoes the run's stores.
  void undo();

 private:
  int first_;                                        ///< replica of this process
  std::vector<std::vector<RemoteMemory>> memories_;  ///< by replica, then by buffer
};

}  // namespace pxl
