// A session runs an Ir: owns the values of the variables and an engine, and feeds the streams.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/execute/observe.hpp"
#include "runtime/execute/streams.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

class Session {
 public:
  /// Checks in-place order, verifies, plans, freezes the Ir unless it is open-ended: what is added to one later is no
  /// part of this session. `device` is "cpu" or "ipu_model"; others throw with a
  /// suggestion. Throws where the main graph has no op, where replication is asked for, and where a stream is not
  /// transferred `ir->num_host_transfers` times (if that is set); the Ir is then as it was. Several sessions may own
  /// one Ir, each with its own state.
  /// `engine` is a row of the table of engines (engine.hpp); empty: the default.
  Session(std::shared_ptr<Ir> ir, std::string device, const std::string& engine = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Ir& ir() const;
  const std::string& device() const;
  std::string_view engine() const;

  /// One run. Inputs have the shape [transfers, replicas, *stream shape] with ones dropped, or folded over the first
  /// axis ([transfers * shape[0], ...]); converted to the stream's dtype where that is safe (convert_safely). A stream
  /// that is loaded k times consumes its k slices in order. The same shapes for outputs, unfolded. Throws for missing
  /// and unexpected streams (naming both) and for wrong shapes and dtypes.
  ///
  /// A run that ends in an Error or Interrupted leaves the variables as the last whole run left them. This costs a
  /// copy of the changed variables only where it is needed: in the first run, where updates are followed by steps
  /// that may fail (reads of indices), and where what follows the first update took more than 20 ms last time.
  /// Otherwise an interrupt that arrives after the first update waits for the end of the run, that short time.
  ///
  /// With an observer the run goes op by op (the same bits, much slower), and whatever ends it leaves the variables as
  /// they were.
  std::map<const Stream*, Array> run(const StreamData& inputs, RunObserver* observer = nullptr);
  std::vector<const Stream*> expected_inputs() const;
  std::vector<const Stream*> outputs() const;
  /// Number of loads or stores of a stream in a run: the maximum over the streams, at least 1.
  int64_t num_host_transfers() const;
  /// Number of transfers of one stream in a run; 0 if unused.
  int64_t transfers(const Stream* stream) const;

  /// Attached sessions hold their variables on the device; nests. Here all memory is the host's, so reading and writing
  /// variables works in both states.
  void attach();
  void detach();
  bool is_attached() const;

  /// A copy of the value of a variable or constant; throws for other tensors.
  Array get_tensor_data(const Tensor* tensor) const;
  /// Checks shape and dtype; the caller converts numbers.
  void write_variable_data(const Tensor* tensor, const Array& value);

  /// Variables of the session, in order of creation.
  const std::vector<Tensor*>& variables() const;
  /// Ops with side effects (stores, loads, prints, updates) added to the main graph after the session was made.
  std::vector<const Op*> added_later() const;

  /// Names of variables: copied; in this session only; in both with another shape or dtype ("w: float32[2] here,
  /// float32[3] there"); in the source only.
  struct LoadReport {
    std::vector<std::string> loaded, missing, mismatched, unused;
  };
  /// Copies the variables that both sessions have. Throws without copying if there are none, or if shape or dtype
  /// differ.
  LoadReport load_from(const Session& other);

  /// Checkpoint: every variable by name, in the safetensors format. Written to a temporary file and renamed, so never
  /// half-written. A file that cannot be read or is damaged changes no variable. A strict restore throws, and changes
  /// nothing, where a variable of the session is missing in the file or has another shape or dtype there; otherwise
  /// what fits is copied. Entries that the session does not use are passed over in both cases.
  void save(const std::string& path) const;
  LoadReport restore(const std::string& path, bool strict = true);

  /// Times runs and kernels from now on; `profile` returns the table so far (Profile::text).
  void start_profiling();
  std::string profile() const;
  /// Profiles each session made from now on and prints its table to standard error at its end, like PXL_PROFILE=on.
  static void profile_all();

  /// Bytes of a run, as planned: variables, arena, constants.
  struct MemoryUse {
    int64_t variables = 0, constants = 0, arena = 0;
  };
  MemoryUse memory() const;
  /// Plans in text form, for debugging: the main graph's, then those of called graphs.
  std::string print_plans() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pxl
