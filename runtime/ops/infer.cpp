// Inference of output specs. Messages name the operands.
#include "runtime/ops/infer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/kernels/reduction/reduce.hpp"
#include "runtime/op/op_ipus.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

Shape broadcast_all(const OpContext& site, size_t first = 0) {
  return prefixed(site, [&] {
    Shape shape = site.input(first).shape;
    for (size_t i = first + 1; i < site.in.size(); ++i)
      if (site.has(i)) shape = broadcast(shape, site.input(i).shape);
    element_count(shape);
    return shape;
  });
}

}  // namespace

void check_same_dtype(const OpContext& site, size_t one, size_t other) {
  const DType first = site.input(one).dtype, second = site.input(other).dtype;
  if (first == second) return;
  // The conversion that is offered loses least: integers become floats, and the narrower dtype the wider one.
  const auto width = [](DType d) { return std::pair(is_floating(d), size_of(d)); };
  const size_t from = width(second) > width(first) ? one : other, to = from == one ? other : one;
  refuse(site,
         fmt::format("operands have different dtypes: {} ({}) and {} ({})", name(first), site.label(one), name(second),
                     site.label(other)),
         codes::dtype,
         fmt::format("dtypes of tensors are not promoted: `cast({}, {})` converts", site.label(from),
                     name(site.input(to).dtype)));
}

void check_one_dtype(const OpContext& site, size_t first) {
  for (size_t i = first + 1; i < site.in.size(); ++i)
    if (site.has(i)) check_same_dtype(site, first, i);
}

void check_no_float8(const OpContext& site, size_t slot) {
  if (!is_float8(site.input(slot).dtype)) return;
  // Products have a variant with a scale.
  const std::string scaled = fmt::format("{}_pow2scaled", site.row.name);
  refuse(site,
         fmt::format("{} is {}, which has no arithmetic without a scale: pow2scale_cast_from_fp8 makes float16 of it{}",
                     site.label(slot), name(site.input(slot).dtype),
                     find_op(scaled) ? fmt::format("; {} takes it", scaled) : ""),
         codes::dtype);
}

void check_floating(const OpContext& site, size_t slot) {
  check_no_float8(site, slot);
  if (!is_floating(site.input(slot).dtype))
    refuse(site, fmt::format("{} must have a floating dtype, not {}", site.label(slot), name(site.input(slot).dtype)),
           codes::dtype);
}

void check_integers(const OpContext& site, size_t slot) {
  if (!is_integer(site.input(slot).dtype))
    refuse(site, fmt::format("{} must hold integers, not {}", site.label(slot), name(site.input(slot).dtype)),
           codes::dtype);
}

void check_numbers(const OpContext& site, size_t slot) {
  check_no_float8(site, slot);
  if (site.input(slot).dtype == DType::boolean)
    refuse(site, fmt::format("{} must hold numbers, not bool", site.label(slot)), codes::dtype);
}

void check_shape(const OpContext& site, size_t slot, const Shape& shape) {
  if (site.input(slot).shape != shape)
    refuse(site,
           fmt::format("{} must have shape {}, not {}", site.label(slot), bracket_text(shape),
                       bracket_text(site.input(slot).shape)),
           codes::shape);
}

void check_scalar_if_tensor(const OpContext& site, std::string_view param) {
  const size_t slot = slot_of(site.row, param);
  if (!site.has(slot)) return;
  check_floating(site, slot);
  if (site.input(slot).size() != 1)
    refuse(site, fmt::format("{} ({}) must be a scalar, not {}", param, site.label(slot), text(site.input(slot))),
           codes::shape);
}

void check_broadcastable(const OpContext& site, size_t slot, const Shape& to) {
  if (!broadcastable_to(site.input(slot).shape, to))
    refuse(site,
           fmt::format("{} of shape {} does not broadcast to {}", site.label(slot),
                       bracket_text(site.input(slot).shape), bracket_text(to)),
           codes::shape);
}

int64_t wrap_axis(const OpContext& site, int64_t axis, int64_t rank) {
  return prefixed(site, [&] { return normalise_axis(axis, rank); });
}

int64_t axis_of(const OpContext& site, std::string_view param, int64_t rank) {
  return wrap_axis(site, site.integer(param), rank);
}

