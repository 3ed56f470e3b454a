// Kernels that update variables: accumulators and the steps of Adam, AdaMax and LAMB. Output 0 is the updated tensor
// and is usually the memory of input t. The other operands are cast to t's dtype, then the arithmetic is t's, each
// operation rounded to it; complements 1-f are taken in float32, of a float64 t in float64.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// A factor: a number, or where slot >= 0 a scalar operand read when the kernel runs.
struct Scalar {
  double value = 1.0;
  int slot = -1;
  DType dtype = DType::float32;  ///< of the operand

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
/// in: t, [f]. f t; f = 0 gives 0 even where t is not finite.
Kernel accumulator_scale_kernel(const TensorSpec& t, Scalar f);
/// in: x, y (one shape), [a], [b]. a x + b y, in x's dtype (y is cast first).
Kernel scaled_add_kernel(const TensorSpec& x, const TensorSpec& y, Scalar a, Scalar b);
/// in: t, x of one spec. x.
Kernel copy_var_update_kernel(const TensorSpec& t);
/// in: t, x, indices. t[.. indices ..] += f x along `axis`; x has the gather shape of (t, indices); duplicates add.
/// A bad index is a run-time Error.
Kernel sparse_accumulate_kernel(const TensorSpec& t, const TensorSpec& x, const TensorSpec& indices, int64_t axis,
                                Scalar f);

struct AdamOptions {
  enum Mode : uint8_t { adam, adamax } mode = adam;
  // Input slots; -1 where not connected. The time step is increased by 1 in place, through in[step].
  int m = 0, v = 1, weight = -1, step = -1;
  DType weight_dtype = DType::float32, step_dtype = DType::float32;
  Scalar weight_decay = Scalar::of(0.0), beta1 = Scalar::of(0.9), beta2 = Scalar::of(0.999), epsilon = Scalar::of(1e-7);
};
/// Adam: mhat / (sqrt(vhat) + epsilon) [+ decay * weight], with mhat = m / (1 - beta1^step), vhat = v / (1 -
/// beta2^step) where a step is connected (else m, v); AdaMax: mhat / (v + epsilon). 1 - beta^step in float32, of a
/// float64 accumulator in float64, cast to the accumulator's dtype; mhat in m's dtype, then cast to v's; the quotient
/// in v's; then cast to `out`, where the decay is added. All in float32, the corrections are multiplied by their
/// reciprocals.
Kernel adam_updater_kernel(const TensorSpec& m, const TensorSpec& v, const TensorSpec& out, const AdamOptions& options);
/// in: t, x, r1, r2 (float32 scalars), [learning_rate], [max_weight_norm]. t - lr * min(sqrt(r1), max) / sqrt(r2) * x;
/// the ratio is 1 where r1 or r2 is 0. max_weight_norm: +inf for none.
Kernel adam_var_update_kernel(const TensorSpec& t, const TensorSpec& x, DType r1, DType r2, Scalar learning_rate,
                              Scalar max_weight_norm);
/// in: x. Sum of squares, a float32 scalar.
Kernel lamb_square_kernel(const TensorSpec& x);

}  // namespace pxl
