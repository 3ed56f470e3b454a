// Ops on several IPUs at once. Their operands are a list: operand i and result i are on the IPU ipus[i], and `ipus` is
// a parameter.
#pragma once

#include <vector>

#include "runtime/op/op.hpp"

namespace pxl {

inline constexpr std::string_view ipus_name = "ipus";

/// The IPUs of such an op; null for ops on one IPU.
inline const std::vector<int64_t>* op_ipus(const OpRow& row, const Attributes& attrs) {
  if (row.params.size() < 2 || row.params[0].kind != ParamKind::tensors || row.params[1].name != ipus_name)
    return nullptr;
  return attrs.size() > 1 ? std::get_if<std::vector<int64_t>>(&attrs[1]) : nullptr;
}

/// The parameter of a copy between IPUs: to which one.
inline constexpr std::string_view destination_name = "destination";

/// Whether the op copies its operand to another IPU.
inline bool is_ipu_copy(const OpRow& row) { return row.params.size() == 2 && row.params[1].name == destination_name; }

}  // namespace pxl
