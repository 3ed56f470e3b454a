// Kernels: functions over contiguous row-major buffers. A kernel is made once for given specs and attributes, and runs
// any number of times. It is one function, or phases that are parallel-for loops. Kernels know tensors, never graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/kernels/workspace.hpp"

namespace pxl {

/// Operands, results and workspace of one run. `in[i]` is null if an optional operand is not connected. An output may
/// share memory with an input that has the same spec only if the op's row allows it.
struct Buffers {
  const std::byte* const* in;
  std::byte* const* out;
  std::byte* call_workspace = nullptr;    ///< at least Kernel::workspace().per_call bytes
  std::byte* thread_workspace = nullptr;  ///< at least Kernel::workspace().per_thread bytes, of the calling thread

  template <class T>
  const T* input(size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }
  template <class T>
  T* output(size_t i) const {
    return reinterpret_cast<T*>(out[i]);
  }
  template <class T>
  T* workspace(PerCall<T> array) const {
    return reinterpret_cast<T*>(call_workspace + array.offset);
  }
  template <class T>
  T* workspace(PerThread<T> array) const {
    return reinterpret_cast<T*>(thread_workspace + array.offset);
  }

  /// The same workspace with other operands and results.
  Buffers with(const std::byte* const* inputs, std::byte* const* outputs) const {
    return {inputs, outputs, call_workspace, thread_workspace};
  }
  /// The same buffers, without the first `size` bytes of the workspace.
  Buffers after(const WorkspaceSize& size) const {
    return {in, out, call_workspace + size.per_call, thread_workspace + size.per_thread};
  }
  /// The same buffers with the workspace at `memory`, which has `size`.
  Buffers with_workspace(std::byte* memory, const WorkspaceSize& size) const {
    return {in, out, memory, memory + size.per_call};
  }
  /// The buffers of another thread in the same run. `size` is the kernel's workspace; the present buffers belong to
  /// thread 0.
  Buffers for_thread(int thread, const WorkspaceSize& size) const {
    return {in, out, call_workspace, thread_workspace + static_cast<size_t>(thread) * size.per_thread};
  }
};

/// A parallel-for over [0, iterations). Chunks [begin, end) begin at multiples of `grain` and may run concurrently.
/// Results have the same bits for every partition into chunks.
struct Phase {
  int64_t iterations = 1;
  int64_t grain = 1;
  std::function<void(const Buffers&, int64_t begin, int64_t end)> part;
};

/// The part of a kernel's result that iterations of its last phase complete, for members that read it from the cache.
struct ResultParts {
  /// f(first plane, planes, begin, end): elements [begin, end) of each of these planes are complete.
  using Take = std::function<void(int64_t first, int64_t planes, int64_t begin, int64_t end)>;
  int64_t plane = 1;     ///< elements of a plane of the result
  int64_t together = 1;  ///< iterations that share work: they run at once
  /// Calls f for iteration i. Empty: nothing is complete before the last phase has ended.
  std::function<void(int64_t i, const Take& f)> of;
};

struct UpdateOp;         // fused_update.hpp
struct NarrowSource;     // narrow.hpp
struct SumFinish;        // finish.hpp
struct PreparedOperand;  // prepared.hpp

/// A kernel's run allocates nothing in proportion to its operands, unless its header says so. It throws nothing but
/// Error for bad data (an index out of range). Deterministic: the same inputs give the same bits.
class Kernel {
 public:
  Kernel() = default;
  /// A kernel that runs on one thread.
  template <class F>
  requires std::invocable<const F&, const Buffers&> Kernel(F f) : whole_(std::move(f)) {}
  /// Phases run one after another. `cost_ns` estimates their total single-core time, in ns; below min_parallel_ns the
  /// kernel runs on one thread. Phases of one iteration run on the calling thread and may throw Error; other phases
  /// must not throw.
  static Kernel parallel(std::vector<Phase> phases, double cost_ns) {
    Kernel k;
    k.phases_ = std::move(phases);
    k.cost_ns_ = cost_ns;
    return k;
  }
  static Kernel parallel(int64_t iterations, int64_t grain, double cost_ns,
                         std::function<void(const Buffers&, int64_t, int64_t)> part) {
    return parallel({Phase{iterations, grain, std::move(part)}}, cost_ns);
  }

