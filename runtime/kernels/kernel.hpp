// What a kernel is: a function over raw, contiguous, row-major buffers, resolved once for given specs and
// attributes and run any number of times. Kernels know tensors, never graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pxl {

/// The buffers of one run. `in[i]` is null where an optional operand is not connected.
/// An output may be the same memory as an input of the same spec only where the op's row says so.
struct Buffers {
  const std::byte* const* in;
  std::byte* const* out;

  template <class T>
  const T* input(size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }
  template <class T>
  T* output(size_t i) const {
    return reinterpret_cast<T*>(out[i]);
  }
};

/// Work that may be divided: units [begin, end) of `units` can run at the same time as any others, in pieces that begin
/// at multiples of `grain`. However it is divided, the bits of the results are the same.
struct Phase {
  int64_t iterations = 1;
  int64_t grain = 1;
  std::function<void(const Buffers&, int64_t begin, int64_t end)> part;
};

struct UpdateOp;  // fused_update.hpp

/// Never allocates in proportion to its operands at run time unless its family says so; never throws except
/// Error for bad data (an index out of range). Deterministic: the same bits for the same inputs.
class Kernel {
 public:
  Kernel() = default;
  /// One that runs as a whole.
  template <class F>
  requires std::invocable<const F&, const Buffers&> Kernel(F f) : whole_(std::move(f)) {}
  /// Phases run one after the other; each may be divided among threads. `work` estimates the whole in nanoseconds of
  /// one core: too little of it is not worth dividing. Phases must not throw; one of a single unit may, since it runs
  /// on the calling thread.
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

  /// One whose units are the elements of its outputs, all of one size: a part reads and writes nothing but its own
  /// elements of operands of that size (broadcast operands it may read anywhere). Such kernels may run one after the
  /// other on a block that stays in the first-level cache. `before` runs first.
  static Kernel elementwise(int64_t n, double cost_ns, std::function<void(const Buffers&, int64_t, int64_t)> part,
                            std::vector<Phase> before = {}) {
    before.push_back(Phase{n, 64, std::move(part)});
    Kernel k = parallel(std::move(before), cost_ns);
    k.elements_ = Elements::taken;
    return k;
  }
  /// One that makes its outputs element by element from operands that it reads as it likes.
  static Kernel element_producer(int64_t n, int64_t grain, double cost_ns,
                                 std::function<void(const Buffers&, int64_t, int64_t)> part) {
    Kernel k = parallel(n, grain, cost_ns, std::move(part));
    k.elements_ = Elements::given;
    return k;
  }

  /// Says of a kernel elementwise that it is in[0] + alpha * in[1] in float32, so that a product may do it in
  /// registers.
  Kernel& mark_axpy(float alpha) {
    alpha_ = alpha;
    return *this;
  }
  std::optional<float> axpy_alpha() const { return alpha_; }
  /// Says of a kernel elementwise what it computes, so that it may be a part of a longer loop.
  Kernel& set_update_op(UpdateOp step);
  const UpdateOp* update_op() const { return update_op_.get(); }

  explicit operator bool() const { return whole_ || !phases_.empty(); }
  void operator()(const Buffers& b) const {
    if (whole_) {
      whole_(b);
      return;
    }
    for (const Phase& p : phases_) p.part(b, 0, p.iterations);
  }

  const std::vector<Phase>& phases() const { return phases_; }
  double cost_ns() const { return cost_ns_; }
  /// The last phase's units are elements of the outputs (see elementwise and element_producer).
  bool is_fusion_producer() const { return elements_ != Elements::no; }
  bool is_fusion_consumer() const { return elements_ == Elements::taken; }

 private:
  enum class Elements : uint8_t { no, given, taken };
  std::function<void(const Buffers&)> whole_;
  std::vector<Phase> phases_;
  double cost_ns_ = 0;
  Elements elements_ = Elements::no;
  std::optional<float> alpha_;
  std::shared_ptr<const UpdateOp> update_op_;
};

}  // namespace pxl
