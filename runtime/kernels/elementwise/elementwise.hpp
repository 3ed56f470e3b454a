// Elementwise kernels: unary and binary functions with NumPy broadcasting, where, clip, casts and fills. float16 is
// computed in float32 and rounded after every function. Every kernel may write its output over an input that has the
// same dtype and shape.
#pragma once

#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// Functions of one operand, in the order of elementwise_table.inc, which defines each function and its dtypes. Integer
/// arithmetic wraps; round is to nearest even. gelu is the tanh form 0.5x(1+tanh(0.7978845608(x+0.044715x^3))), geluerf
/// is 0.5x(1+erf(x/sqrt 2)); sign(NaN) is NaN.
enum class Unary : uint8_t {
#define PXL_UNARY(NAME, ...) NAME,
#include "runtime/kernels/elementwise/elementwise_table.inc"
  count
};

/// Functions of two operands. Arithmetic on integers wraps; div truncates toward zero; floor_div rounds down; fmod has
/// the sign of the dividend, mod that of the divisor. An integer divided by 0 is 0 (also for fmod and mod); the
/// smallest integer divided by -1 wraps. A negative integer power is 1/x truncated; shifts by the width or more yield 0
/// (or the sign). maximum and minimum propagate NaN. The gradients of relu, tanh and sigmoid take (g, y) with y the
/// forward result, the others (g, x) with x the forward operand.
enum class Binary : uint8_t {
#define PXL_BINARY(NAME, ...) NAME,
#define PXL_DERIVATIVE(NAME, ...) NAME,
#include "runtime/kernels/elementwise/elementwise_table.inc"
  count
};

/// Functions of one floating operand with up to two constants, p and q: slopes and scales of activations.
enum class Parametric : uint8_t {
#define PXL_PARAMETRIC(NAME, ...) NAME,
#include "runtime/kernels/elementwise/elementwise_table.inc"
  count
};

/// An element with its dtype, as kernels hold a constant operand.
struct Element {
  DType dtype;
  alignas(8) std::byte bytes[8] = {};

  explicit Element(DType zero) : dtype(zero) {}
  /// Rounds to nearest, saturating.
  Element(DType d, double value);
  /// The element in a scalar array.
  Element(const Array& scalar);
};

std::string_view name(Unary op);
std::string_view name(Binary op);
std::string_view name(Parametric op);
bool takes(Unary op, DType dtype);
bool takes(Binary op, DType dtype);
/// bool for the predicates, else `in`.
DType result_dtype(Unary op, DType in);
DType result_dtype(Binary op, DType in);

/// in: x[n]; out: [n] of result_dtype. Throws Error for unsupported dtypes.
Kernel unary_kernel(Unary op, DType in, int64_t n);
/// in: x[n]; out: [n], of a floating dtype. The constants are rounded to it, to float32 for float16. Throws Error for
/// other dtypes.
Kernel parametric_kernel(Parametric op, DType dtype, double p, double q, int64_t n);
/// in: a, b of one dtype; `out` is a shape that both broadcast to (the broadcast of the two, or larger).
Kernel binary_kernel(Binary op, DType in, const Shape& a, const Shape& b, const Shape& out);
/// binary_kernel for the product, which states the operand that it scales (narrow.hpp).
Kernel multiply_kernel(DType in, const Shape& a, const Shape& b, const Shape& out);
/// Left fold of op over one or more inputs, each broadcast to `out`: op(op(x0, x1), x2)... Ops whose bool result comes
/// from other operands are excluded. The output may be input 0's memory only if no later input is that memory.
Kernel nary_kernel(Binary op, DType dtype, const std::vector<Shape>& inputs, const Shape& out);
/// in: condition (bool), a, b (dtype); three-way broadcasting to `out`.
Kernel where_kernel(DType dtype, const Shape& condition, const Shape& a, const Shape& b, const Shape& out);
/// min(max(x, low), high). NaN stays NaN.
Kernel clip_kernel(const Element& low, const Element& high, int64_t n);
/// in: g, x; out: g if low <= x <= high, else 0, as in PyTorch's clamp. Floating dtypes.
Kernel clip_grad_kernel(const Element& low, const Element& high, int64_t n);
/// in: g, x; out: g times `inside` if low <= x <= high, else (also for NaN) g times `outside`: the gradient of a
/// piecewise linear function. Floating dtypes; the constants are rounded to the dtype, or to float32 for float16.
Kernel gate_grad_kernel(DType dtype, double low, double high, double inside, double outside, int64_t n);
/// (x + increment) mod modulus; fmod for floats, 0 for modulus 0.
Kernel increment_mod_kernel(const Element& increment, const Element& modulus, int64_t n);
/// The conversions of Array::cast. Integers: truncates toward zero (NaN gives 0, out of range saturates). bool: != 0.
/// float16: rounds once, to nearest even.
Kernel cast_kernel(DType from, DType to, int64_t n);
/// No inputs; every element is `value`.
Kernel fill_kernel(const Element& value, int64_t n);

/// Converts n elements, as cast_kernel does. The ranges must not overlap unless the dtypes are equal.
void convert(DType from, const std::byte* in, DType to, std::byte* out, int64_t n);
/// Reads element `i` of a buffer as a double.
double read_number(DType dtype, const std::byte* data, int64_t i = 0);
/// Writes `value` cast to the dtype into element `i`.
void write_number(DType dtype, std::byte* data, int64_t i, double value);

}  // namespace pxl