  /// A kernel whose iterations are the n elements in each of its outputs. A chunk accesses n-element operands only
  /// within its own range; it may read other (broadcast) operands anywhere. Fusion runs such kernels one after another
  /// on a block that stays in L1. `before` are phases that run first.
  static Kernel elementwise(int64_t n, double cost_ns, std::function<void(const Buffers&, int64_t, int64_t)> part,
                            std::vector<Phase> before = {}) {
    before.push_back(Phase{n, 64, std::move(part)});
    Kernel k = parallel(std::move(before), cost_ns);
    k.elements_ = Elements::consumed;
    return k;
  }
  /// A kernel that writes its outputs in element order and may read any element of its operands.
  static Kernel element_producer(int64_t n, int64_t grain, double cost_ns,
                                 std::function<void(const Buffers&, int64_t, int64_t)> part) {
    Kernel k = parallel(n, grain, cost_ns, std::move(part));
    k.elements_ = Elements::produced;
    return k;
  }

  /// Marks an elementwise kernel as in[0] + alpha * in[1] in float32, which a GEMM can compute in registers.
  Kernel& mark_axpy(float alpha) {
    alpha_ = alpha;
    return *this;
  }
  std::optional<float> axpy_alpha() const { return alpha_; }
  /// States what an elementwise kernel computes, so that it can become part of a fused update.
  Kernel& set_update_op(UpdateOp op);
  const UpdateOp* update_op() const { return update_op_.get(); }
  /// States that an elementwise kernel only widens weights, or multiplies them by scales.
  Kernel& set_narrow_source(const NarrowSource& source);
  const NarrowSource* narrow_source() const { return narrow_source_.get(); }

  /// States in which parts the only result becomes complete.
  Kernel with_result_parts(ResultParts parts) && {
    result_parts_ = std::make_shared<const ResultParts>(std::move(parts));
    return std::move(*this);
  }
  const ResultParts* result_parts() const { return result_parts_.get(); }

  /// States how the same kernel is made with another finish of its only result, in float32.
  using Finished = std::function<Kernel(const SumFinish&)>;
  Kernel with_finishes(Finished make) && {
    finished_ = std::make_shared<const Finished>(std::move(make));
    return std::move(*this);
  }
  const Finished* finished() const { return finished_.get(); }

  /// States that the kernel first brings an operand into another form.
  Kernel with_prepared(PreparedOperand p) &&;
  const PreparedOperand* prepared() const { return prepared_.get(); }

  /// Declares the workspace of a run. A kernel may run another kernel on its own buffers; its layout then begins after
  /// the other's.
  Kernel with_workspace(const WorkspaceLayout& layout) && {
    workspace_ = layout.size();
    return std::move(*this);
  }
  const WorkspaceSize& workspace() const { return workspace_; }

  explicit operator bool() const { return whole_ || !phases_.empty(); }
  /// Runs on the calling thread. Allocates the workspace if `b` has none.
  void operator()(const Buffers& b) const {
    if (workspace_.empty() || b.call_workspace || b.thread_workspace) return run(b);
    const WorkspaceMemory memory(workspace_.bytes(1));
    run(b.with_workspace(memory.data(), workspace_));
  }

  const std::vector<Phase>& phases() const { return phases_; }
  double cost_ns() const { return cost_ns_; }
  /// Whether the last phase's iterations are elements of the outputs (elementwise and element_producer).
  bool is_fusion_producer() const { return elements_ != Elements::none; }
  bool is_fusion_consumer() const { return elements_ == Elements::consumed; }

 private:
  void run(const Buffers& b) const {
    if (whole_) {
      whole_(b);
      return;
    }
    for (const Phase& p : phases_) p.part(b, 0, p.iterations);
  }

  enum class Elements : uint8_t { none, produced, consumed };
  std::function<void(const Buffers&)> whole_;
  std::vector<Phase> phases_;
  double cost_ns_ = 0;
  Elements elements_ = Elements::none;
  std::optional<float> alpha_;
  std::shared_ptr<const UpdateOp> update_op_;
  std::shared_ptr<const NarrowSource> narrow_source_;
  std::shared_ptr<const ResultParts> result_parts_;
  std::shared_ptr<const Finished> finished_;
  std::shared_ptr<const PreparedOperand> prepared_;
  WorkspaceSize workspace_;
};

}  // namespace pxl
