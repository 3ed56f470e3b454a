// The order in which the elements of an op's results come (ElementOrder): the planner asks for it before it fuses ops,
// without a kernel.
#pragma once

#include "runtime/op/op.hpp"

namespace pxl {

/// The column of the row. Without one, elementwise rows with one operand are elementwise, elementwise rows with several
/// are orders::pairs, and other rows are whole. Results without elements are whole, and so are rows without a kernel.
ElementOrder element_order_of(const OpContext& site);

/// Values of the column.
namespace orders {
constexpr ElementOrder whole(const OpContext&) { return ElementOrder::whole; }
constexpr ElementOrder in_parts(const OpContext&) { return ElementOrder::in_parts; }
constexpr ElementOrder in_order(const OpContext&) { return ElementOrder::in_order; }
constexpr ElementOrder elementwise(const OpContext&) { return ElementOrder::elementwise; }
constexpr ElementOrder prepared(const OpContext&) { return ElementOrder::prepared; }
/// Two operands that broadcast: elementwise where at most two loops are around the elements.
ElementOrder pairs(const OpContext& site);
/// Elementwise if the first two operands have one shape.
ElementOrder alike(const OpContext& site);
}  // namespace orders

}  // namespace pxl
