#include "runtime/transform/sparse_gradient.hpp"
#include "runtime/graph/shown_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/build_state.hpp"

namespace pxl {

namespace {

/// The gradient of one gather.
struct Term {
  Tensor *indices, *rows;
  const Op* scatter;
  bool ignore_out_of_range;
};

[[noreturn]] void refuse(const Tensor& t, const std::string& why) {
  Error error(
      fmt::format("sparse_gradient: {}", why),
      {"only the gradient of `gather(table, indices)`, or a sum of such gradients, has few rows: other uses of a "
       "variable change all of it"});
  if (t.producer) error.locate(t.producer->origin.span, t.producer->origin.frames);
  throw std::move(error).as(codes::gradient);
}

bool is_sum(const Op& op) {
  static const OpRow &add = get_op("add"), &sum = get_op("sum_n");
  return (op.row == &add || op.row == &sum) && std::all_of(op.inputs.begin(), op.inputs.end(), [&](const Tensor* t) {
           return t && t->spec == op.outputs[0]->spec;
         });
}

/// A tensor of a called graph, in the graph of the call.
Tensor* outside(const Op& call, Tensor* t) {
  Graph& callee = *call.called[0];
  const auto& inputs = callee.inputs();
  if (const auto input = std::find(inputs.begin(), inputs.end(), t); input != inputs.end())
    return call.inputs[static_cast<size_t>(input - inputs.begin())];
  return call.outputs[callee.add_stashed_outputs({&t, 1}).front()];
}

/// The gradients whose sum a tensor is, in its graph.
std::vector<Term> terms_of(const Tensor& t) {
  const Op* op = t.producer;
  if (!op) refuse(t, fmt::format("`{}` is no result of an op", shown_name(t)));
  if (op->row->role == Role::call) {
    std::vector<Term> terms = terms_of(*op->called[0]->outputs()[static_cast<size_t>(t.output_index)]);
    for (Term& term : terms) {
      term.indices = outside(*op, term.indices);
      term.rows = outside(*op, term.rows);
    }
    return terms;
  }
  if (is_sum(*op)) {
    std::vector<Term> terms;
    for (const Tensor* input : op->inputs)
      for (const Term& term : terms_of(*input)) terms.push_back(term);
    return terms;
  }
  if (!op->row->scatter_add)
    refuse(t, fmt::format("`{}` is made by `{}`, not by the gradient of a gather", shown_name(t), op->row->name));
  const OpContextStorage storage(*op);
  const ScatterAdd scatter = op->row->scatter_add(storage.site);
  if (scatter.axis != 0 || scatter.batch != 0)
    refuse(t, fmt::format("`{}` is the gradient of a gather along axis {}, not 0", shown_name(t), scatter.axis));
  return {{op->inputs[1], op->inputs[0], op, scatter.ignore_out_of_range}};
}

Expr joined(OpBuilder& b, std::vector<Expr> parts) {
  return parts.size() == 1 ? parts[0] : b.one("concat", {OpArg(std::move(parts))}, {{"axis", int64_t{0}}});
}

}  // namespace

SparseGradient sparse_gradient(Tensor& gradient) {
  Ir& ir = gradient.graph->ir();
  return all_or_nothing(ir, [&]() -> SparseGradient {
    const std::vector<Term> terms = terms_of(gradient);
    const bool ignore = terms[0].ignore_out_of_range;
    DType dtype = terms[0].indices->spec.dtype;
    for (const Term& term : terms) {
      if (term.ignore_out_of_range != ignore)
        refuse(gradient,
               fmt::format("`{}` is a sum of gradients of gathers with and without zero_OOR", shown_name(gradient)));
      if (term.indices->spec.dtype != dtype) dtype = DType::int64;
    }
    const BuildStateGuard guard(ir);
    ir.ipu = gradient.ipu();
    ir.origin = terms[0].scatter->origin;  // that of the gather, to which an index out of range belongs
    GraphOpBuilder builder(*gradient.graph);
    std::vector<Expr> indices, rows;
    for (const Term& term : terms) {
      Shape shape = gradient.spec.shape;
      shape[0] = term.indices->spec.size();
      indices.push_back(reshape(cast(builder.of(term.indices), dtype), {shape[0]}));
      rows.push_back(reshape(builder.of(term.rows), shape));
    }
    const std::vector<Expr> made =
        builder.emit("sum_duplicates", {joined(builder, std::move(indices)), joined(builder, std::move(rows))},
                     {{"extent", gradient.spec.shape[0]}, {"ignore_OOR", ignore}});
    verify_transformed(ir);
    return {made[0].tensor(), made[1].tensor()};
  });
}

}  // namespace pxl
