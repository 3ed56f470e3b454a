// Building blocks for the programs with published figures. Included by published_*.cpp only.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ops/op_builder.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::tiles::published {

using Attrs = std::initializer_list<std::pair<std::string_view, Attr>>;
using Ints = std::vector<int64_t>;

/// The results of an op, in the graph of its first operand.
inline std::vector<Tensor*> ops(std::string_view name, const std::vector<Tensor*>& operands, Attrs attrs = {}) {
  GraphOpBuilder builder(*operands.at(0)->graph);
  std::vector<OpArg> args;
  for (Tensor* t : operands) args.emplace_back(builder.of(t));
  std::vector<Tensor*> results;
  for (const Expr& e : builder.emit(name, std::move(args), attrs)) results.push_back(e.tensor());
  return results;
}
inline Tensor* op(std::string_view name, const std::vector<Tensor*>& operands, Attrs attrs = {}) {
  return ops(name, operands, attrs).at(0);
}
inline Tensor* reshape(Tensor* t, Ints shape) { return op("reshape", {t}, {{"shape", std::move(shape)}}); }
inline Tensor* transpose(Tensor* t, Ints order) { return op("transpose", {t}, {{"permutation", std::move(order)}}); }

inline TensorSpec spec(Shape shape, DType dtype) { return {std::move(shape), dtype, {}}; }

// Nothing runs: the values are never read, so their pages are never touched.
inline Tensor* variable(Ir& ir, Shape shape, DType dtype) {
  return ir.main().add_variable(Array(dtype, std::move(shape)), "w");
}
inline Tensor* from_host(Ir& ir, Shape shape, DType dtype) {
  return ir.main().add_host_load(ir.add_stream(spec(std::move(shape), dtype), "x", true), "x")->outputs[0];
}
inline void to_host(Ir& ir, Tensor* t) { ir.main().add_host_store(ir.add_stream(t->spec, "y", false), t); }

/// Plans as the vendor's libraries do: each op separately, without operands in copies.
inline Report report(const Graph& graph, std::string_view machine, bool half_partials = false) {
  EstimateOptions options;
  options.machine = parse_machine(machine);
  options.candidates.copies = false;
  options.candidates.separately = true;
  if (half_partials) options.candidates.half_partial_bytes = 2;
  return estimate(graph, options);
}

}  // namespace pxl::tiles::published
