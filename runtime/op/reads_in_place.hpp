// Which operands of an op may be in the memory that the op modifies. Each engine copies other operands in this memory,
// so that an op reads its operands as they were before it.
#pragma once

#include "runtime/op/op.hpp"

namespace pxl {

/// Whether an op that modifies input `changed` may have other operands with the same elements in the same memory. It
/// may if it reads each element before it writes that element.
constexpr bool reads_in_place(const OpRow& row, size_t changed) {
  return row.pattern == Pattern::elementwise && row.alias == static_cast<int8_t>(changed);
}

}  // namespace pxl
