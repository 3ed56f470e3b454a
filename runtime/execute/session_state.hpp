// The state of a session.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/execute/checkpoints/checkpoint.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/process_collectives.hpp"
#include "runtime/execute/remote.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/execute/streams.hpp"
#include "runtime/execute/variables.hpp"

namespace pxl {

struct Session::State {
  State(std::shared_ptr<Ir> the_ir, std::string the_device, const std::string& engine_name,
        const std::shared_ptr<const tiles::EstimateOptions>& machine, const std::vector<const Variables*>& owners);

  /// Points that the processes of one session pass together; nothing where all replicas are here.
  void meet(const std::string& what, const Fingerprint& state = {}) const {
    if (elsewhere) elsewhere->processes().meet(what, state, variables.range().total);
  }
  void meet_as_made() const;
  void meet_to_run(const StreamData& inputs);

  bool uses(const Stream* stream) const { return transfers(stream) > 0; }
  int64_t transfers(const Stream* stream) const {
    for (const StreamPort& port : engine->ports())
      if (port.stream == stream) return port.per_run;
    return 0;
  }
  std::vector<const Stream*> streams(bool to_device) const {
    std::vector<const Stream*> all;
    for (const auto& stream : ir->streams())
      if (stream->to_device == to_device && uses(stream.get())) all.push_back(stream.get());
    return all;
  }
  void check_names(const StreamData& inputs) const;
  void execute();
  /// Executes with copies of all variables that change, so that any failure leaves them unmodified.
  void execute_undoable(const std::vector<ExecutionEngine*>& running, StreamMap<Array>& results, bool finite);
  /// Throws at the first element that is not finite: of outputs, or of variables that runs change.
  void check_finite(const StreamMap<Array>& results) const;
  void check_finite(const std::vector<ExecutionEngine*>& running) const;
  /// The samples of each process to all, where replicas are in several. Ends a run: none has failed.
  void gather(StreamMap<Array>& results) const;
  void check_equal(std::string_view what) const {
    for (const Tensor* v : variables.all()) variables.check_equal(v, what);
  }
  /// The variables as others find them.
  std::vector<NamedVariable> named() const;
  /// Without `states` those of builds take no part.
  LoadReport compare(const std::vector<NamedVariable>& source, const VariableMatches& matches,
                     bool states = true) const;
  /// The names of the variables in checkpoints; throws if two have one name.
  std::vector<std::string> checkpoint_names() const;
  /// Throws unless the session has the variable and the value its shape and dtype.
  void check_value(const Tensor* tensor, const Array& value) const;

  std::shared_ptr<Ir> ir;
  std::string device;
  const EngineRow& engine_row;
  Variables variables;
  RemoteStorage remote;
  std::vector<std::unique_ptr<ExecutionEngine>> engines;  ///< by replica of this process
  ExecutionEngine* engine;                                ///< of the first
  std::unique_ptr<ProcessCollectives> elsewhere;          ///< where other processes have replicas
  int64_t runs = 0;
  VariableSnapshot snapshot;
  bool clear_outputs;           ///< a store in an untaken branch leaves its sample unmodified
  size_t input_count;           ///< streams that a run loads
  int last_op;                  ///< id of the session's last op in the main graph
  bool profiled = false;        ///< from the beginning, for a table or a collection
  double making = 0;            ///< seconds, if it is profiled
  int64_t resident_before = 0;  ///< bytes of the process before the session was made
  int attached = 0;
  double tail_seconds = -1.0;  ///< duration of the last run from the first update to the end; negative: no run yet
};

}  // namespace pxl
