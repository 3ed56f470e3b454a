// Calls of ops on arrays as lists of kernels. The parts that follow from specs and attributes (inference, constants,
// the choice of kernels) are recorded once; a run allocates the results and runs the kernels.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "runtime/op/op.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

class EagerProgram {
 public:
  /// Computes the recorded ops on `inputs`, arrays of the recorded specs, in their order. `results` is overwritten with
  /// the results of all ops: memory that the caller reuses. Throws the exceptions of kernels, and Interrupted.
  void run(std::span<const Array* const> inputs, std::vector<Array>& results) const;

  size_t outputs() const { return outputs_.size(); }
  /// Output `i` of the run; to be called once for each.
  Array take_output(size_t i, std::span<const Array* const> inputs, std::vector<Array>& results) const;

 private:
  friend class EagerRecorder;
  enum class Source : uint8_t { absent, input, result, constant };
  struct Operand {
    Source source = Source::absent;
    uint32_t index = 0;            ///< of the input, the result or the constant
    DType dtype = DType::float32;  ///< that the kernel gets
    bool moved = false;            ///< of an output: no later output is the same result
  };
  struct Step {
    std::vector<Operand> operands;  ///< by slot
    std::vector<TensorSpec> results;
    Kernel kernel;
    int64_t charge_ns = 0;  ///< besides what running the kernel charges
    bool view = false;      ///< the result is the operand under another shape
  };

  const Array& array_of(const Operand& operand, std::span<const Array* const> inputs,
                        const std::vector<Array>& results) const;
  void run(const Step& step, std::span<const Array* const> inputs, std::vector<Array>& results) const;

  std::vector<Step> steps_;
  std::vector<Array> constants_;
  std::vector<Operand> outputs_;
};

/// Records the ops that an EagerOpBuilder computes.
class EagerRecorder {
 public:
  /// `inputs` must outlive the recorder. If two of them share memory, the program's inputs must share memory as well.
  explicit EagerRecorder(std::span<const Array* const> inputs) : inputs_(inputs) {}
  /// False for inputs so large that a program would save nothing. Recording keeps all arrays of a call.
  static bool are_recordable(std::span<const Array* const> inputs);

  /// An op that was computed: its operands by slot as given (empty optionals are absent), as the kernel got them, and
  /// its results.
  void add(const OpContext& site, const Kernel& kernel, std::span<const std::optional<Array>> given,
           std::span<const Array> converted, std::span<const Array> results);
  /// No program is recorded: the results do not follow from specs and attributes alone.
  void refuse() { refused_ = true; }
  /// The program that computes `outputs`; nullopt after `refuse`, for ops with effects, in-place ops and collectives.
  /// Also nullopt for large arrays, unless all kernels write their results element by element or are views.
  std::optional<EagerProgram> finish(std::span<const Array> outputs);

 private:
  EagerProgram::Operand operand_of(const Array& array);
  /// `kept`: the program keeps the array, or something of its size.
  void count(const Array& array, bool kept);

  std::span<const Array* const> inputs_;
  std::vector<Array> results_;  ///< of all ops so far: kept, so that no memory is taken twice
  EagerProgram program_;
  int64_t elements_ = 0;
  bool refused_ = false;
};

}  // namespace pxl
