// Kernels that update variables: accumulators and the steps of Adam, AdaMax and LAMB. Output 0 is the updated tensor
// and is usually the memory of input t. The other operands are cast to t's dtype. The arithmetic is in that dtype, and
// each operation is rounded. Complements 1-f are computed in float32, or in float64 if t is float64.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// A factor: a number, or if slot >= 0 a scalar operand that is read when the kernel runs.
struct Scalar {
  double value = 1.0;
  int slot = -1;
  DType dtype = DType::float32;  ///< the operand's dtype

  static Scalar of(double v) { return {v}; }
  static Scalar in(int slot, DType dtype) { return {0, slot, dtype}; }
  double read(const Buffers& buffers) const;
};

enum class Accumulate : uint8_t {
  add_scaled,             ///< t + f x
  add_square,             ///< t + f x^2
  mean,                   ///< t s/(s+1) + x/(s+1), s = f: the running mean; s = 0 stores x
  moving_average,         ///< f t + (1-f) x
  moving_average_square,  ///< f t + (1-f) x^2
};
/// in: t, x (same shape or broadcastable to it; any floating dtype), [f].
Kernel accumulate_kernel(Accumulate op, const TensorSpec& t, const TensorSpec& x, Scalar f);
/// in: t, [f]. out: f t; f = 0 gives 0 even if t is not finite.
Kernel accumulator_scale_kernel(const TensorSpec& t, Scalar f);
/// in: x, y (one shape), [a], [b]. out: a x + b y, in x's dtype (y is cast first).
Kernel scaled_add_kernel(const TensorSpec& x, const TensorSpec& y, Scalar a, Scalar b);
/// in: t, x (one spec). out: x.
Kernel copy_var_update_kernel(const TensorSpec& t);
/// in: t, x, indices. out: t[.. indices ..] += f x along `axis`. x has the gather shape of (t, indices); duplicates
/// add. A bad index is a run-time Error.
Kernel sparse_accumulate_kernel(const TensorSpec& t, const TensorSpec& x, const TensorSpec& indices, int64_t axis,
                                Scalar f);

struct AdamOptions {
  enum Mode : uint8_t { adam, adamax } mode = adam;
  // Input slots; -1 if not connected. The time step is increased by 1 in place, through in[step].
  int m = 0, v = 1, weight = -1, step = -1;
  DType weight_dtype = DType::float32, step_dtype = DType::float32;
  Scalar weight_decay = Scalar::of(0.0), beta1 = Scalar::of(0.9), beta2 = Scalar::of(0.999), epsilon = Scalar::of(1e-7);
};
/// Adam: mhat / (sqrt(vhat) + epsilon) [+ decay * weight]. If a step is connected, mhat = m / (1 - beta1^step) and vhat
/// = v / (1 - beta2^step), else mhat = m and vhat = v. AdaMax: mhat / (v + epsilon). 1 - beta^step is computed in
/// float32, or in float64 for a float64 accumulator, and cast to the accumulator's dtype. mhat is in m's dtype, then
/// cast to v's. The quotient is in v's dtype, then cast to `out`, where the decay is added. If all are float32, the
/// corrections are multiplied by their reciprocals.
Kernel adam_updater_kernel(const TensorSpec& m, const TensorSpec& v, const TensorSpec& out, const AdamOptions& options);
/// in: t, x, r1, r2 (float32 scalars), [learning_rate], [max_weight_norm]. out: t - lr * min(sqrt(r1), max) / sqrt(r2)
/// * x; the ratio is 1 if r1 or r2 is 0. max_weight_norm: +inf for none.
Kernel adam_var_update_kernel(const TensorSpec& t, const TensorSpec& x, DType r1, DType r2, Scalar learning_rate,
                              Scalar max_weight_norm);
/// in: x. out: the sum of squares, a float32 scalar.
Kernel lamb_square_kernel(const TensorSpec& x);

}  // namespace pxl
