// Lowering of ops to nodes, aliases by definition, and dependencies.
#include "runtime/plan/node.hpp"

#include <algorithm>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/graph/remote.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl {

std::vector<ViewPart> view_parts(const Op& op) {
  const TensorSpec& out = op.outputs[0]->spec;
  if (out.size() == 0) return {};
  const OpContextStorage storage(op);
  if (op.row->parts) return op.row->parts(storage.site);
  const auto slot = static_cast<size_t>(op.row->alias);
  std::optional<StridedLayout> operand = layout_of(op, 0, contiguous(op.inputs[slot]->spec.shape));
  if (!operand) throw Error("a view whose place in memory is unknown", {}, Fault::internal);
  return {{slot, std::move(*operand), contiguous(out.shape)}};
}

namespace {

/// Whether a view is all of one operand, in the same order.
bool is_whole_view(const Op& op) {
  if (op.row->view) return true;
  const std::vector<ViewPart> parts = view_parts(op);
  return parts.size() == 1 && is_contiguous(parts[0].operand) && is_contiguous(parts[0].result) &&
         op.inputs[parts[0].slot]->spec.size() == op.outputs[0]->spec.size();
}

}  // namespace

bool is_plain_copy(const Op& op) {
  if (op.row->role != Role::compute || op.inputs.empty() || !op.inputs[0] || op.outputs.size() != 1) return false;
  if (op.row->view) return true;
  if (op.row->parts) return is_whole_view(op);
  if (!op.row->layout) return false;
  const std::optional<StridedLayout> layout = layout_of(op, 0, contiguous(op.inputs[0]->spec.shape));
  return layout && is_contiguous(*layout);
}

std::optional<StridedLayout> layout_of(const Op& op, size_t j, const StridedLayout& operand) {
  if (op.row->role != Role::compute || op.inputs.empty() || !op.inputs[0]) return std::nullopt;
  if (op.row->view) return reshaped(operand, op.outputs[j]->spec.shape);
  if (!op.row->layout) return std::nullopt;
  const OpContextStorage storage(op);
  return op.row->layout(storage.site, operand)[j];
}

bool may_fail(const Op& op) {
  if (is_remote(op)) return true;       // the entry may be out of range
  if (loop_condition(op)) return true;  // it may go on beyond its bound
  return op.row->checks_indices && op.row->checks_indices(OpContextStorage(op).site).fails;
}

bool may_fail(const Node& node) {
  bool fails = false;
  for_each_leaf(node, [&](const Node& leaf) { fails = fails || may_fail(*leaf.op); });
  return fails;
}

bool decides_failure(const Op& op, size_t slot) {
  return is_remote(op) || (slot < op.inputs.size() && op.inputs[slot] && is_integer(op.inputs[slot]->spec.dtype));
}

namespace {

void lower_call(Node& node, const Op& op) {
  const Role role = op.row->role;
  for (size_t which = 0; which < op.called.size(); ++which) {
    const Plan& callee = *node.callees[which];
    const size_t first = callee_operand_begin(op, which);
    node.effect = node.effect || callee.effects;
    for (size_t i = 0; i < callee.input_modified.size(); ++i) {
      // A carried by-reference input of a loop is written at the end of each iteration.
      const bool carried = role == Role::loop && i < op.outputs.size();
      if (is_by_reference(op, which, i) && (callee.input_modified[i] || carried))
        node.modified.push_back(static_cast<int>(first + i));
    }
  }
  const Plan& callee = *node.callees[0];
  if (role == Role::call) {
    for (size_t j = 0; j < op.outputs.size(); ++j) {
      const OutputSource& source = callee.sources[j];
      const int out = static_cast<int>(j);
      if (source.kind == OutputSource::Kind::output) node.output_aliases.push_back({out, true, source.index});
      if (source.kind != OutputSource::Kind::input) continue;
      const auto input = static_cast<size_t>(source.index);
      if (is_by_reference(op, 0, input) || !callee.input_modified[input])
        node.output_aliases.push_back({out, false, source.index});
      else
        node.in_place_candidates.push_back({out, source.index});
    }
  } else if (role == Role::loop) {
    for (size_t j = 0; j < op.outputs.size(); ++j)
      if (!is_by_reference(op, 0, j)) node.in_place_candidates.push_back({static_cast<int>(j), static_cast<int>(j)});
  }
}

}  // namespace