std::vector<int64_t> axes_of(const OpContext& site, std::string_view param, int64_t rank) {
  std::vector<int64_t> axes;
  if (site.is_none(param)) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (int64_t axis : site.integers(param)) axes.push_back(wrap_axis(site, axis, rank));
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    refuse(site, fmt::format("axis {} is given twice", *twice), codes::shape);
  return axes;
}

std::vector<TensorSpec> infer_same(const OpContext& site) { return {site.input(0)}; }

std::vector<TensorSpec> infer_same_float(const OpContext& site) {
  check_floating(site, 0);
  return {site.input(0)};
}

std::vector<TensorSpec> infer_same_number(const OpContext& site) {
  check_numbers(site, 0);
  return {site.input(0)};
}

std::vector<TensorSpec> infer_predicate(const OpContext& site) {
  check_no_float8(site, 0);
  return {{site.input(0).shape, DType::boolean, {}}};
}

std::vector<TensorSpec> infer_broadcast(const OpContext& site) {
  check_one_dtype(site);
  check_numbers(site, 0);
  return {{broadcast_all(site), site.input(0).dtype, {}}};
}

std::vector<TensorSpec> infer_compare(const OpContext& site) {
  check_no_float8(site, 0);
  check_one_dtype(site);
  return {{broadcast_all(site), DType::boolean, {}}};
}

std::vector<TensorSpec> infer_bits(const OpContext& site) {
  for (size_t i = 0; i < site.in.size(); ++i)
    if (is_floating(site.input(i).dtype))
      refuse(site, fmt::format("{} must hold integers or bools, not {}", site.label(i), name(site.input(i).dtype)),
             codes::dtype);
  std::vector<TensorSpec> out = infer_compare(site);
  out[0].dtype = site.input(0).dtype;
  return out;
}

std::vector<TensorSpec> infer_shift(const OpContext& site) {
  for (size_t i = 0; i < site.in.size(); ++i) check_integers(site, i);
  return infer_bits(site);
}

std::vector<TensorSpec> infer_logical(const OpContext& site) {
  for (size_t i = 0; i < site.in.size(); ++i)
    if (site.input(i).dtype != DType::boolean)
      refuse(site, fmt::format("{} must be bool, not {}", site.label(i), name(site.input(i).dtype)), codes::dtype);
  return {{broadcast_all(site), DType::boolean, {}}};
}

std::vector<TensorSpec> infer_select(const OpContext& site) {
  if (site.input(0).dtype != DType::boolean)
    refuse(site, fmt::format("the condition {} must be bool, not {}", site.label(0), name(site.input(0).dtype)),
           codes::dtype);
  check_one_dtype(site, 1);
  return {{broadcast_all(site), site.input(1).dtype, {}}};
}

std::vector<TensorSpec> infer_into_first(const OpContext& site) {
  check_one_dtype(site);
  check_numbers(site, 0);
  for (size_t i = 1; i < site.in.size(); ++i)
    if (site.has(i)) check_broadcastable(site, i, site.input(0).shape);
  return {site.input(0)};
}

std::vector<TensorSpec> infer_gradient_pair(const OpContext& site) {
  check_floating(site, 0);
  check_one_dtype(site);
  check_shape(site, 1, site.input(0).shape);
  return {site.input(1)};
}

std::vector<TensorSpec> infer_reduce(const OpContext& site) {
  const TensorSpec& x = site.input(0);
  check_numbers(site, 0);
  return {
      {reduced_shape(x.shape, axes_of(site, "axis", static_cast<int64_t>(x.shape.size())), site.boolean("keepdims")),
       x.dtype,
       {}}};
}

std::vector<TensorSpec> infer_reduce_float(const OpContext& site) {
  check_floating(site, 0);
  return infer_reduce(site);
}

std::vector<TensorSpec> infer_product(const OpContext& site, DType out) {
  const TensorSpec& a = site.input(0);
  const TensorSpec& b = site.input(1);
  for (size_t i : {0, 1})
    if (site.input(i).shape.empty())
      refuse(site, fmt::format("{} is a scalar; use * to scale, or give it an axis", site.label(i)), codes::shape);
  const int64_t inner_axis = b.shape.size() == 1 ? -1 : -2;
  const int64_t lhs = a.shape.back();
  const int64_t rhs = b.shape[b.shape.size() - static_cast<size_t>(-inner_axis)];
  if (lhs != rhs)
    refuse(site,
           fmt::format("inner dimensions differ: {} ({}, axis -1) and {} ({}, axis {})", lhs, site.label(0), rhs,
                       site.label(1), b.shape.size() == 1 ? 0 : static_cast<int64_t>(b.shape.size()) - 2),
           codes::shape,
           b.shape.size() == 2 && b.shape[1] == lhs ? fmt::format("the transpose fits: `{}.T`", site.label(1)) : "");
  return {{prefixed(site,
                    [&] {
                      Shape shape = matmul_shape(a.shape, false, b.shape, false);
                      element_count(shape);
                      return shape;
                    }),
           out,
           {}}};
}

