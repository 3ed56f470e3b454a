// Remote buffers: their ops, and the order of these ops.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/remote.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/op/structural_rows.hpp"

namespace pxl {

namespace {

bool reaches_remote(const Graph& graph, std::unordered_set<const Graph*>& seen) {
  if (!seen.insert(&graph).second) return false;
  return std::any_of(graph.ops().begin(), graph.ops().end(), [&](const auto& op) {
    return is_remote(*op) ||
           std::any_of(op->called.begin(), op->called.end(), [&](const Graph* g) { return reaches_remote(*g, seen); });
  });
}

bool touches_remote(const Op& op) {
  std::unordered_set<const Graph*> seen;
  return is_remote(op) ||
         std::any_of(op.called.begin(), op.called.end(), [&](const Graph* g) { return reaches_remote(*g, seen); });
}

const RemoteBuffer& buffer_at(const Ir& ir, int64_t buffer) {
  if (buffer < 0 || buffer >= static_cast<int64_t>(ir.remote_buffers().size()))
    throw Error(fmt::format("there is no remote buffer {}", buffer), {}, Fault::internal);
  return ir.remote_buffers()[static_cast<size_t>(buffer)];
}

void check_entry(std::string_view what, const Tensor* entry) {
  if (!is_integer(entry->spec.dtype) || entry->spec.size() != 1)
    throw Error(fmt::format("{}: the number of the entry, `{}`, must be one integer, not {}", what, shown_name(*entry),
                            text(entry->spec)))
        .as(codes::dtype);
}

/// The spec of the buffer's entries. Throws unless the tensor has it and the entry is a number.
const TensorSpec& check_transfer(const Ir& ir, const OpRow& row, int64_t buffer, const Tensor& tensor,
                                 const Tensor* entry) {
  check_entry(row.name, entry);
  const TensorSpec& spec = buffer_at(ir, buffer).spec;
  if (tensor.spec != spec)
    throw Error(fmt::format("{}: entries of the buffer are {}, but `{}` is {}", row.name, text(spec),
                            shown_name(tensor), text(tensor.spec)))
        .as(codes::graph_inputs);
  return spec;
}

}  // namespace

bool is_remote(const Op& op) { return op.row->role == Role::remote_load || op.row->role == Role::remote_store; }

int64_t remote_buffer_of(const Op& op) { return std::get<int64_t>(op.attrs[param_index(*op.row, "buffer")]); }

void keep_remote_order(Op& op) {
  if (op.graph->ir().remote_buffers().empty() || !touches_remote(op)) return;
  const auto& ops = op.graph->ops();
  for (size_t k = ops.size(); k > 0; --k) {
    Op* before = ops[k - 1].get();
    if (before == &op || !touches_remote(*before)) continue;
    if (std::find(op.after.begin(), op.after.end(), before) == op.after.end()) op.after.push_back(before);
    return;
  }
}

Op* Graph::add_remote_load(int64_t buffer, Tensor* memory, Tensor* entry, bool in_place, const std::string& name) {
  check_open();
  const OpRow& row = in_place ? remote_load_inplace_row() : remote_load_row();
  check_member(row.name, memory);
  check_member(row.name, entry);
  const TensorSpec& spec = check_transfer(ir_, row, buffer, *memory, entry);
  if (in_place && memory->kind == TensorKind::constant)
    throw Error(fmt::format("{}: the constant `{}` cannot be changed in place", row.name, shown_name(*memory)))
        .as(codes::in_place);
  Attributes attrs(row.params.size());
  attrs[param_index(row, "buffer")] = buffer;
  Op* op = new_op(row, {memory, entry}, std::move(attrs));
  add_result(op, spec, name);
  keep_remote_order(*op);
  return op;
}

Op* Graph::add_remote_store(int64_t buffer, Tensor* tensor, Tensor* entry) {
  check_open();
  const OpRow& row = remote_store_row();
  check_member(row.name, tensor);
  check_member(row.name, entry);
  check_transfer(ir_, row, buffer, *tensor, entry);
  Attributes attrs(row.params.size());
  attrs[param_index(row, "buffer")] = buffer;
  Op* op = new_op(row, {tensor, entry}, std::move(attrs));
  keep_remote_order(*op);
  return op;
}

int64_t Ir::add_remote_buffer(RemoteBuffer buffer) {
  main().check_open();
  if (buffer.entries < 1)
    throw Error(fmt::format("a remote buffer has at least one entry, not {}", buffer.entries)).as(codes::value);
  element_count({buffer.entries, buffer.spec.bytes()});
  remote_buffers_.push_back(std::move(buffer));
  return static_cast<int64_t>(remote_buffers_.size()) - 1;
}

void check_remote_variable(const Ir& ir, const RemoteEntry& at, const TensorSpec& spec, const std::string& name) {
  const RemoteBuffer& b = buffer_at(ir, at.buffer);
  if (spec != b.spec)
    throw Error(
        fmt::format("the variable `{}` is {}, but entries of the buffer are {}", name, text(spec), text(b.spec)))
        .as(codes::graph_inputs);
  if (at.entry < 0 || at.entry >= b.entries)
    throw Error(
        fmt::format("the variable `{}` cannot be entry {} of a remote buffer for {}", name, at.entry, b.entries))
        .as(codes::index);
  for (const Tensor* other : ir.variables())
    if (other->remote && other->remote->buffer == at.buffer && other->remote->entry == at.entry)
      throw Error(
          fmt::format("entry {} of the remote buffer is the variable `{}` already", at.entry, shown_name(*other)))
          .as(codes::value);
}

}  // namespace pxl
