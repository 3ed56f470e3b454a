// The variables of a session: their memory, values for groups of replicas, and copies from before a run.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/execute/engine.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// All variables of a session, of all replicas, in one allocation. A replica's are at equal distances.
class Variables {
 public:
  /// With the initial values. Throws run_error if they need more than memory.
  explicit Variables(const Ir& ir);

  const std::vector<Tensor*>& all() const { return all_; }
  int64_t bytes() const { return bytes_; }
  int replicas() const { return replicas_; }
  bool has(const Tensor* v) const { return offsets_.count(v) > 0; }
  std::byte* at(const Tensor* v, int replica = 0) {
    return block_.mutable_raw() + replica * replica_bytes_ + offsets_.at(v);
  }
  const std::byte* at(const Tensor* v, int replica = 0) const {
    return block_.raw() + replica * replica_bytes_ + offsets_.at(v);
  }
  /// A value for each group.
  void write(const Tensor* v, const Array& value);
  void write_replica(const Tensor* v, const Array& value, int replica);
  /// Whether all variables still have the program's initial values.
  bool initial() const { return initial_; }
  void note_run() { initial_ = false; }
  /// A value for each group, that of its first replica.
  Array read(const Tensor* v) const;
  /// A value for each replica.
  Array read_all(const Tensor* v) const;
  void write_all(const Tensor* v, const Array& values);
  /// Throws, beginning with `what`, if replicas of a group, which hold one value, have different ones.
  void check_equal(const Tensor* v, std::string_view what) const;

 private:
  std::vector<Tensor*> all_;
  std::unordered_map<const Tensor*, int64_t> offsets_;
  int replicas_ = 1;
  Array block_;
  int64_t replica_bytes_ = 0;
  int64_t bytes_ = 0;
  bool initial_ = true;
};

/// Snapshot of a replica's variables before the first update of a run, for rollback.
class VariableSnapshot {
 public:
  VariableSnapshot(Variables& variables, const ExecutionEngine& engine, int replica = 0)
      : variables_(variables), changed_(engine.changed_variables()), replica_(replica) {}

  void take();
  void restore();

 private:
  Variables& variables_;
  const std::vector<const Tensor*>& changed_;
  int replica_;
  std::vector<Array> copies_;
  bool initial_ = false;
};

}  // namespace pxl
