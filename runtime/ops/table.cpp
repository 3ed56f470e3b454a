// The op table, its index by name, and signatures for help.
#include "runtime/ops/table.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/op/structural_rows.hpp"
#include "runtime/ops/row.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

struct Table {
  std::vector<const OpRow*> rows;
  std::unordered_map<std::string_view, const OpRow*> by_name;

  Table() {
    for (auto family : {elementwise_rows(), activation_rows(), identity_rows(),       activation_grad_rows(),
                        arithmetic_rows(),  logical_rows(),    reduce_rows(),         order_rows(),
                        matmul_rows(),      float8_rows(),     shape_rows(),          slice_rows(),
                        pad_rows(),         join_rows(),       index_rows(),          scatter_rows(),
                        sparse_rows(),      dynamic_rows(),    convolution_rows(),    pooling_rows(),
                        resample_rows(),    block_rows(),      normalise_rows(),      batch_norm_rows(),
                        loss_rows(),        random_rows(),     update_rows(),         addon_rows(),
                        placement_rows(),   collective_rows(), nd_index_rows(),       linear_quantise_rows(),
                        response_rows(),    composite_rows(),  linear_algebra_rows(), fourier_rows(),
                        attention_rows(),   structural_rows()})
      for (const OpRow& row : family) {
        rows.push_back(&row);
        if (!by_name.emplace(row.name, &row).second)
          throw Error(fmt::format("two ops are named {}", row.name), {}, Fault::internal);
      }
  }
};

const Table& table() {
  static const auto& the_table = never_destroyed(Table());
  return the_table;
}

std::string default_text(const Default& v) {
  switch (v.kind) {
    case Default::none: return "none";
    case Default::boolean: return v.i ? "true" : "false";
    case Default::integer: return std::to_string(v.i);
    case Default::number: return number_text(v.d);
    case Default::string: return fmt::format("\"{}\"", v.s);
    case Default::dtype: return std::string(name(static_cast<DType>(v.i)));
    case Default::required: break;
  }
  return {};
}

}  // namespace

std::span<const OpRow* const> op_table() { return table().rows; }

const OpRow* find_op(std::string_view name) {
  const auto found = table().by_name.find(name);
  return found == table().by_name.end() ? nullptr : found->second;
}

const OpRow& get_op(std::string_view name) {
  const OpRow* row = find_op(name);
  if (!row) throw Error(fmt::format("there is no op {}", name), {}, Fault::internal);
  return *row;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpRow* row : op_table())
    if (!row->path.empty()) names.emplace_back(row->name);
  return names;
}

std::string signature(const OpRow& row) {
  std::string text = fmt::format("{}(", row.name);
  for (size_t i = 0; i < row.params.size(); ++i) {
    const Param& p = row.params[i];
    text += fmt::format("{}{}{}", i ? ", " : "", p.kind == ParamKind::tensors ? "*" : "", p.name);
    if (p.default_value.kind != Default::required) text += " = " + default_text(p.default_value);
  }
  return text + ")";
}

}  // namespace pxl
