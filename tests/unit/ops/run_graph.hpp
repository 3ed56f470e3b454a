// A reference interpreter of graphs for tests: walks the schedule and runs each op's kernel on host arrays.
#pragma once

#include <array>
#include <map>

#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "tests/unit/support/arrays.hpp"

namespace pxl::test {

using Values = std::map<const Tensor*, Array>;

/// Computes every tensor of `graph` from its inputs' values, by kernels or by definitions. Compute ops only.
inline Values run_graph(const Graph& graph, Values values, Kernel (*by)(const OpContext&) = kernel_of) {
  for (const auto& t : graph.tensors())
    if (t->kind == TensorKind::constant || t->kind == TensorKind::variable) values[t.get()] = t->data;
  for (const Op* op : schedule_order(graph)) {
    OpContextStorage storage(*op);
    const Kernel kernel = by(storage.site);
    std::vector<Array> in(op->inputs.size()), out;
    std::vector<const std::byte*> from(op->inputs.size(), nullptr);
    std::vector<std::byte*> to;
    for (size_t i = 0; i < in.size(); ++i)
      if (op->inputs[i]) {
        in[i] = values.at(op->inputs[i]);
        from[i] = in[i].raw();
      }
    const std::array<int32_t, 2> replica{0, 1};
    if (op->row->exchange == Exchange::replica) from.push_back(reinterpret_cast<const std::byte*>(replica.data()));
    for (const Tensor* t : op->outputs) out.emplace_back(t->spec.dtype, t->spec.shape);
    for (Array& a : out) to.push_back(a.mutable_raw());
    kernel(Buffers{from.data(), to.data()});
    for (size_t i = 0; i < out.size(); ++i) values[op->outputs[i]] = out[i];
  }
  return values;
}

/// The op computed at once.
inline std::vector<Array> eager(std::string_view op, std::vector<OpArg> operands,
                                std::initializer_list<std::pair<std::string_view, Attr>> attrs = {}) {
  static EagerOpBuilder b;
  std::vector<Array> results;
  for (const Expr& e : b.emit(op, std::move(operands), attrs)) results.push_back(e.array());
  return results;
}
inline Expr value(Array a) {
  static EagerOpBuilder b;
  return Expr(b, std::move(a));
}

}  // namespace pxl::test