Node lower(const Op& op, std::vector<const Plan*> callees) {
  Node node;
  node.op = &op;
  node.callees = std::move(callees);
  node.in.assign(op.inputs.begin(), op.inputs.end());
  node.out.assign(op.outputs.begin(), op.outputs.end());
  node.effect = op.row->side_effect || op.row->role == Role::host_load || op.row->role == Role::host_store;
  if (is_view(*op.row) && !is_whole_view(op))
    node.strided_view = op.outputs[0]->spec.size() > 0;
  else if (op.row->alias >= 0 && !op.outputs.empty() && op.inputs[static_cast<size_t>(op.row->alias)])
    node.alias = op.row->alias;
  if (!node.callees.empty()) {
    lower_call(node, op);
    return node;
  }
  for (size_t slot = 0; slot < op.inputs.size(); ++slot)
    if (op.inputs[slot] && op.modifies(slot)) node.modified.push_back(static_cast<int>(slot));
  if (op.row->role == Role::host_load) {
    // A load overwrites its operand, whose old value is dead.
    for (const Tensor*& t : node.in) t = nullptr;
    node.modified.clear();
    node.alias = -1;
    return node;
  }
  if (node.alias >= 0) return node;
  if (is_plain_copy(op))
    node.output_aliases.push_back({0, false, 0});
  else if (op.row->inplace_ok && (op.row->role == Role::compute || is_remote(op)) && op.inputs[0] &&
           !op.outputs.empty() && op.inputs[0]->spec.shape == op.outputs[0]->spec.shape &&
           op.inputs[0]->spec.dtype == op.outputs[0]->spec.dtype)
    node.in_place_candidates.push_back({0, 0});
  return node;
}

Aliases::Aliases(const std::vector<Node>& nodes) {
  for (size_t p = 0; p < nodes.size(); ++p) {
    const Node& node = nodes[p];
    if (node.alias >= 0) root_[node.out[0]] = root(node.in[static_cast<size_t>(node.alias)]);
    for (int slot : node.modified) writes_[root(node.in[static_cast<size_t>(slot)])].push_back(static_cast<int>(p));
  }
}

const Tensor* Aliases::root(const Tensor* tensor) const {
  const auto found = root_.find(tensor);
  return found == root_.end() ? tensor : found->second;
}

const std::vector<int>& Aliases::writes(const Tensor* tensor) const {
  static const auto& never = never_destroyed(std::vector<int>());
  const auto found = writes_.find(root(tensor));
  return found == writes_.end() ? never : found->second;
}

bool Aliases::written_between(const Tensor* tensor, int after, int before) const {
  const std::vector<int>& all = writes(tensor);
  const auto next = std::upper_bound(all.begin(), all.end(), after);
  return next != all.end() && *next < before;
}

bool is_pure(const Node& node) {
  return node.op->row->role == Role::compute && node.op->row->exchange == Exchange::none && !node.effect &&
         node.callees.empty() && node.modified.empty() && node.alias < 0 && node.form == Form::op && !node.out.empty();
}

bool has_dependency(const Aliases& aliases, const Node& later, const Node& earlier) {
  if (later.effect && earlier.effect) return true;
  for (const Tensor* t : later.in) {
    if (!t) continue;
    if (std::find(earlier.out.begin(), earlier.out.end(), t) != earlier.out.end()) return true;
    for (int slot : earlier.modified)
      if (aliases.root(earlier.in[static_cast<size_t>(slot)]) == aliases.root(t)) return true;
  }
  for (int slot : later.modified) {
    const Tensor* changed = aliases.root(later.in[static_cast<size_t>(slot)]);
    for (const Tensor* t : earlier.in)
      if (t && aliases.root(t) == changed) return true;
    for (const Tensor* t : earlier.out)
      if (aliases.root(t) == changed) return true;
  }
  return false;
}

}  // namespace pxl
