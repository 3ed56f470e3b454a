// A session runs an Ir: owns the values of the variables and an engine, and feeds the streams.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/execute/checkpoints/match_variables.hpp"
#include "runtime/execute/observe.hpp"
#include "runtime/execute/streams.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tensor/named_array.hpp"

namespace pxl {

struct Measurement;

namespace tiles {
struct EstimateOptions;
}

class Session {
 public:
  /// Checks in-place order, verifies, plans, and freezes the Ir unless it is open-ended; ops added to an open-ended Ir
  /// later are not part of this session. `device` is "cpu" or "ipu_model"; other names throw with a suggestion. Throws
  /// if the main graph has no op, or if replicas may go apart at a collective (agreement.hpp). If
  /// `ir->num_host_transfers` is set, throws for a stream with another number of transfers; the Ir is then unmodified.
  /// Several sessions may own one Ir, each with its own state. `engine` names a row in the table of engines
  /// (engine.hpp); empty: the default. `machine` is for engines that run on the tiles of one (EngineTask); null: the
  /// default. `variables`: sessions that have the variables which the program shares with others (Tensor::shared); all
  /// of these must be in one of them, and then they are in its memory. Sessions on one memory take turns, in all their
  /// functions: a thread waits for the other.
  Session(std::shared_ptr<Ir> ir, std::string device, const std::string& engine = {},
          std::shared_ptr<const tiles::EstimateOptions> machine = nullptr,
          const std::vector<const Session*>& variables = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Ir& ir() const;
  const std::string& device() const;
  std::string_view engine() const;

  /// One run of all replicas (replicas.hpp). Inputs have the shape [transfers, replicas, *stream shape] without axes of
  /// extent one, or folded into the first axis ([transfers * replicas * shape[0], ...]); they are converted to the
  /// stream's dtype if that is lossless
  /// (convert_safely). A stream that is loaded k times consumes its k slices in order. Outputs have the same shapes,
  /// unfolded. Throws for missing and unexpected streams (naming both) and for wrong shapes and dtypes.
  ///
  /// A run that ends in an Error or Interrupted leaves the variables as the last complete run left them. This costs a
  /// copy of the modified variables only if necessary. The copy is made in the first run, if steps that may fail (reads
  /// at indices) follow updates. It is also made if the steps after the first update took more than 20 ms in the last
  /// run. Otherwise an interrupt after the first update is delayed to the end of the run. Several replicas always keep
  /// the copy.
  ///
  /// If there is an observer, the run executes op by op (bit-identical, much slower), and any failure leaves the
  /// variables unmodified.
  ///
  /// `into`: arrays that receive outputs. Each is the only owner of its elements, and has the output's dtype and shape
  /// (host_shape); their elements are undefined after a failure. The results share them.
  ///
  /// `finite`: the run fails with not-finite if an element of an output, or of a variable that it changes, is none.
  StreamMap<Array> run(const StreamData& inputs, RunObserver* observer = nullptr, StreamData into = {},
                       bool finite = false);
  std::vector<const Stream*> expected_inputs() const;
  std::vector<const Stream*> outputs() const;
  /// How many samples a run loads or stores per stream: the maximum over the streams, at least 1.
  int64_t num_host_transfers() const;
  /// How many samples a run transfers for one stream; 0 if unused.
  int64_t transfers(const Stream* stream) const;

  /// Attached sessions hold their variables on the device; nests. Here all memory is the host's, so reading and writing
  /// variables works in both states.
  void attach();
  void detach();
  bool is_attached() const;

  enum class Retrieval : uint8_t {
    one_per_group,  ///< [groups, *shape], of one group [*shape]; throws where members hold different values
    first,          ///< the same without a check: that of the first replica of each group
    all,            ///< [replicas, *shape]
  };
  /// Copies the value that a variable or constant has; throws for other tensors.
  Array get_tensor_data(const Tensor* tensor, Retrieval retrieval = Retrieval::one_per_group) const;
  /// Throws if replicas of a group hold different values of a variable: names it, the replicas and the first element.
  void check_replicas() const;
  int replicas() const;
  /// Checks shape and dtype; the caller converts numbers. A grouped variable has a value for each group.
  void write_variable_data(const Tensor* tensor, const Array& value);
  struct VariableValue {
    const Tensor* tensor;
    Array value;
  };
  /// Checks each before it writes any.
  void write_variables_data(const std::vector<VariableValue>& values);

  /// Sets the value of each replica, from an array as `Retrieval::all` returns it.
  void write_replicas(const Tensor* tensor, const Array& values);

  /// Variables of the session, in order of creation.
  const std::vector<Tensor*>& variables() const;
  /// Ops with side effects (stores, loads, prints, updates) added to the main graph after the session was made.
  std::vector<const Op*> added_later() const;

  /// Names of variables: copied; in this session only; in both with another shape or dtype ("w: float32[2] here,
  /// float32[3] there"); in the source only.
  struct LoadReport {
    std::vector<std::string> loaded, missing, mismatched, unused;
    std::vector<std::string> by_order;  ///< loaded, and told from another one by the order of calls alone
  };
  /// Copies the variables that both sessions have. Throws without copying if there are none, or if shape or dtype
  /// differ.
  LoadReport load_from(const Session& other);

  /// Sets the initial values of variables again.
  void reset(const std::vector<const Tensor*>& variables);

  /// Checkpoint: all variables under their names (Tensor::path), in the safetensors format, written atomically. Throws
  /// if two variables have one name. A damaged or unreadable file modifies no variable. A strict restore throws,
  /// without modifying anything, if a variable of the session is missing in the file or has another shape or dtype;
  /// otherwise restores the matching variables. Entries without a variable are ignored. Reports and errors have the
  /// names of variables. `beside`: arrays whose names begin with `beside_prefix`, which a restore leaves alone.
  void save(const std::string& path, const std::vector<NamedArray>& beside = {}) const;
  static constexpr std::string_view beside_prefix = "data:";
  /// The same as a folder of files (checkpoint_parts.hpp). The processes of a job write it at the same time, and each
  /// writes some of the elements that its replicas hold. A folder is valid once its index is there; the index of an
  /// earlier checkpoint is removed first.
  void save_parts(const std::string& folder) const;
  struct RestoreOptions {
    bool strict = true;
    /// Maps an entry of the file to a variable's name; nullopt ignores the entry. The default keeps the name.
    std::function<std::optional<std::string>(const std::string& entry)> variable_of = {};
    /// Weights of dense layers (is_linear_weight) are stored as [out, in], as PyTorch has them. Without an answer they
    /// are not, and a square one of a file that pxl did not write is refused: its shape does not tell.
    std::optional<bool> transpose_linear = {};
    bool states = true;  ///< false: the states of builds stay as they are
  };
  LoadReport restore(const std::string& path, const RestoreOptions& options);
  LoadReport restore(const std::string& path) { return restore(path, RestoreOptions()); }

  /// Times runs and kernels from now on; `profile` returns the table so far (table_text).
  void start_profiling();
  std::string profile() const;
  /// What was measured so far; no runs without profiling.
  Measurement measure() const;
  /// Profiles each session made from now on and prints its table to standard error at its end, like PXL_PROFILE=on.
  static void profile_all();
  /// The same, without a table: a session adds its measurement to `all` at its end. Null ends this.
  static void collect(std::vector<Measurement>* all);
  /// While it lives, sessions of this thread are not profiled.
  struct Unprofiled {
    Unprofiled();
    ~Unprofiled();
    Unprofiled(const Unprofiled&) = delete;
    Unprofiled& operator=(const Unprofiled&) = delete;
  };

  /// Bytes of a run, as planned: variables, arena, constants.
  struct MemoryUse {
    int64_t variables = 0, constants = 0, arena = 0;
  };
  MemoryUse memory() const;
  /// Counters of the engine over all runs so far, by name; empty if it counts nothing.
  std::vector<std::pair<std::string_view, int64_t>> counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pxl
