// Op builders: ops in a graph, or computed eagerly on host arrays.
#include "runtime/ops/op_builder.hpp"
#include "runtime/graph/shown_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/arguments.hpp"
#include "runtime/ops/eager_program.hpp"
#include "runtime/ops/infer.hpp"
#include "runtime/ops/run.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/tensor/exact.hpp"

namespace pxl {

const TensorSpec& Expr::spec() const { return is_tensor() ? tensor()->spec : array().spec(); }

std::string Expr::label() const { return is_tensor() ? shown_name(*tensor()) : "array"; }

namespace {

bool is_operand(const OpArgs& args, const Expr& e) {
  const auto same = [&](const Expr& given) { return given && given.is_tensor() && given.tensor() == e.tensor(); };
  for (const OpArg& arg : args.values) {
    if (const auto* one = std::get_if<Expr>(&arg); one && same(*one)) return true;
    if (const auto* list = std::get_if<std::vector<Expr>>(&arg); list && std::ranges::any_of(*list, same)) return true;
  }
  return false;
}

}  // namespace

std::vector<Expr> OpBuilder::emit(const OpRow& row, OpArgs args) {
  args = resolve(*this, row, std::move(args));
  if (row.role == Role::composite) {
    try {
      std::vector<Expr> results = row.expand(*this, args);
      // An op without an underscore returns new tensors, even if it has nothing to do.
      if (!row.name.ends_with('_'))
        for (Expr& e : results)
          if (e.is_tensor() && is_operand(args, e)) e = one("identity", {e});
      return results;
    } catch (Error& e) {
      // Name the composite that the user wrote, not the inner op that fails.
      std::string& message = e.first().message;
      const size_t colon = message.find(": ");
      const bool names_op = colon != message.npos && find_op(std::string_view(message).substr(0, colon));
      message = fmt::format("{}: {}", row.name, names_op ? message.substr(colon + 2) : message);
      throw;
    }
  }

  std::vector<Expr> operands;
  Attributes attrs(row.params.size());
  for (size_t i = 0; i < row.params.size(); ++i) {
    OpArg& arg = args.values[i];
    if (row.params[i].kind == ParamKind::tensors) {
      operands = std::move(std::get<std::vector<Expr>>(arg));
    } else if (is_operand(row.params[i].kind)) {
      operands.push_back(args.has_expr(i) ? args.expr(i) : Expr());
    }
    if (Attr* a = std::get_if<Attr>(&arg)) attrs[i] = std::move(*a);
  }
  // Means and other float reductions convert ints to float32; sums convert bools to int32. Arrays also become float32
  // for other float ops, which reject integer tensors. In-place forms keep the dtype of their operand.
  if (!operands.empty() && operands[0] && row.modifies == 0) {
    const DType dtype = operands[0].dtype();
    const bool widened = row.infer == infer_reduce_float || (eager() && needs_floats(row.infer));
    if (widened && (is_integer(dtype) || dtype == DType::boolean)) operands[0] = cast(operands[0], DType::float32);
    if (needs_numbers(row.infer) && dtype == DType::boolean) operands[0] = cast(operands[0], DType::int32);
  }
  return make(row, std::move(operands), std::move(attrs));
}

std::vector<Expr> OpBuilder::emit(std::string_view op, std::vector<OpArg> operands,
                                  std::initializer_list<std::pair<std::string_view, Attr>> attrs) {
  const OpRow& row = get_op(op);
  OpArgs args{std::move(operands)};
  args.values.resize(row.params.size());
  for (const auto& [param, value] : attrs) args.values[param_index(row, param)] = value;
  return emit(row, std::move(args));
}

Expr OpBuilder::one(std::string_view op, std::vector<OpArg> operands,
                    std::initializer_list<std::pair<std::string_view, Attr>> attrs) {
  return emit(op, std::move(operands), attrs).at(0);
}

Expr OpBuilder::scalar(double value, DType dtype) { return constant(Array::full(dtype, {}, value)); }

Expr GraphOpBuilder::constant(Array value, std::string_view name) {
  return of(graph_.add_constant(std::move(value), std::string(name)));
}

std::vector<Expr> GraphOpBuilder::make(const OpRow& row, std::vector<Expr> operands, Attributes attrs) {
  std::vector<Tensor*> inputs;
  std::vector<const TensorSpec*> specs;
  for (const Expr& e : operands) {
    inputs.push_back(e ? e.tensor() : nullptr);
    specs.push_back(e ? &e.spec() : nullptr);
  }
  const std::string first(inputs.empty() || !inputs[0] ? std::string_view() : last_part(inputs[0]->name));
  const OpContext site{.row = row, .in = specs, .attrs = attrs};
  std::vector<std::string> names = special_output_names(site, first);
  Op* op = graph_.add_op(row, std::move(inputs), std::move(attrs), names);
  std::vector<Expr> outputs;
  for (Tensor* t : op->outputs) outputs.push_back(of(t));
  return outputs;
}

void EagerOpBuilder::note_elements_read() {
  if (recorder_) recorder_->refuse();
}

Expr EagerOpBuilder::constant(Array value, std::string_view) { return Expr(*this, std::move(value)); }

namespace {

/// Whether a dtype has all numbers of another, up to the rounding of floats.
bool has_all(DType to, DType from) {
  if (!is_integer(to) || !is_integer(from)) return true;
  const bool to_signed = row(to).kind == DTypeKind::integer, from_signed = row(from).kind == DTypeKind::integer;
  return to_signed == from_signed ? size_of(to) >= size_of(from) : to_signed && size_of(to) > size_of(from);
}

/// The slot of the signed operand, if the two operands hold integers that no common dtype represents; -1 otherwise.
int slot_with_sign(const std::vector<Expr>& operands) {
  if (operands.size() != 2) return -1;
  const DType a = operands[0].dtype(), b = operands[1].dtype(), common = promoted(a, b);
  if (has_all(common, a) && has_all(common, b)) return -1;
  return row(a).kind == DTypeKind::integer ? 0 : 1;
}

}  // namespace

// A negative number is below every unsigned number; other numbers are compared as unsigned.
std::vector<Expr> EagerOpBuilder::compare_signs(const OpRow& row, const std::vector<Expr>& operands, int with_sign) {
  const auto slot = static_cast<size_t>(with_sign);
  const auto pair = [&](const Expr& own, const Expr& other) {
    return slot == 0 ? std::vector<OpArg>{own, other} : std::vector<OpArg>{other, own};
  };
  const auto number = [&](int64_t value) { return constant(Array::scalar(value)); };
  const Expr &own = operands[slot], &other = operands[1 - slot];
  return emit("select", {one("less", {own, cast(number(0), own.dtype())}), one(row.name, pair(number(-1), number(0))),
                         one(row.name, pair(cast(own, other.dtype()), other))});
}

std::vector<Expr> EagerOpBuilder::make(const OpRow& row, std::vector<Expr> operands, Attributes attrs) {
  if (!row.definition)
    throw Error(fmt::format("{} works on tensors of a graph, not on arrays", row.name)).as(codes::type);

  if (row.infer == infer_compare)
    if (const int slot = slot_with_sign(operands); slot >= 0) return compare_signs(row, operands, slot);
  std::vector<Array> in(operands.size());
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      if (operands[i].is_tensor())
        throw Error(
            fmt::format("{}: {} is a tensor, which has no value before a session runs", row.name, operands[i].label()))
            .as(codes::no_value_yet);
      in[i] = operands[i].array();
    }
  std::vector<std::optional<Array>> given;
  if (recorder_)
    for (size_t i = 0; i < in.size(); ++i) given.push_back(operands[i] ? std::optional(in[i]) : std::nullopt);
  // Host arrays are promoted to a common dtype; tensors never are.
  if (needs_one_dtype(row.infer)) {
    DType common{};
    bool first = true;
    const size_t from = row.infer == infer_select ? 1 : 0;  // a condition keeps its dtype
    for (size_t i = from; i < in.size(); ++i)
      if (operands[i]) common = first ? in[i].dtype() : promoted(common, in[i].dtype()), first = false;
    for (size_t i = from; i < in.size(); ++i) {
      if (!operands[i] || in[i].dtype() == common) continue;
      const bool fits = has_all(common, in[i].dtype());
      if (!fits) note_elements_read();
      in[i] = fits ? in[i].cast(common) : convert_exactly(in[i], common, row.name);
    }
  }

  std::vector<TensorSpec> in_specs(in.size());
  std::vector<const TensorSpec*> specs(in.size(), nullptr);
  for (size_t i = 0; i < in.size(); ++i)
    if (operands[i]) in_specs[i] = in[i].spec(), specs[i] = &in_specs[i];
  OpContext site{.row = row, .in = specs, .attrs = attrs};
  const std::vector<TensorSpec> out_specs = infer_specs(site);
  site.out = out_specs;
  if (row.exchange == Exchange::replica) {  // an array has one replica
    specs.push_back(&replica_operand());
    site.in = specs;
    in.push_back(Array::from<int32_t>({2}, std::array<int32_t, 2>{0, 1}));
  }
  const Kernel kernel = kernel_of(site);
  std::vector<Array> out = recorder_ ? run_kernel(kernel, site, in) : run_kernel(kernel, site, std::move(in));
  if (recorder_) recorder_->add(site, kernel, given, in, out);
  std::vector<Expr> outputs;
  for (Array& a : out) outputs.emplace_back(*this, std::move(a));
  return outputs;
}

}  // namespace pxl
