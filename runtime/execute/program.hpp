// A program: a plan with flattened calls and resolved pointers. A run is one loop over steps, without look-ups or
// allocation.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <span>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/threads/subnormals.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/measurements/profile.hpp"
#include "runtime/execute/observe.hpp"
#include "runtime/kernels/interruptible.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl {

/// The number of a replica, and how many there are: the further operand of Exchange::replica.
struct ReplicaNumber {
  int32_t number = 0, count = 1;
};

/// A control op that runs the steps of its callee, and the one around it.
struct StepCaller {
  const Instruction* control = nullptr;
  const StepCaller* outer = nullptr;
};

struct RunStep {
  enum class Kind : uint8_t {
    kernel,
    copy,        ///< copies `bytes` from `from` to `to`
    load,        ///< copies the next sample of port `port` to `to`
    store,       ///< copies `from` to the next sample of port `port`
    loop,        ///< initialises counter `port`
    repeat,      ///< jumps to `target` until counter `port` reaches `bytes`
    branch,      ///< jumps to `target` if the bool at `from` is false
    leave,       ///< the same, out of a loop
    unended,     ///< fails if the bool at `from` is true: a loop goes on beyond its bound
    jump,        ///< jumps to `target`
    collective,  ///< gives back the `bytes` stops from number `port` on
  };
  Kind kind = Kind::kernel;
  bool changes_variable = false;
  bool fallible = false;       ///< may throw, depending on its operands' values
  bool proven_by_run = false;  ///< such a step that cannot throw once a run has ended
  bool divided = false;        ///< its phases run on the thread pool
  int part = -1;               ///< the number in PartLog of a step that writes a part of a variable
  const Kernel* kernel = nullptr;
  const Instruction* instruction = nullptr;  ///< kernels only
  int64_t touched = 0;                       ///< bytes of operands and results
  const StepCaller* caller = nullptr;        ///< kernels only; null: in the main plan
  const Op* op = nullptr;                    ///< for messages
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int64_t bytes = 0;
  size_t port = 0;
  size_t target = 0;   ///< a step; while building: a kernel's first operand
  size_t outputs = 0;  ///< while building: a kernel's first result
  Buffers buffers{nullptr, nullptr};
};

/// Whether a kernel has phases, and an estimated cost above the parallel threshold.
bool has_parallel_work(const Kernel& kernel);
/// The same, if the thread pool has more than one thread.
bool worth_dividing(const Kernel& kernel);
/// Runs the phases of a kernel on the thread pool. A long, `interruptible` kernel runs in chunks: after a request to
/// interrupt, the rest is skipped and Interrupted is thrown.
/// `timed`, if not null, gets the times of the other threads' shares as parts of this step.
void run_divided(const Kernel& kernel, const Buffers& buffers, bool interruptible = false, Profile* timed = nullptr,
                 size_t step = 0);
/// Bytes of workspace with which a kernel runs: on all threads of the pool if it is worth dividing.
size_t workspace_bytes(const Kernel& kernel);

class PartLog;

