// The variables of a session: their memory, values for groups of replicas, and copies from before a run.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/execute/engines/engine.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {

/// The memory of a session's own variables, of all replicas. Sessions of other programs may share it.
struct SessionMemory {
  struct Block {
    std::string folder;  ///< of the file; empty: main memory
    int64_t replica_bytes = 0;
    Array memory = {};
  };
  std::vector<Block> blocks{{}};  ///< the first is main memory
  std::deque<int64_t> changes;    ///< of each variable, see Variables::changes
  bool initial = true;            ///< all variables have the program's initial values
  bool running = false;           ///< a run uses it
  std::recursive_timed_mutex turn;
};

/// The variables of a session, for the replicas of this process, in one allocation. Variables in files have one
/// allocation per folder. A variable of consecutive replicas is at equal distances. All processes call the functions
/// that read or compare the variables in other processes. Variables that belong to other programs are in the memory of
/// those programs' sessions.
class Variables {
 public:
  /// Begins with the initial values. Throws run_error if they need more than memory. `owners`: of sessions that have
  /// the variables of other programs (check_shared); throws if two have different memory of one.
  Variables(const Ir& ir, Processes& processes, const std::vector<const Variables*>& owners = {});

  const std::vector<Tensor*>& all() const { return all_; }
  int64_t bytes() const { return bytes_; }  ///< of its own variables
  /// The memory of all variables, in the order in which threads lock it.
  const std::vector<SessionMemory*>& memories() const { return memories_; }
  /// Throws if a variable in another session's memory is changed here, and the numbers of replicas differ.
  void check_changes(const std::vector<const Tensor*>& changed) const;
  /// The replicas whose variables are here.
  const ReplicaRange& range() const { return range_; }
  Processes& processes() const { return processes_; }
  bool has(const Tensor* v) const { return places_.count(v) > 0; }
  /// The value of a variable; the replica is one of this process.
  const std::byte* at(const Tensor* v, int replica) const { return const_cast<Variables*>(this)->memory(v, replica); }
  /// Memory that runs of engines change, which note_changes() tells.
  std::byte* memory(const Tensor* v, int replica) {
    const Place& place = places_.at(v);
    SessionMemory::Block& block = place.memory->blocks[place.block];
    const int here = (replica - range_.first) % place.replicas;
    return block.memory.mutable_raw() + here * block.replica_bytes + place.offset;
  }
  /// How often a variable was changed so far, in this session and in others on its memory.
  const int64_t* changes(const Tensor* v) const { return places_.at(v).changes; }
  void note_changes(const std::vector<const Tensor*>& changed) {
    for (const Tensor* v : changed) ++*places_.at(v).changes;
  }
  /// A whole value for each group.
  void write(const Tensor* v, const Array& value);
  void write_replica(const Tensor* v, const Array& value, int replica);
  /// The bytes that a replica held before.
  void put_back(const Tensor* v, const Array& bytes, int replica);
  /// Whether all variables still have the program's initial values.
  bool initial() const {
    return std::ranges::all_of(memories_, [](const SessionMemory* m) { return m->initial; });
  }
  void note_run() {
    for (SessionMemory* m : memories_) m->initial = false;
  }
  /// A whole value for each group, of its first replicas.
  Array read(const Tensor* v) const;
  /// The value that each replica holds, or its shard.
  Array read_all(const Tensor* v) const;
  void write_all(const Tensor* v, const Array& values);
  /// Consecutive elements of the host data, in row-major order, and the replicas that hold them.
  struct HeldRun {
    int64_t begin = 0, end = 0;
    std::vector<int> replicas;
  };
  /// The runs that make up the host data, in order: one for each group, or for each part of it.
  std::vector<HeldRun> held_runs(const Tensor* v) const;
  /// Copies a run from a replica of this process that holds it.
  Array read_run(const Tensor* v, const HeldRun& run, int replica) const;
  /// Throws, beginning with `what`, if replicas that hold one value, or the same part of it, have different ones.
  void check_equal(const Tensor* v, std::string_view what) const;

 private:
  /// The elements of a variable that a replica holds: the value of a group, or a part of that value.
  struct Held {
    int64_t group = 0, position = 0;
    ShardRange range;        ///< of the group's value, without padding
    int64_t host_begin = 0;  ///< first byte of the range in the host data, which have the values of all groups
  };
  Held held_by(const Tensor* v, int replica) const;

  /// The memory of a variable that is changed now.
  std::byte* changed(const Tensor* v, int replica) {
    note_changes({v});
    return memory(v, replica);
  }

  /// The first replica that holds each value or part.
  std::vector<int> first_holders(const Tensor* v) const;

  /// The bytes of a variable by replica: the bytes here in place, and the bytes in other processes that `wanted` names.
  class Everywhere;
  /// Whether members of groups hold equal bytes, by their fingerprints.
  bool equal_everywhere(const Tensor* v) const;

  std::vector<Tensor*> all_;
  struct Place {
    std::shared_ptr<SessionMemory> memory;
    size_t block = 0;
    int64_t offset = 0;
    int replicas = 1;            ///< of this process that have it
    int64_t* changes = nullptr;  ///< in the memory
  };
  size_t block_of(const Ir& ir, const Tensor* v);
  void allocate(const Ir& ir);
  Place shared_place(const Tensor* v, const std::vector<const Variables*>& owners) const;
  /// Copies one value of a variable to every replica that has it, where the numbers of replicas differ.
  bool wrote_everywhere(const Tensor* v, const std::byte* value);
  std::unordered_map<const Tensor*, Place> places_;
  std::unordered_map<const Tensor*, std::vector<int64_t>> positions_;  ///< of the replicas in the groups of a shard
  Processes& processes_;
  ReplicaRange range_;
  std::shared_ptr<SessionMemory> own_ = std::make_shared<SessionMemory>();
  std::vector<SessionMemory*> memories_;
  int64_t bytes_ = 0;
};

/// A thread's turn on the memory of sessions: threads wait for each other. An interrupt ends the wait.
class VariablesTurn {
 public:
  explicit VariablesTurn(const Variables& of) : VariablesTurn(of.memories()) {}
  VariablesTurn(const Variables& of, const Variables& other);
  ~VariablesTurn();
  VariablesTurn(const VariablesTurn&) = delete;
  VariablesTurn& operator=(const VariablesTurn&) = delete;

 private:
  explicit VariablesTurn(const std::vector<SessionMemory*>& memories);
  void lock(const std::vector<SessionMemory*>& memories);
  std::vector<SessionMemory*> union_;
  const std::vector<SessionMemory*>* held_;
};

/// A run on the memory of sessions. Throws if this thread is in a run on it already.
class VariablesRun {
 public:
  explicit VariablesRun(const Variables& of);
  ~VariablesRun();
  VariablesRun(const VariablesRun&) = delete;
  VariablesRun& operator=(const VariablesRun&) = delete;

 private:
  VariablesTurn turn_;
  const Variables& of_;
};

/// Throws unless an owner's program has each variable that a program shares (Tensor::shared), on equal replicas. Also
/// throws if there are owners and nothing is shared.
void check_shared(const Ir& ir, const std::vector<const Ir*>& owners);

/// Snapshot of a replica's variables before the first update of a run, for rollback.
class VariableSnapshot {
 public:
  VariableSnapshot(Variables& variables, ExecutionEngine& engine, int replica)
      : variables_(variables), engine_(engine), replica_(replica) {}

  void take();
  void restore();

 private:
  Variables& variables_;
  ExecutionEngine& engine_;
  int replica_;
  std::vector<Array> copies_;
  bool initial_ = false;
};

}  // namespace pxl
