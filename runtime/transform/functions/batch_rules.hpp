// Rules by which an op works on all elements of a batch at once (vectorise.hpp): the column `batch` of its row, or the
// table in functions/batch_rules.cpp. The table also says why the other rows run element by element.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/ops/op_builder.hpp"

namespace pxl {

/// A tensor for all elements: with a first axis for them, or the same for all.
struct Batched {
  Tensor* tensor = nullptr;
  bool mapped = false;
};

/// The tensor with the axis of the elements, also if it is the same for all.
Tensor* with_batch(GraphOpBuilder& at, const Batched& v, int64_t size);

/// Adds what an op does for all elements to a graph. Returns its results, with the axis of the elements; none if the op
/// has no rule for these operands. `operands` are by slot.
std::vector<Tensor*> batched_op(Graph& graph, const Op& op, const std::vector<Batched>& operands, int64_t size);

/// The reason why a row runs element by element; empty if it has a rule.
std::string_view reason_to_scan(const OpRow& row);

}  // namespace pxl