std::vector<TensorSpec> infer_matmul(const OpContext& site) {
  const TensorSpec& a = site.input(0);
  if (!a.shape.empty() && !site.input(1).shape.empty()) {
    check_one_dtype(site);
    check_numbers(site, 0);
  }
  DType out = a.dtype;
  if (!site.is_none("output_type")) {
    out = site.dtype("output_type");
    if (is_floating(out) != is_floating(a.dtype) || out == DType::boolean || is_float8(out))
      refuse(site, fmt::format("cannot give {} from {}", name(out), name(a.dtype)), codes::dtype);
  }
  return infer_product(site, out);
}

std::vector<TensorSpec> infer_concat(const OpContext& site) {
  check_one_dtype(site);
  TensorSpec out = site.input(0);
  const auto rank = static_cast<int64_t>(out.shape.size());
  if (rank == 0) refuse(site, "scalars have no axis to join along; reshape them to [1] first", codes::shape);
  const auto axis = static_cast<size_t>(axis_of(site, "axis", rank));
  for (size_t i = 1; i < site.in.size(); ++i) {
    const Shape& other = site.input(i).shape;
    if (other.size() != out.shape.size())
      refuse(site, fmt::format("ranks differ: {} ({}) and {} ({})", rank, site.label(0), other.size(), site.label(i)),
             codes::shape);
    for (size_t d = 0; d < other.size(); ++d)
      if (d != axis && other[d] != out.shape[d])
        refuse(site,
               fmt::format("shapes differ off the axis {}: {} ({}) and {} ({}) at axis {}", axis, out.shape[d],
                           site.label(0), other[d], site.label(i), d),
               codes::shape);
    out.shape[axis] += other[axis];
    prefixed(site, [&] { return element_count(out.shape); });
  }
  return {out};
}

std::vector<TensorSpec> infer_softmax(const OpContext& site) {
  check_floating(site, 0);
  axis_of(site, "axis", static_cast<int64_t>(site.input(0).shape.size()));
  return {site.input(0)};
}

bool needs_one_dtype(InferFn infer) {
  return infer == infer_broadcast || infer == infer_compare || infer == infer_select || infer == infer_matmul ||
         infer == infer_concat || infer == infer_bits || infer == infer_shift;
}

bool needs_floats(InferFn infer) {
  return infer == infer_same_float || infer == infer_reduce_float || infer == infer_softmax;
}

bool needs_numbers(InferFn infer) { return infer == infer_reduce || infer == infer_same_number; }

std::vector<std::string> special_output_names(const OpContext& site, const std::string& first_operand) {
  const std::string_view pattern = site.row.output;
  for (size_t i = 0; i < site.row.params.size(); ++i)
    if (site.row.params[i].name == output_name_param.name)
      if (const auto* given = std::get_if<std::string>(&site.attrs[i])) return {*given};
  if (pattern.find("{dtype}") != std::string_view::npos)
    return {fmt::format("{}_{}", first_operand, name(site.dtype("data_type")))};
  if (pattern.find("{ipu}") != std::string_view::npos)
    return {fmt::format("{}_c{}", first_operand, site.integer(destination_name))};
  if (pattern.find("{i}") == std::string_view::npos) return {};
  std::vector<std::string> names;
  for (size_t i = 0; i < site.row.infer(site).size(); ++i)
    names.push_back(fmt::format("{}_split_{}", first_operand, i));
  return names;
}

void check_channel_parameters(const OpContext& s, size_t first, size_t last, int64_t channels) {
  for (size_t i = first; i <= last; ++i) {
    check_floating(s, i);
    check_shape(s, i, {channels});
    check_same_dtype(s, first, i);
  }
}

}  // namespace pxl
