// Parts of sparse updates: sums of rows with equal indices, and rows of a table that are written in place.
#include "runtime/kernels/indexing/sparse_rows.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param out_of_range_param{"ignore_OOR", ParamKind::boolean, of(false),
                                   "an index out of range, -1 among them, names no row instead of an error"};
constexpr Param sum_params[] = {{"indices", ParamKind::index, no_default, "[n]"},
                                {"rows", ParamKind::tensor, no_default, "[n, ...]"},
                                {"extent", ParamKind::integer, no_default, "number of rows of the table"},
                                out_of_range_param};
constexpr Param index_copy_params[] = {{"t", ParamKind::tensor, no_default, "[rows, ...]"},
                                       {"indices", ParamKind::index, no_default, "[n]"},
                                       {"values", ParamKind::tensor, no_default, "[n, ...], in t's dtype"},
                                       out_of_range_param};

void check_list(const OpContext& s, size_t slot) {
  check_integers(s, slot);
  if (s.input(slot).shape.size() != 1 || s.input(slot).shape[0] > max_table_rows)
    refuse(s, fmt::format("{} must have one axis, not shape {}", s.label(slot), bracket_text(s.input(slot).shape)),
           codes::shape);
}

std::vector<TensorSpec> infer_sum(const OpContext& s) {
  check_list(s, 0);
  check_floating(s, 1);
  const TensorSpec &indices = s.input(0), &rows = s.input(1);
  if (rows.shape.empty() || rows.shape[0] != indices.shape[0])
    refuse(s,
           fmt::format("{} must have a row for each of the {} indices, not shape {}", s.label(1), indices.shape[0],
                       bracket_text(rows.shape)),
           codes::shape);
  if (const int64_t extent = s.integer("extent"); extent < 0 || extent > max_table_rows)
    refuse(s, fmt::format("extent must be from 0 to {}, not {}", max_table_rows, extent));
  return {{indices.shape, DType::int32, {}}, {rows.shape, rows.dtype, {}}};
}

// Each row takes part in one sum, whose gradient it gets: read from a table that holds these at their indices.
void sum_gradient(GradContext& c) {
  if (!c.wants(1)) return;
  Shape table = c.in_spec(1).shape;
  table[0] = c.site().integer("extent");
  const Expr at_indices =
      c.builder().one("gather_grad", {c.dy(1), c.out(0)},
                      {{"shape", table}, {"axis", int64_t{0}}, {"zero_OOR", true}, {"batch", int64_t{0}}});
  c.set(1, c.builder().one("gather", {at_indices, c.in(0)},
                           {{"axis", int64_t{0}}, {"zero_OOR", c.site().boolean("ignore_OOR")}}));
}

std::vector<TensorSpec> infer_index_copy(const OpContext& s) {
  const TensorSpec& t = s.input(0);
  if (t.shape.empty()) refuse(s, fmt::format("{} must have at least one axis", s.label(0)), codes::shape);
  check_list(s, 1);
  Shape values = t.shape;
  values[0] = s.input(1).shape[0];
  check_shape(s, 2, values);
  check_same_dtype(s, 0, 2);
  return {t};
}

constexpr OpRow sparse_table[] = {
    {.name = "sum_duplicates",
     .path = "ops.sum_duplicates",
     .schedule = "SumDuplicates",
     .output = "unique_indices,row_sums",
     .doc = "The distinct indices, and the sums of the rows with each: the first results hold each index that occurs, "
            "once and in ascending order, then -1; row i of the second is the sum, in order, of the rows with index i "
            "of the first, and 0 where that is -1. Both have as many rows as there are indices.",
     .example = "sum_duplicates(array([4, 1, 4]), array([[1.0], [2.0], [3.0]]), 5)",
     .params = sum_params,
     .infer = infer_sum,
     .definition = reference::sum_duplicates,
     .kernel =
         [](const OpContext& s) {
           return sum_duplicates_kernel(s.input(0), s.input(1), s.integer("extent"), s.boolean("ignore_OOR"));
         },
     .gradient = sum_gradient,
     .flops = [](const OpContext& s) { return s.input(1).size(); },
     .checks_indices =
         [](const OpContext& s) { return indices_below(0, s.integer("extent"), s.boolean("ignore_OOR")); },
     .tiles = tile_scatter},
    {.name = "index_copy_",
     .path = "ops.var_updates.index_copy_",
     .schedule = "IndexCopyInplace",
     .output = "index_copy__{0}",
     .doc = "Overwrites rows of t, those at the indices; the last of duplicates wins. Other rows are neither read nor "
            "written.",
     .params = index_copy_params,
     .infer = infer_index_copy,
     .definition = reference::index_copy_,
     .kernel = [](const OpContext& s) { return index_copy_kernel(s.input(0), s.input(1), s.boolean("ignore_OOR")); },
     .flops = [](const OpContext& s) { return s.input(2).size(); },
     .pattern = Pattern::movement,
     .modifies = 1,
     .alias = 0,
     .checks_indices =
         [](const OpContext& s) { return indices_below(1, s.input(0).shape[0], s.boolean("ignore_OOR")); },
     .tiles = tile_scatter},
};
static_assert(all_complete(sparse_table));

}  // namespace

std::span<const OpRow> sparse_rows() { return sparse_table; }

}  // namespace pxl
