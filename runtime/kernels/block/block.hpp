// Block functions: the arithmetic of kernels, one function per op and dtype, over contiguous blocks. Fused kernels run
// several of them on a block that stays in L1. Floating dtypes are compiled per instruction set and selected at
// start-up. All variants, and all chunkings of a block, produce the same bits: there are no fused multiply-adds and no
// vector-only approximations.
#pragma once

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/update/fused_update.hpp"

namespace pxl {

/// out[i] = f(x[i]); out may alias x. Predicates write bool.
using UnaryBlock = void (*)(const void* x, void* out, int64_t n);
using BinaryFn = void (*)(const void* a, const void* b, void* out, int64_t n);
/// out[i] = f(x[i]) with constants; out may alias x.
using ParametricBlock = void (*)(const void* x, double p, double q, void* out, int64_t n);
/// vv: two blocks; vs: a block and a scalar; sv: a scalar and a block. out may alias a or b (scalars are read first).
struct BinaryBlock {
  BinaryFn vv = nullptr, vs = nullptr, sv = nullptr;
  explicit operator bool() const { return vv != nullptr; }
};

/// y[i] = f(x[i]), derivative[i] = f'(x[i]); either may alias x.
using ValueAndDerivativeFn = void (*)(const float* x, float* y, float* derivative, int64_t n);

/// Null for unsupported dtypes.
UnaryBlock unary_block(Unary op, DType dtype);
BinaryBlock binary_block(Binary op, DType dtype);
ParametricBlock parametric_block(Parametric op, DType dtype);
/// Null for functions without one (value_and_derivative.hpp).
ValueAndDerivativeFn value_and_derivative_block(Unary op);

/// Elements of a block: 4 KiB of float32, so that the operands of several functions fit L1.
inline constexpr int64_t block_size = 1024;

/// Adjacent columns that are processed together: 1 KiB of float32 per row.
inline constexpr int64_t column_block = 256;

/// Rows that a column sum accumulates in registers.
inline constexpr int64_t column_sum_row_block = 16;

template <class T>
using ColumnTotals = void (*)(const T* x, int64_t rows, int64_t stride, double divisor, double* acc, T* out, int64_t n);

/// Functions on rows of n contiguous elements: on `rows` contiguous rows, or on one. `out` may alias an operand.
template <class T>
struct RowFunctions {
  void (*softmax)(const T* x, T* out, int64_t rows, int64_t n);
  void (*log_softmax)(const T* x, T* out, int64_t rows, int64_t n);
  /// y * (g - sum(g * y)), where y is the result of the forward function, and g - exp(y) * sum(g).
  void (*softmax_grad)(const T* g, const T* y, T* out, int64_t rows, int64_t n);
  void (*log_softmax_grad)(const T* g, const T* y, T* out, int64_t rows, int64_t n);
  /// out[i] = (x[i] - mean - rest) * inverse * weight[i] + bias[i]. The mean is in two numbers, since one number is
  /// rounded.
  void (*normalise)(const T* x, T mean, T rest, T inverse, const T* weight, const T* bias, T* out, int64_t n);
  /// sums: three sums over the row, of g weight, g weight (x - mean) inverse, and (x - mean) inverse.
  void (*normalise_sums)(const T* g, const T* x, const T* weight, double mean, double inverse, int64_t n, double* sums);
  /// out[i] = inverse * (g[i] * weight[i] - average - (x[i] - mean) * inverse * projection).
  void (*normalise_grad)(const T* g, const T* x, const T* weight, T mean, T inverse, T average, T projection, T* out,
                         int64_t n);
  /// dweight[i] += g[i] * ((x[i] - mean) * inverse - shift), dbias[i] += g[i].
  void (*normalise_columns)(const T* g, const T* x, double mean, double inverse, double shift, double* dweight,
                            double* dbias, int64_t n);
  /// out[i] = x[i] limited to [low, high]; NaN if any of the three is NaN.
  void (*clip)(const T* x, T low, T high, T* out, int64_t n);
  /// out[i] = g[i] times `inside` if low <= x[i] <= high, else times `outside`.
  void (*gate)(const T* g, const T* x, T low, T high, T inside, T outside, T* out, int64_t n);
  /// acc[i] = max(acc[i], x[i]), and likewise min: both propagate NaN. absolute_to: acc[i] += |x[i]|.
  void (*max_to)(double* acc, const T* x, int64_t n);
  void (*min_to)(double* acc, const T* x, int64_t n);
  void (*absolute_to)(double* acc, const T* x, int64_t n);
  /// acc[i] *= x[i].
  void (*multiply_to)(double* acc, const T* x, int64_t n);
  /// totals[r] = the total of n elements from x + r * stride, in float64, in the order of sum32.
  void (*each_sum)(const T* x, int64_t rows, int64_t stride, int64_t n, double* totals);
  void (*each_square_sum)(const T* x, int64_t rows, int64_t stride, int64_t n, double* totals);
  void (*each_absolute_sum)(const T* x, int64_t rows, int64_t stride, int64_t n, double* totals);
  void (*each_product)(const T* x, int64_t rows, int64_t stride, int64_t n, double* totals);
  void (*each_max)(const T* x, int64_t rows, int64_t stride, int64_t n, double* totals);
  void (*each_min)(const T* x, int64_t rows, int64_t stride, int64_t n, double* totals);
  /// out[i] = sum over r < rows of x[i + r * stride], in order, divided by `divisor`. `acc` holds n elements if rows >
  /// column_sum_row_block. The other functions add squares, add magnitudes, and multiply.
  ColumnTotals<T> sum_rows, sum_square_rows, sum_absolute_rows, multiply_rows;
  /// out[i] = the maximum or the minimum over r < rows of x[i + r * stride], rows > 0. Both propagate NaN.
  void (*max_rows)(const T* x, int64_t rows, int64_t stride, T* out, int64_t n);
  void (*min_rows)(const T* x, int64_t rows, int64_t stride, T* out, int64_t n);

