// The functions that do the arithmetic: one per function and dtype, over contiguous blocks. A fusion pass runs chains
// of them over blocks that stay in the first-level cache. float32, float64 and float16 are compiled several times, for
// several instruction sets, and chosen once by what the processor has; all variants, and all positions and chunkings of
// a block, give the same bits, since the code uses no fused multiply-adds and no vector-only approximations.
#pragma once

#include "runtime/kernels/elementwise.hpp"

namespace pxl {

/// out[i] = f(x[i]); out may be x. Predicates write bool.
using UnaryBlock = void (*)(const void* x, void* out, int64_t n);
using BinaryFn = void (*)(const void* a, const void* b, void* out, int64_t n);
/// vv: two blocks; vs: a block and one element; sv: one element and a block. out may be a or b (a scalar is read
/// first).
struct BinaryBlock {
  BinaryFn vv = nullptr, vs = nullptr, sv = nullptr;
  explicit operator bool() const { return vv != nullptr; }
};

/// y[i] = f(x[i]), slope[i] = f'(x[i]); either may be x.
using ValueAndDerivativeFn = void (*)(const float* x, float* y, float* derivative, int64_t n);

/// Null where the dtype is not taken.
UnaryBlock unary_block(Unary op, DType dtype);
BinaryBlock binary_block(Binary op, DType dtype);
/// Null for functions without one (value_and_derivative.hpp).
ValueAndDerivativeFn value_and_derivative_block(Unary op);

/// Elements of a block: 1024 float32 are 4 KiB, so that a chain of several fits the first-level cache.
inline constexpr int64_t block_size = 1024;

/// Columns that are worked on side by side: a kilobyte of float32 a row.
inline constexpr int64_t column_block = 256;

/// Rows that a sum over rows adds up in registers.
inline constexpr int64_t column_sum_row_block = 16;

/// Rows of n contiguous elements: `rows` of them one after another, or one. `out` may be an operand.
template <class T>
struct RowFunctions {
  void (*softmax)(const T* x, T* out, int64_t rows, int64_t n);
  void (*log_softmax)(const T* x, T* out, int64_t rows, int64_t n);
  /// y * (g - sum(g * y)), y being the result of the forward function, and g - exp(y) * sum(g).
  void (*softmax_grad)(const T* g, const T* y, T* out, int64_t rows, int64_t n);
  void (*log_softmax_grad)(const T* g, const T* y, T* out, int64_t rows, int64_t n);
  /// out[i] = (x[i] - mean) * inverse * weight[i] + bias[i].
  void (*normalise)(const T* x, T mean, T inverse, const T* weight, const T* bias, T* out, int64_t n);
  /// sums: of g weight, and of g weight (x - mean) inverse.
  void (*normalise_sums)(const T* g, const T* x, const T* weight, double mean, double inverse, int64_t n, double* sums);
  /// out[i] = inverse * (g[i] * weight[i] - average - (x[i] - mean) * inverse * slope).
  void (*normalise_grad)(const T* g, const T* x, const T* weight, T mean, T inverse, T average, T projection, T* out,
                         int64_t n);
  /// dweight[i] += g[i] * (x[i] - mean) * inverse, dbias[i] += g[i].
  void (*normalise_columns)(const T* g, const T* x, double mean, double inverse, double* dweight, double* dbias,
                            int64_t n);
  /// acc[i] = max(acc[i], x[i]), with NaN where either is; the same with min; acc[i] += |x[i]|.
  void (*max_to)(double* acc, const T* x, int64_t n);
  void (*min_to)(double* acc, const T* x, int64_t n);
  void (*absolute_to)(double* acc, const T* x, int64_t n);
  /// acc[i] *= x[i].
  void (*multiply_to)(double* acc, const T* x, int64_t n);
  /// out[i] = the sum of `rows` elements x[i], `stride` apart, in their order, divided by `divisor`. `acc` is room for
  /// n numbers where there are more than column_sum_row_block.
  void (*sum_rows)(const T* x, int64_t rows, int64_t stride, double divisor, double* acc, T* out, int64_t n);

