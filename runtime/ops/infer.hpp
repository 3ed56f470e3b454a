// Inference functions and checks that several rows use.
#pragma once

#include <string>

#include "runtime/op/errors.hpp"

namespace pxl {

/// Throws unless two present operands have the same dtype.
void check_same_dtype(const OpContext& site, size_t one, size_t other);
/// Throws unless all present operands from slot `first` on have the same dtype: "add: operands have different dtypes:
/// float32 (x) and float16 (y)".
void check_one_dtype(const OpContext& site, size_t first = 0);
/// Throw unless the operand is floating / integer / not bool / of this dtype / of this shape / a scalar.
void check_floating(const OpContext& site, size_t slot);
/// Throws if the operand is float8; included in check_floating and check_numbers.
void check_no_float8(const OpContext& site, size_t slot);
void check_integers(const OpContext& site, size_t slot);
void check_numbers(const OpContext& site, size_t slot);
void check_shape(const OpContext& site, size_t slot, const Shape& shape);
/// Throws unless the operands first..last are floating, of one dtype, and of shape [channels].
void check_channel_parameters(const OpContext& site, size_t first, size_t last, int64_t channels);
void check_scalar_if_tensor(const OpContext& site, std::string_view param);
void check_broadcastable(const OpContext& site, size_t slot, const Shape& to);

inline int64_t rank_of(const TensorSpec& spec) { return static_cast<int64_t>(spec.shape.size()); }

/// An axis attribute, wrapped into 0..rank-1; throws if out of range.
int64_t axis_of(const OpContext& site, std::string_view param, int64_t rank);
int64_t wrap_axis(const OpContext& site, int64_t axis, int64_t rank);
/// The axes attribute, wrapped, ascending, without duplicates; none means all axes of `rank`.
std::vector<int64_t> axes_of(const OpContext& site, std::string_view param, int64_t rank);

// Inference functions. "same": the first operand's spec.
std::vector<TensorSpec> infer_same(const OpContext& site);
std::vector<TensorSpec> infer_same_float(const OpContext& site);
std::vector<TensorSpec> infer_same_number(const OpContext& site);
std::vector<TensorSpec> infer_predicate(const OpContext& site);      ///< bool, the first operand's shape
std::vector<TensorSpec> infer_broadcast(const OpContext& site);      ///< operands of one numeric dtype, broadcast
std::vector<TensorSpec> infer_compare(const OpContext& site);        ///< bool, operands of one dtype, broadcast
std::vector<TensorSpec> infer_bits(const OpContext& site);           ///< integers or bools of one dtype, broadcast
std::vector<TensorSpec> infer_shift(const OpContext& site);          ///< integers of one dtype, broadcast
std::vector<TensorSpec> infer_logical(const OpContext& site);        ///< bool operands, broadcast
std::vector<TensorSpec> infer_select(const OpContext& site);         ///< condition, lhs, rhs
std::vector<TensorSpec> infer_into_first(const OpContext& site);     ///< the others broadcast to the first, one dtype
std::vector<TensorSpec> infer_gradient_pair(const OpContext& site);  ///< g and x with equal specs
std::vector<TensorSpec> infer_reduce(const OpContext& site);         ///< parameters axis, keepdims
std::vector<TensorSpec> infer_reduce_float(const OpContext& site);
std::vector<TensorSpec> infer_matmul(const OpContext& site);
std::vector<TensorSpec> infer_product(const OpContext& site, DType out);  ///< shapes of a matrix product only
std::vector<TensorSpec> infer_concat(const OpContext& site);
std::vector<TensorSpec> infer_softmax(const OpContext& site);

// Promotion of host arrays that a row needs, derived from its inference function.
bool needs_one_dtype(InferFn infer);
bool needs_floats(InferFn infer);   ///< integers become float32
bool needs_numbers(InferFn infer);  ///< bools become int32

/// The parameter by which a program names the result.
inline constexpr Param output_name_param{"output_name", ParamKind::string, none_default, "name of the result"};

/// Output names that depend on attributes or on the number of outputs ("{i}", "{dtype}"); empty if the row's own names
/// apply.
std::vector<std::string> special_output_names(const OpContext& site, const std::string& first_operand);

}  // namespace pxl
