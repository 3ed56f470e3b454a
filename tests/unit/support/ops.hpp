// Graphs of ops from the op table.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/ir.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"

namespace pxl::test {

inline TensorSpec f32(Shape shape) { return {std::move(shape), DType::float32, {}}; }

/// Adds ops to a graph: `op("add", {x, y})`.
struct Ops {
  explicit Ops(Graph& g) : graph(g), builder(g) {}
  Tensor* operator()(std::string_view op, const std::vector<Tensor*>& in,
                     std::initializer_list<std::pair<std::string_view, Attr>> attrs = {}) {
    std::vector<OpArg> operands;
    for (Tensor* t : in) operands.emplace_back(builder.of(t));
    return builder.one(op, std::move(operands), attrs).tensor();
  }
  Tensor* constant(Array value, const char* name = "c") { return graph.add_constant(std::move(value), name); }
  Graph& graph;
  GraphOpBuilder builder;
};

/// Adds an op to the graph of its first operand.
inline Tensor* op(std::string_view name, const std::vector<Tensor*>& operands,
                  std::initializer_list<std::pair<std::string_view, Attr>> attrs = {}) {
  return Ops(*operands.at(0)->graph)(name, operands, attrs);
}

inline const OpRow& row_of(Role role) {
  for (const OpRow* row : op_table())
    if (row->role == role) return *row;
  FAIL("no op of that role");
  return get_op("");
}

inline Op* add_repeat(Graph& at, Graph& body, int64_t n, std::vector<Tensor*> inputs) {
  const OpRow& row = row_of(Role::loop);
  Attributes attrs(row.params.size());
  for (size_t i = 0; i < attrs.size(); ++i)
    if (row.params[i].name == "count") attrs[i] = n;
  return at.add_control(row, {&body}, std::move(inputs), std::move(attrs));
}
inline Op* add_conditional(Graph& at, Graph& yes, Graph& no, std::vector<Tensor*> inputs) {
  const OpRow& row = row_of(Role::branch);
  return at.add_control(row, {&yes, &no}, std::move(inputs), Attributes(row.params.size()));
}

inline Stream& store(Ir& ir, Tensor* t, const char* name = "out") {
  Stream& stream = ir.add_stream(t->spec, name, false);
  t->graph->add_host_store(stream, t);
  return stream;
}

}  // namespace pxl::test
