// A fused kernel as a program on registers. Its steps are kernels, each with its own rounding. The steps run one after
// the other on a block of elements that stays in L1: over all elements, or on each part of a GEMM's result. Steps that
// are a compiled update (kernels/update/update_table.inc) run as one loop. The bits are those of the kernels one by
// one.
#pragma once

#include <memory>
#include <vector>

#include "runtime/kernels/gemm/product.hpp"
#include "runtime/kernels/update/fused_update.hpp"

namespace pxl {

/// Maximum number of operands, and of results, of one step.
inline constexpr size_t max_step_slots = 12;

class RegisterProgram {
 public:
  /// An operand or a result of the fused kernel, as a whole tensor; or a block of workspace. A block holds elements
  /// [begin, end) of a result that only steps use.
  struct Register {
    enum class Kind : uint8_t { none, operand, result, block } kind = Kind::block;
    int index = 0;          ///< of the fused kernel's operands or results
    int64_t width = 0;      ///< bytes per element
    bool streamed = false;  ///< the blocks traverse it from beginning to end: the next block is prefetched
  };
  struct Step {
    Kernel kernel;
    std::vector<int> in, out;  ///< registers; -1 for an operand that is not connected
  };

  RegisterProgram() = default;
  RegisterProgram(const RegisterProgram&) = delete;
  RegisterProgram& operator=(const RegisterProgram&) = delete;

  int64_t elements = 0;
  int64_t block = epilogue_block;  ///< elements that steps compute at a time; at most epilogue_block
  /// The first step is a GEMM, or gives its result in parts. The program does not run it, and begins with its values.
  bool after_product = false;
  std::vector<Register> registers;
  std::vector<Step> steps;

  /// Places the workspace and finds compiled updates; once, when all steps are there.
  void finish();
  const WorkspaceSize& workspace() const { return workspace_; }
  size_t first_step() const { return after_product ? 1 : 0; }
  const Register& at(int reg) const { return registers[static_cast<size_t>(reg)]; }

  /// Runs the last phase of each step on elements [begin, end). `values` is the product's result for these elements, at
  /// most epilogue_block; null without a product.
  void run(const Buffers& b, int64_t begin, int64_t end, std::byte* values) const;

  /// Calls f(run). run(begin, end) runs the steps after the first on these elements of its whole result at `values`.
  using RunElements = std::function<void(int64_t begin, int64_t end)>;
  void run_parts(const Buffers& b, std::byte* values, const std::function<void(const RunElements& run)>& f) const;

  /// The phases of the steps, except the last of each, as phases of the fused kernel. The program outlives them.
  static std::vector<Phase> earlier_phases(const std::shared_ptr<const RegisterProgram>& program);

  /// The compiled update, if it is all that follows the product and its states are operands; else a row of -1.
  static UpdateEpilogue compiled_epilogue(const std::shared_ptr<const RegisterProgram>& program);

 private:
  using Part = std::function<void(const Buffers&, int64_t, int64_t)>;
  /// A step as it runs: pointers to its operands and results are consecutive slots.
  struct Instruction {
    const Part* part = nullptr;  ///< of the last phase
    size_t in = 0, out = 0;      ///< first slots
    WorkspaceSize preceding;
    const UpdateOp* op = nullptr;  ///< what runs instead of the part if its constants can be read; may be null
    size_t operands = 0;           ///< of the op: first slot
  };
  /// Consecutive steps that run as one loop, whose registers are consecutive slots.
  struct Compiled {
    size_t first = 0;
    FusedUpdateMatch match;
    size_t slots = 0;
  };
  /// Working memory of one call: pointers, and by step the constants of the ops and whether these can run.
  struct State {
    std::byte** slots;
    float* constants;
    bool* runs_op;
  };

  void place_workspace(int blocks);
  void find_compiled();
  size_t add_slots(const std::vector<int>& of_registers);
  const UpdateOp* op_of(const Step& step) const;
  /// Pointers to whole tensors, null for blocks.
  std::byte** locate(const Buffers& b) const;
  Buffers buffers_of(size_t step, const Buffers& b, std::byte** slots) const {
    const Instruction& i = instructions_[step];
    return b.with(slots + i.in, slots + i.out).after(i.preceding);
  }
  State prepare(const Buffers& b) const;
  void run_block(const Buffers& b, const State& state, int64_t begin, int64_t end, std::byte* values) const;
  bool run_compiled(const Compiled& compiled, const State& state, int64_t begin, int64_t end) const;

  std::vector<Register> slots_;  ///< what each slot points to
  std::vector<size_t> block_slots_;
  std::vector<Instruction> instructions_;
  std::vector<Compiled> compiled_;  ///< in order
  std::vector<Register> streams_;   ///< the streamed operands
  int product_block_ = -1;          ///< index of the block that is the product's result
  int64_t widest_ = 1;              ///< bytes per element, maximum over blocks
  PerThread<std::byte> blocks_;
  PerThread<std::byte*> pointers_;
  PerThread<float> constants_;
  PerThread<bool> runs_op_;
  WorkspaceSize workspace_;
};

}  // namespace pxl