  // One channel of a normalisation: weight and bias are numbers.
  void (*normalise_channel)(const T* x, T mean, T inverse, T weight, T bias, T* out, int64_t n);
  /// sums: of g, and of g (x - mean) inverse.
  void (*channel_sums)(const T* g, const T* x, double mean, double inverse, int64_t n, double* sums);
  void (*normalise_channel_grad)(const T* g, const T* x, T weight, T mean, T inverse, T average, T projection, T* out,
                                 int64_t n);

  // The softmax functions along columns: `width` of them side by side, at most column_block, whose n elements are
  // `stride` apart. A column's bits depend on nothing but the column.
  void (*softmax_columns)(const T* x, T* out, int64_t n, int64_t width, int64_t stride);
  void (*log_softmax_columns)(const T* x, T* out, int64_t n, int64_t width, int64_t stride);
  void (*softmax_grad_columns)(const T* g, const T* y, T* out, int64_t n, int64_t width, int64_t stride);
  void (*log_softmax_grad_columns)(const T* g, const T* y, T* out, int64_t n, int64_t width, int64_t stride);
};

/// Updates in one loop: the rows of fused_update.hpp, where the operands are described.
struct FusedUpdateKernels {
  void (*adam)(float* const* registers, const float* constants, int64_t n);
  void (*adam_decay)(float* const* registers, const float* constants, int64_t n);
  void (*momentum)(float* const* registers, const float* constants, int64_t n);
};

/// Bulk conversions and reductions over contiguous elements, in the best variant for this machine. Sums and
/// products accumulate in float64, in a fixed number of lanes; an empty max is -inf, an empty min +inf, both propagate
/// NaN.
struct BulkFunctions {
  void (*half_to_float)(const uint16_t* in, float* out, int64_t n);
  void (*float_to_half)(const float* in, uint16_t* out, int64_t n);
  double (*sum32)(const float* x, int64_t n);
  double (*sum64)(const double* x, int64_t n);
  double (*dot32)(const float* x, const float* y, int64_t n);
  double (*dot64)(const double* x, const double* y, int64_t n);
  double (*product32)(const float* x, int64_t n);
  double (*product64)(const double* x, int64_t n);
  double (*abs32)(const float* x, int64_t n);
  double (*abs64)(const double* x, int64_t n);
  float (*max32)(const float* x, int64_t n);
  double (*max64)(const double* x, int64_t n);
  float (*min32)(const float* x, int64_t n);
  double (*min64)(const double* x, int64_t n);
  /// acc[i] += x[i]
  void (*add_to32)(double* acc, const float* x, int64_t n);
  void (*add_to64)(double* acc, const double* x, int64_t n);
  /// acc[i] += x[i] * y[i]
  void (*add_product_to32)(double* acc, const float* x, const float* y, int64_t n);
  void (*add_product_to64)(double* acc, const double* x, const double* y, int64_t n);
  /// Sum of (x[i] - mean)^2.
  double (*deviation32)(const float* x, double mean, int64_t n);
  double (*deviation64)(const double* x, double mean, int64_t n);
  // Updates in one pass; out may be any operand.
  /// out[i] = beta * old[i] + alpha * x[i], three roundings.
  void (*blend32)(const float* old, float beta, const float* x, float alpha, float* out, int64_t n);
  /// out[i] = beta * old[i] + alpha * (x[i] * x[i]), four roundings.
  void (*blend_square32)(const float* old, float beta, const float* x, float alpha, float* out, int64_t n);
  /// out[i] = (m[i] * scale_m) / (sqrt(v[i] * scale_v) + epsilon).
  void (*adam32)(const float* m, float scale_m, const float* v, float scale_v, float epsilon, float* out, int64_t n);
  /// The same, + w[i] * decay.
  void (*adam_decay32)(const float* m, float scale_m, const float* v, float scale_v, float epsilon, const float* w,
                       float decay, float* out, int64_t n);
  FusedUpdateKernels updates;
  RowFunctions<float> rows32;
  RowFunctions<double> rows64;
};
const BulkFunctions& bulk();

/// The functions on rows of float or double.
template <class T>
const RowFunctions<T>& row_functions();
template <>
inline const RowFunctions<float>& row_functions<float>() {
  return bulk().rows32;
}
template <>
inline const RowFunctions<double>& row_functions<double>() {
  return bulk().rows64;
}

/// "baseline", "avx2" or "avx512": the variant in use. The environment variable PXL_ISA may ask for a lower one.
std::string_view instruction_set();

}  // namespace pxl
