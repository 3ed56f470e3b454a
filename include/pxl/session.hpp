// Sessions: a program of a file, prepared to run, with the state of its variables.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pxl/array.hpp"
#include "pxl/error.hpp"
#include "pxl/value.hpp"

PXL_BEGIN_NAMESPACE

/// Ends work from another thread, or from a signal handler. Copies share one flag. A request ends one call: the one in
/// progress, within about 100 ms, or else the next one; it fails with Failure::cancelled, and variables are as the last
/// complete run left them.
class Cancel {
 public:
  Cancel() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void request() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  /// Takes back a request that has ended nothing yet.
  void clear() const noexcept { flag_->store(false, std::memory_order_relaxed); }
  std::atomic<bool>& flag() const noexcept { return *flag_; }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

/// Lets a thread do something in the middle of its calls. A host needs this if it runs handlers of signals in one
/// thread. A signal handler or another thread sets `asked`; soon after, the call runs `answer` and goes on. The call
/// fails with Failure::cancelled if the answer is false. `asked` outlives the scope.
class PXL_API AttentionScope {
 public:
  AttentionScope(std::atomic<bool>& asked, std::function<bool()> answer);
  ~AttentionScope();
  AttentionScope(const AttentionScope&) = delete;
  AttentionScope& operator=(const AttentionScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// An input stream's array of a run, by name. A stream of a tree has one for each leaf, by its path: "b.s", "b.a".
struct Input {
  std::string_view name;
  View array;
};
/// Memory for an output stream's array, by name.
struct Output {
  std::string_view name;
  MutableView array;
};

/// The arrays of a run, by the names of the output streams.
class Outputs {
 public:
  std::vector<std::pair<std::string, Array>> arrays;  ///< in the order of the program

  /// The array of a name. Throws std::out_of_range if there is none.
  const Array& operator[](std::string_view name) const {
    for (const auto& [n, array] : arrays)
      if (n == name) return array;
    throw std::out_of_range("the run gave nothing named `" + std::string(name) + "`");
  }
};

/// A stream. `shape` is the shape of the array that a run takes or returns: [transfers, replicas, *sample], without
/// those of the first two axes that are 1.
struct StreamInfo {
  std::string name;
  DType dtype;
  Shape shape;
};

struct VariableInfo {
  std::string name;  ///< "fc1/weight"
  DType dtype;
  Shape shape;  ///< with an axis of groups in front where groups of replicas have values of their own
  bool linear;  ///< a weight of a dense layer, [in, out], which PyTorch stores as [out, in]
};

/// Names of variables: copied; in the session only; in both with another shape or dtype; in the source only.
struct LoadReport {
  std::vector<std::string> loaded, missing, mismatched, unused;
};

struct RestoreOptions {
  bool strict = true;             ///< an error, without any change, if a variable is missing or mismatched
  bool transpose_linear = false;  ///< weights of dense layers are [out, in] in the file
  /// Maps an entry of the file to a variable's name; nullopt ignores the entry. Empty: both have the same name.
  std::function<std::optional<std::string>(const std::string& entry)> variable_of = {};
  bool states = true;  ///< false: the states of builds stay as they are
};

struct RunOptions {
  bool finite =
      false;  ///< not-finite is an error: a NaN or an infinity in an output, or in a variable that the run changes
};

/// All functions are thread-safe: calls of one session take turns, and so do those of sessions that share variables: a
/// thread waits for the other. Those of other sessions run at the same time. If
/// several runs overlap, one uses the threads of the pool, and the others use one thread each; the results are the
/// same.
class PXL_API Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// One run. Inputs are converted to the stream's dtype if that loses nothing but rounding, and read in place if they
  /// have this dtype. Errors: a stream that is missing, unknown or of another shape, and a failure in the run. After an
  /// error the variables are as the last complete run left them.
  Result<Outputs> run(std::span<const Input> inputs = {}, const RunOptions& options = {});
  Result<Outputs> run(std::initializer_list<Input> inputs, const RunOptions& options = {}) {
    return run(std::span(inputs.begin(), inputs.size()), options);
  }
  /// The same, with results in the caller's memory: of the outputs that are named, each with the stream's dtype and
  /// shape. The contents of `outputs` are undefined after an error.
  Result<void> run(std::span<const Input> inputs, std::span<const Output> outputs, const RunOptions& options = {});
  Result<void> run(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs,
                   const RunOptions& options = {}) {
    return run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), options);
  }

  const std::vector<StreamInfo>& inputs() const;
  const std::vector<StreamInfo>& outputs() const;
  const std::vector<VariableInfo>& variables() const;
  const std::string& engine() const;
  const std::string& device() const;

  /// The value of a variable; a dot in the name is a slash: "fc1.weight". Returns an error if replicas hold different
  /// values.
  Result<Array> read(std::string_view variable);
  /// Sets variables: all of them, or none if one does not fit. Values are converted as inputs are.
  Result<void> write(std::string_view variable, const View& value);
  Result<void> write(std::span<const Input> values);

  /// Calls a bound graph of the program on arrays of any shapes. The call changes no variables: `self.training` is
  /// false, and states are only read.
  Result<Value> call(std::string_view net, std::span<const Value> arrays = {}, std::span<const Argument> named = {});

  /// All variables to a file, and back (NAME.safetensors).
  Result<void> save(const std::string& path);
  Result<LoadReport> restore(const std::string& path, const RestoreOptions& options = {});
  /// Copies the variables that both sessions have, by name. An error if there are none, or if one differs in shape or
  /// dtype.
  Result<LoadReport> load_from(Session& other);

  /// The data of session.report() in the language, as JSON: bytes of memory, and for the device "ipu_model" cycles and
  /// memory.
  Result<std::string> report();

  /// Ends the run in progress, or the next one. From any thread.
  void cancel() noexcept { cancel_.request(); }
  const Cancel& cancellation() const noexcept { return cancel_; }

  struct State;
  Session(std::shared_ptr<State> state, Cancel cancel);
  const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
  Cancel cancel_;
};

PXL_END_NAMESPACE
