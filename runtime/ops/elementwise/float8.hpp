// Checks shared by products of float8 operands.
#pragma once

#include "runtime/op/op.hpp"

namespace pxl {

inline constexpr Param log2_scale_param{
    "log2_scale", ParamKind::index, no_default,
    "an int32 scalar in -32..31: the exponent of the power of two that the result is multiplied by before rounding"};

/// Throws unless the operands in slots 0 and 1 are float8_143 or float8_152, in any combination, and slot 2 is an int32
/// scalar.
void check_float8_product(const OpContext& site);

}  // namespace pxl
