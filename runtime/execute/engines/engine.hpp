// Engines run programs. A session owns the variables and feeds the streams; an engine computes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/execute/measurements/measurement.hpp"
#include "runtime/execute/measurements/profile.hpp"
#include "runtime/execute/observe.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/kernels/outside/remote.hpp"

namespace pxl {

namespace tiles {
struct EstimateOptions;
}

/// The host memory that holds a stream's next samples.
struct StreamPort {
  const Stream* stream = nullptr;
  std::byte* next = nullptr;
  int64_t sample_bytes = 0;
  int64_t stride = 0;   ///< bytes from a sample to the next: those of other replicas are between them
  int64_t per_run = 0;  ///< samples
  /// Operands and results of kernels that are the one sample of a run, in the host's memory, by index; empty if it is
  /// copied.
  std::vector<size_t> operands;
};

/// The memory of a variable. It keeps its address while an engine lives; the engine of each replica has its own.
using VariableMemory = std::function<std::byte*(const Tensor*)>;

/// The number of changes of a variable so far, by runs and otherwise; it keeps its address while an engine lives.
using VariableChanges = std::function<const int64_t*(const Tensor*)>;

/// Returns the memory for a remote buffer of the Ir, by index.
using RemoteBuffers = std::function<RemoteMemory*(int64_t)>;

/// The program, the replica and the memory that an engine is made for.
struct EngineTask {
  const Ir& ir;
  VariableMemory variable;
  /// A tensor that an op of the main graph made; `to` receives its value after the last op. The engine runs only the
  /// ops that this value depends on, without stores and prints. Null: the whole program runs.
  const Tensor* result = nullptr;
  std::byte* to = nullptr;
  int replica = 0;  ///< which of the Ir's replicas runs
  /// The machine of engines that run on the tiles of one, and how ops are mapped to them; null: the default.
  std::shared_ptr<const tiles::EstimateOptions> machine = nullptr;
  RemoteBuffers remote = {};
  VariableChanges changes = {};  ///< null: all that a run computes is computed in each run
};

/// A collective that a run has reached: the operand and the result of its replica.
struct CollectiveStop {
  const Op* op = nullptr;
  const Kernel* kernel = nullptr;  ///< of the operands and results of all members of a group
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  size_t step = 0;             ///< for Engine::times
  bool by_definition = false;  ///< `kernel` is the op's definition
};

/// Runs one task. The program is the one that exists when the engine is made: ops that an open-ended Ir gets later are
/// not part of it. Owns whatever it derives from the Ir, which outlives it.
class ExecutionEngine {
 public:
  virtual ~ExecutionEngine() = default;
  ExecutionEngine() = default;
  ExecutionEngine(const ExecutionEngine&) = delete;
  ExecutionEngine& operator=(const ExecutionEngine&) = delete;

  /// The streams that a run uses; a run begins at each port's `next`.
  virtual std::vector<StreamPort>& ports() = 0;
  const std::vector<StreamPort>& ports() const { return const_cast<ExecutionEngine*>(this)->ports(); }
  /// Begins a run. `commit` lives until its end; it is called once, before the first change of a variable, and says
  /// whether interrupts still are honoured from there on.
  virtual void begin(const std::function<bool()>& commit) = 0;
  /// Runs to the end (returns an empty span) or to the next collectives of several replicas (returns them). All of
  /// these take part in one message: none needs the result of another. The caller (replicas.hpp) fills in the results,
  /// then calls advance() again. Interrupts are honoured by throwing Interrupted. An Error becomes a failure while
  /// running, at the op's place.
  virtual std::span<const CollectiveStop> advance() = 0;
  /// An engine of the same program for another replica.
  virtual std::unique_ptr<ExecutionEngine> for_replica(const EngineTask& task) const = 0;
  /// The variables that a run may change, and whether it may fail after it began to.
  virtual const std::vector<const Tensor*>& changed_variables() const = 0;
  virtual bool fallible_after_commit() const = 0;
  /// Those of them that need a copy before a run that may fail; restore_parts() gives the others their old values back.
  virtual const std::vector<const Tensor*>& copied_variables() const { return changed_variables(); }
  virtual void restore_parts() {}
  /// Whether an output's sample may be left as it was: a store in a branch that is not taken.
  virtual bool may_skip_stores() const = 0;

  /// An engine of the same task that shows each op to an observer; may return this engine.
  virtual ExecutionEngine& observed(RunObserver* observer) = 0;

  // Facts about runs beside their results. An engine without such facts returns empty values and 0.
  virtual void start_profiling() {}
  virtual Profile* times() { return nullptr; }
  virtual std::string profile() const { return {}; }  ///< of an engine that has no times
  virtual Measurement measure() const { return {}; }  ///< of an engine that has times
  virtual int64_t constant_bytes() const { return 0; }
  virtual int64_t arena_bytes() const { return 0; }
  /// Counters of the engine over all runs so far, by name.
  virtual std::vector<std::pair<std::string_view, int64_t>> counts() const { return {}; }
};

struct EngineRow {
  std::string_view name, doc;
  std::unique_ptr<ExecutionEngine> (*make)(const EngineTask& task);
};

/// The table: the first row is the default.
std::span<const EngineRow> engine_table();
/// Throws an Error that names the engines, with a suggestion.
const EngineRow& find_engine(const std::string& name);

/// The engine of sessions that name none: "planned", or what PXL_ENGINE in the environment, `--engine` or the REPL
/// says.
const std::string& default_engine();
void set_default_engine(const std::string& name);

/// The failure of a loop with a condition that still holds after its last iteration.
Error goes_on_beyond_bound(const Op& loop);

}  // namespace pxl
