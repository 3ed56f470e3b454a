#include "runtime/op/structural_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/op/complete.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/op/errors.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

constexpr Param call_params[] = {{"inputs", ParamKind::tensors}};
constexpr Param loop_params[] = {
    {"inputs", ParamKind::tensors},
    {"count", ParamKind::integer, no_default, "iterations; at most, where there is a condition"},
    {"condition", ParamKind::integer, none_default, "a carried bool, read before each iteration; none: no condition"}};
constexpr Param branch_params[] = {{"inputs", ParamKind::tensors, no_default, "the condition, then those of both"}};
constexpr Param load_params[] = {{"memory", ParamKind::tensor}};
constexpr Param store_params[] = {{"t", ParamKind::tensor}};
constexpr Param init_params[] = {{"shape", ParamKind::shape},
                                 {"dtype", ParamKind::dtype, of(DType::float32)},
                                 {"name", ParamKind::string, of("init"), "not used"},
                                 {"init_type", ParamKind::string, of("zero"), "zero or undef; both give zeros"}};

constexpr Param remote_load_params[] = {{"t", ParamKind::tensor, no_default, "memory for the entry"},
                                        {"entry", ParamKind::index},
                                        {"buffer", ParamKind::integer}};
constexpr Param remote_store_params[] = {
    {"t", ParamKind::tensor}, {"entry", ParamKind::index}, {"buffer", ParamKind::integer}};

constexpr OpRow remote_load_row_ = {.name = "remote_load",
                                    .schedule = "RemoteLoad",
                                    .output = "{0}_remote_loaded",
                                    .doc = "Copies an entry of a remote buffer.",
                                    .params = remote_load_params,
                                    .role = Role::remote_load,
                                    .inplace_ok = true,
                                    .side_effect = true,
                                    .inplace = "remote_load_",
                                    .tiles = tile_host};

constexpr OpRow remote_load_inplace_row_() {
  OpRow row = remote_load_row_;
  row.name = "remote_load_";
  row.schedule = "RemoteLoadInplace";
  row.doc = "Overwrites a tensor with an entry of a remote buffer.";
  row.modifies = 1;
  row.alias = 0;
  row.inplace_ok = false;
  row.inplace = {};
  return row;
}

constexpr OpRow structural_table[] = {
    {.name = "call",
     .schedule = "Call",
     .output = "call_out",
     .doc = "Calls a graph.",
     .params = call_params,
     .role = Role::call,
     .tiles = tile_control},
    {.name = "loop",
     .schedule = "Loop",
     .output = "loop_out",
     .doc = "Calls a graph repeatedly; its outputs become its first inputs. A carried bool may end it.",
     .params = loop_params,
     .role = Role::loop,
     .tiles = tile_control},
    {.name = "branch",
     .schedule = "If",
     .output = "if_out",
     .doc = "Calls one of two graphs, depending on a condition.",
     .params = branch_params,
     .role = Role::branch,
     .tiles = tile_control},
    {.name = "host_load",
     .schedule = "HostLoad",
     .output = "{0}_hostload",
     .doc = "Copies the next sample of an input stream.",
     .params = load_params,
     .role = Role::host_load,
     .side_effect = true,
     .tiles = tile_host},
    {.name = "host_store",
     .schedule = "HostStore",
     .doc = "Copies a tensor to an output stream.",
     .params = store_params,
     .role = Role::host_store,
     .side_effect = true,
     .tiles = tile_host},
    remote_load_row_,
    remote_load_inplace_row_(),
    {.name = "remote_store",
     .schedule = "RemoteStore",
     .doc = "Copies a tensor to an entry of a remote buffer.",
     .params = remote_store_params,
     .role = Role::remote_store,
     .side_effect = true,
     .tiles = tile_host},
    {.name = "init",
     .path = "ops.init",
     .schedule = "Init",
     .output = "init",
     .doc = "New memory, filled with zeros.",
     .example = "init([2, 2], float32)",
     .params = init_params,
     .infer =
         [](const OpContext& s) {
           TensorSpec spec{s.integers("shape"), s.dtype("dtype"), {}};
           for (int64_t extent : spec.shape)
             if (extent < 0) refuse(s, fmt::format("invalid shape {}", bracket_text(spec.shape)), codes::shape);
           prefixed(s, [&] { return element_count(spec.shape); });
           if (const auto* type = std::get_if<std::string>(&s.attr("init_type")))
             if (*type != "zero" && *type != "undef")
               refuse(s, fmt::format("init_type must be zero or undef, not {}", *type));
           return std::vector<TensorSpec>{spec};
         },
     .definition = reference::init,
     .kernel =
         [](const OpContext& s) {
           const DType dtype = s.out[0].dtype;  // zero has the same bits in both float8 formats
           return fill_kernel(Element(dtype), s.out[0].size());
         },
     .flops = [](const OpContext&) { return int64_t{0}; },
     .pattern = Pattern::movement,
     .tiles = tile_fill},
};
static_assert(all_complete(structural_table));

/// The first row of a role.
const OpRow& the_row(Role role) {
  for (const OpRow& row : structural_table)
    if (row.role == role) return row;
  throw Error("a structural op without a row", {}, Fault::internal);
}

}  // namespace

std::span<const OpRow> structural_rows() { return structural_table; }
const OpRow& call_row() { return the_row(Role::call); }
const OpRow& host_load_row() { return the_row(Role::host_load); }
const OpRow& host_store_row() { return the_row(Role::host_store); }
const OpRow& remote_load_row() { return the_row(Role::remote_load); }
const OpRow& remote_load_inplace_row() {
  return *std::find_if(std::begin(structural_table), std::end(structural_table),
                       [](const OpRow& row) { return row.role == Role::remote_load && row.modifies != 0; });
}
const OpRow& remote_store_row() { return the_row(Role::remote_store); }
const OpRow& init_row() { return the_row(Role::compute); }

}  // namespace pxl
