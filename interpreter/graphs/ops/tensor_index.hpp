// `t[key]` on tensors.
#pragma once

#include "interpreter/values/value.hpp"

namespace pxl {

Value tensor_index(Interpreter& in, const Value& tensor, const Value& key);

}  // namespace pxl
