// A few rows of their own for the tests of graphs, so that they do not depend on what the op families contain.
#pragma once

#include <fmt/format.h>

#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/verify.hpp"
#include "tests/unit/support/errors.hpp"

namespace pxl::test {

inline std::vector<TensorSpec> same_as_first(const OpContext& site) { return {site.input(0)}; }
inline std::vector<TensorSpec> broadcast_both(const OpContext& site) {
  if (site.input(0).dtype != site.input(1).dtype)
    throw Error(fmt::format("dtypes differ: {}, {}", site.label(0), site.label(1)));
  return {TensorSpec{broadcast(site.input(0).shape, site.input(1).shape), site.input(0).dtype, {}}};
}

inline constexpr Param one_param[] = {{"t", ParamKind::tensor}};
inline constexpr Param two_params[] = {{"lhs", ParamKind::tensor}, {"rhs", ParamKind::tensor}};

constexpr OpRow binary(std::string_view name, std::string_view schedule, std::string_view output) {
  OpRow row{};
  row.name = name;
  row.schedule = schedule;
  row.output = output;
  row.params = two_params;
  row.infer = broadcast_both;
  return row;
}

constexpr OpRow unary(std::string_view name, std::string_view schedule, std::string_view output,
                      bool in_place = false) {
  OpRow row{};
  row.name = name;
  row.schedule = schedule;
  row.output = output;
  row.params = one_param;
  row.infer = same_as_first;
  if (in_place) {
    row.modifies = 1;
    row.alias = 0;
  }
  return row;
}

inline constexpr OpRow add_row = binary("add", "Add", "add_out");
inline constexpr OpRow sub_row = binary("sub", "Sub", "sub_out");
inline constexpr OpRow mul_row = binary("mul", "Mul", "mul_out");
inline constexpr OpRow div_row = binary("div", "Div", "div_out");
inline constexpr OpRow neg_row = unary("neg", "Neg", "{0}_neg");
inline constexpr OpRow relu_in_place_row = unary("relu_", "ReluInplace", "relu_inplace_out", true);

inline TensorSpec f32(Shape shape) { return {std::move(shape), DType::float32, {}}; }
inline Tensor* ones(Ir& ir, Shape shape, const std::string& name) {
  return ir.main().add_variable(Array::full(DType::float32, std::move(shape), 1), name);
}
inline Tensor* one(Graph& g, double value = 1) { return g.add_constant(Array::full(DType::float32, {}, value), "c"); }
inline Tensor* binary_op(const OpRow& row, Tensor* a, Tensor* b) {
  return a->graph->add_op(row, {a, b}, {})->outputs[0];
}
inline Tensor* unary_op(const OpRow& row, Tensor* a) { return a->graph->add_op(row, {a}, {})->outputs[0]; }

/// "Mul Add": the schedule by name.
inline std::string order_of(const Graph& graph) {
  std::string names;
  for (const Op* op : schedule_order(graph)) {
    if (!names.empty()) names += ' ';
    names += op->row->schedule;
  }
  return names;
}

}  // namespace pxl::test