class Program {
 public:
  using Memory = VariableMemory;
  /// `outputs`: destinations of the plan's outputs. The plan, and the graph it was made from, must outlive the program.
  /// Throws if the flattened program exceeds the maximum number of steps.
  /// All replicas of a program share one profile.
  Program(const Plan& plan, const Memory& variable, const std::vector<std::byte*>& outputs = {},
          ReplicaNumber replica = {}, std::shared_ptr<Profile> profile = std::make_shared<Profile>(),
          const RemoteBuffers& remote = {}, const VariableChanges& changes = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// Begins a run, from the ports' current positions.
  void begin();
  /// Runs on, to the end or to collectives (ExecutionEngine::advance). Throws Interrupted between steps on request.
  /// Calls `commit` once in a run, before the first step that modifies a variable; it returns whether later requests
  /// are still honoured. An Error from a kernel becomes a run-time failure at the op's location.
  template <class Commit>
  std::span<const CollectiveStop> advance(Commit&& commit);

  std::vector<StreamPort>& ports() { return ports_; }
  const std::vector<StreamPort>& ports() const { return ports_; }
  const std::vector<RunStep>& steps() const { return steps_; }
  int64_t arena_bytes() const { return arena_.bytes(); }
  /// Calls the observer for each kernel's op from now on, and times it. Only for plans of the reference path, in which
  /// a kernel is an op.
  void observe(RunObserver* observer);
  /// Times of the steps, once profiling has started.
  const std::shared_ptr<Profile>& profile() const { return profile_; }

  /// Whether a step that runs after the first modification of a variable may fail. Steps whose indices are constants
  /// cannot, once a run has ended.
  bool fallible_after_commit() const { return has_run_ ? fallible_in_later_runs_ : fallible_in_first_run_; }
  /// Variables that the program modifies.
  const std::vector<const Tensor*>& changed_variables() const { return changed_variables_; }
  /// Those of them that a failed run needs a copy of. Of the others, steps write parts that are kept meanwhile.
  const std::vector<const Tensor*>& copied_variables() const { return copied_variables_; }
  /// Writes the kept parts of the last run back.
  void restore_parts();

 private:
  /// How many changes the variables have had that first steps read; -1 if that is unknown.
  int64_t changes() const;
  struct Frame;
  class Builder;
  void locate(Error& error, const RunStep& step) const;
  void keep_part(const RunStep& step);
  void run_timed(size_t step);
  /// Shows a collective to the observer, before it and, where a run goes on after it, its result.
  void show(const RunStep& step, bool after);
  void show_result(const RunStep& step);

  std::vector<RunStep> steps_;
  std::deque<StepCaller> callers_;  ///< of steps
  std::vector<std::byte*> pointers_;
  std::vector<int64_t> counters_;
  std::vector<StreamPort> ports_;
  std::vector<const Tensor*> changed_variables_, copied_variables_;
  std::unique_ptr<PartLog> parts_;
  std::vector<Array> constants_;  ///< owns the data that steps point to
  Array arena_;
  WorkspaceMemory workspace_;  ///< of the step that runs
  bool fallible_in_first_run_ = false, fallible_in_later_runs_ = false, has_run_ = false;
  // The first steps, whose results stay in the arena, run if a variable that they read has changed since.
  size_t first_steps_ = 0;
  std::vector<const int64_t*> read_once_;  ///< changes of the variables; null if they are unknown
  int64_t changes_before_ = -1;            ///< when the results were computed; -1: they are not
  std::vector<CollectiveStop> stops_;
  ReplicaNumber replica_;
  std::shared_ptr<Profile> profile_;
  RunObserver* observer_ = nullptr;
  // The state of a run.
  size_t at_ = 0;
  bool polls_ = true, committed_ = false, keeps_parts_ = false;
};

template <class Commit>
std::span<const CollectiveStop> Program::advance(Commit&& commit) {
  size_t at = at_;
  bool polls = polls_, committed = committed_;
  const bool timed = profile_->timing();
  const FlushSubnormals flush;
  const RunStep* steps = steps_.data();
  if (observer_ && at > 0) show_result(steps[at - 1]);
  try {
    while (at < steps_.size()) {
      const RunStep& step = steps[at];
      if (polls) check_interrupt();
      if (step.changes_variable) {
        if (!committed) polls = keeps_parts_ = commit();
        committed = true;
        if (step.part >= 0 && keeps_parts_) keep_part(step);
      }
      switch (step.kind) {
        case RunStep::Kind::kernel:
          if (timed)
            run_timed(at);
          else if (step.divided ||
                   (polls && step.kernel->cost_ns() > max_uninterruptible_ns && !step.kernel->phases().empty()))
            run_divided(*step.kernel, step.buffers, polls);
          else
            (*step.kernel)(step.buffers);
          break;
        case RunStep::Kind::copy: std::copy_n(step.from, step.bytes, step.to); break;
        case RunStep::Kind::load: {
          std::byte*& next = ports_[step.port].next;
          std::copy_n(next, step.bytes, step.to);
          next += ports_[step.port].stride;
          break;
        }
        case RunStep::Kind::store: {
          std::byte*& next = ports_[step.port].next;
          std::copy_n(step.from, step.bytes, next);
          next += ports_[step.port].stride;
          break;
        }
        case RunStep::Kind::loop: counters_[step.port] = 0; break;
        case RunStep::Kind::repeat:
          if (++counters_[step.port] < step.bytes) {
            at = step.target;
            continue;
          }
          break;
        case RunStep::Kind::branch:
        case RunStep::Kind::leave:
          if (*step.from == std::byte{0}) {
            at = step.target;
            continue;
          }
          break;
        case RunStep::Kind::jump: at = step.target; continue;
        case RunStep::Kind::unended:
          if (*step.from != std::byte{0}) throw goes_on_beyond_bound(*step.op);
          break;
        case RunStep::Kind::collective: {
          const size_t together = observer_ ? 1 : static_cast<size_t>(step.bytes);
          if (observer_) show(step, false);
          at_ = at + together;
          polls_ = polls;
          committed_ = committed;
          return std::span(stops_).subspan(step.port, together);
        }
      }
      ++at;
    }
    has_run_ = true;
    changes_before_ = changes();
    return {};
  } catch (Error& error) {
    locate(error, steps[at]);
    throw;
  }
}

}  // namespace pxl