  // One channel of a normalisation: weight and bias are scalars.
  void (*normalise_channel)(const T* x, T mean, T inverse, T weight, T bias, T* out, int64_t n);
  /// sums: three sums over the channel, of g, g (x - mean) inverse, and (x - mean) inverse.
  void (*channel_sums)(const T* g, const T* x, double mean, double inverse, int64_t n, double* sums);
  void (*normalise_channel_grad)(const T* g, const T* x, T weight, T mean, T inverse, T average, T projection, T* out,
                                 int64_t n);

  // Softmax along columns: `width` adjacent columns, at most column_block, with n elements at this stride. The bits of
  // a column depend on that column only.
  void (*softmax_columns)(const T* x, T* out, int64_t n, int64_t width, int64_t stride);
  void (*log_softmax_columns)(const T* x, T* out, int64_t n, int64_t width, int64_t stride);
  /// out[w] = ln(sum of e^x) of column w.
  void (*log_sum_exp_columns)(const T* x, T* out, int64_t n, int64_t width, int64_t stride);
  void (*softmax_grad_columns)(const T* g, const T* y, T* out, int64_t n, int64_t width, int64_t stride);
  void (*log_softmax_grad_columns)(const T* g, const T* y, T* out, int64_t n, int64_t width, int64_t stride);
};

/// The rows of update_table.inc, for n elements.
struct UpdateFunctions {
  /// out[i] = the step's formula applied to element i of each operand; out may alias any operand. Reads max_constants
  /// constants.
  void (*steps[update_step_kinds])(const float* const* operands, const float* constants, float* out, int64_t n);
  /// `registers` point at the first elements; a register that is not in memory is null. Each step has max_constants
  /// constants.
  void (*compiled[CompiledUpdates::count])(float* const* registers, const float* constants, int64_t n);
};

/// Conversions of one 16-bit float dtype. Each conversion rounds once, to nearest even. A NaN keeps its sign and
/// nothing else.
struct NarrowFunctions {
  void (*widen)(const uint16_t* in, float* out, int64_t n);
  void (*round)(const float* in, uint16_t* out, int64_t n);
  void (*round_double)(const double* in, uint16_t* out, int64_t n);
};

/// Conversions and reductions over contiguous elements. Sums and products accumulate in float64 in a fixed number of
/// lanes. Max and min propagate NaN; without elements they are -inf and +inf.
struct BulkFunctions {
  NarrowFunctions float16, bfloat16;
  void (*int8_to_float)(const int8_t* in, float* out, int64_t n);
  void (*uint8_to_float)(const uint8_t* in, float* out, int64_t n);
  void (*float_to_int32)(const float* in, int32_t* out, int64_t n);  ///< towards 0, saturating; NaN gives 0
  void (*float_to_int64)(const float* in, int64_t* out, int64_t n);
  void (*float_to_int8)(const float* in, int8_t* out, int64_t n);
  void (*float_to_int16)(const float* in, int16_t* out, int64_t n);
  void (*float_to_uint8)(const float* in, uint8_t* out, int64_t n);
  void (*float_to_uint16)(const float* in, uint16_t* out, int64_t n);
  void (*double_to_int32)(const double* in, int32_t* out, int64_t n);
  void (*double_to_int64)(const double* in, int64_t* out, int64_t n);
  void (*float8_143_to_float)(const uint8_t* in, float* out, int64_t n);  ///< tensor/float8.hpp
  void (*float8_152_to_float)(const uint8_t* in, float* out, int64_t n);
  double (*sum32)(const float* x, int64_t n);
  double (*sum64)(const double* x, int64_t n);
  double (*dot32)(const float* x, const float* y, int64_t n);
  double (*dot64)(const double* x, const double* y, int64_t n);
  float (*max32)(const float* x, int64_t n);
  double (*max64)(const double* x, int64_t n);
  float (*min32)(const float* x, int64_t n);
  double (*min64)(const double* x, int64_t n);
  /// The first position of this value, or of a NaN if the value is NaN; n if there is none.
  int64_t (*find32)(const float* x, int64_t n, float value);
  int64_t (*find64)(const double* x, int64_t n, double value);
  /// acc[i] += x[i]
  void (*add_to32)(double* acc, const float* x, int64_t n);
  void (*add_to64)(double* acc, const double* x, int64_t n);
  /// acc[i] += x[i] * y[i]
  void (*add_product_to32)(double* acc, const float* x, const float* y, int64_t n);
  void (*add_product_to64)(double* acc, const double* x, const double* y, int64_t n);
  /// acc[i] += (x[i] - mean[i])^2
  void (*add_deviation_to32)(double* acc, const float* x, const double* mean, int64_t n);
  void (*add_deviation_to64)(double* acc, const double* x, const double* mean, int64_t n);
  /// Sum of (x[i] - mean)^2.
  double (*deviation32)(const float* x, double mean, int64_t n);
  double (*deviation64)(const double* x, double mean, int64_t n);
  /// words[w][i] = word w of philox4x32 (tensor/random.hpp) for the counter {first + i in two words, tag, 0}, i < n.
  void (*philox)(const uint32_t* key, uint32_t tag, uint64_t first, uint32_t* const* words, int64_t n);
  /// out[i] = offset + scale * u, where u in [0, 1) has the upper 27 bits of high[i] and the upper 26 bits of low[i].
  void (*unit_numbers)(const uint32_t* high, const uint32_t* low, double offset, double scale, double* out, int64_t n);
  /// Box and Muller: pairs[2 i] and pairs[2 i + 1] = sqrt(-2 ln x[i]) cos and sin of angle[i]. The numbers are normal
  /// if x is uniform on (0, 1] and angle on [0, 2 pi).
  void (*box_muller)(const double* x, const double* angle, double* pairs, int64_t n);
  UpdateFunctions updates;
  RowFunctions<float> rows32;
  RowFunctions<double> rows64;
};
const BulkFunctions& bulk();

/// The conversions of a dtype; null for float8, and for dtypes that compute in themselves (DTypeRow::compute).
const NarrowFunctions* narrow_functions(DType dtype);

/// Widens n elements to float32, or rounds n float32 elements.
template <DType dtype>
void widen(const NarrowFloat<dtype>* in, float* out, int64_t n) {
  narrow_functions(dtype)->widen(reinterpret_cast<const uint16_t*>(in), out, n);
}
template <DType dtype>
void round_to(const float* in, NarrowFloat<dtype>* out, int64_t n) {
  narrow_functions(dtype)->round(in, reinterpret_cast<uint16_t*>(out), n);
}

/// The row functions for float or double.
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

/// The variant in use (instruction_sets.hpp). The environment variable PXL_ISA can request a lower one.
std::string_view instruction_set();

}  // namespace pxl
