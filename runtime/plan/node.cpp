// Lowering of ops to nodes, aliases by definition, and removal of work that nobody reads.
#include "runtime/plan/node.hpp"

#include <algorithm>
#include <unordered_set>

#include "runtime/ops/definitions.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl {

size_t first_call_slot(const Op& op, size_t which) {
  if (op.row->role != Role::branch) return 0;
  return which == 0 ? 1 : 1 + op.called[0]->inputs().size();
}

bool passed_directly(const Op& op, size_t which, size_t input) {
  const size_t slot = first_call_slot(op, which) + input;
  return op.called[which]->inputs()[input]->by_ref || (slot < op.input_modified.size() && op.input_modified[slot]);
}

int64_t repeat_count(const Op& op) {
  if (op.row->role != Role::loop) return 1;
  for (const Attr& attr : op.attrs)
    if (const int64_t* n = std::get_if<int64_t>(&attr)) return std::max<int64_t>(*n, 0);
  throw Error("a loop without a number of repetitions", {}, Fault::internal);
}

std::vector<ViewPart> view_parts(const Op& op) {
  const TensorSpec& out = op.outputs[0]->spec;
  if (out.size() == 0) return {};
  const SiteStorage storage(op);
  if (op.row->parts) return op.row->parts(storage.site);
  const auto slot = static_cast<size_t>(op.row->alias);
  std::optional<Layout> operand = layout_of(op, 0, contiguous(op.inputs[slot]->spec.shape));
  if (!operand) throw Error("a view whose place in memory is unknown", {}, Fault::internal);
  return {{slot, std::move(*operand), contiguous(out.shape)}};
}

namespace {

/// Whether a view is one operand's memory, all of it and in its order.
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
  const std::optional<Layout> layout = layout_of(op, 0, contiguous(op.inputs[0]->spec.shape));
  return layout && is_contiguous(*layout);
}

std::optional<Layout> layout_of(const Op& op, size_t j, const Layout& operand) {
  if (op.row->role != Role::compute || op.inputs.empty() || !op.inputs[0]) return std::nullopt;
  if (op.row->view) return reshaped(operand, op.outputs[j]->spec.shape);
  if (!op.row->layout) return std::nullopt;
  const SiteStorage storage(op);
  return op.row->layout(storage.site, operand)[j];
}

bool may_fail(const Op& op) {
  if (op.row->role != Role::compute) return false;
  for (const Param& p : op.row->params)
    if (p.kind == ParamKind::index) return true;
  if (op.row->pattern == Pattern::other)
    for (const Tensor* t : op.inputs)
      if (t && is_integer(t->spec.dtype)) return true;
  return false;
}

namespace {

void lower_call(Node& node, const Op& op) {
  const Role role = op.row->role;
  for (size_t which = 0; which < op.called.size(); ++which) {
    const Plan& callee = *node.callees[which];
    const size_t first = first_call_slot(op, which);
    node.effect = node.effect || callee.effects;
    for (size_t i = 0; i < callee.input_modified.size(); ++i) {
      // A carried by-ref input of a loop is assigned at the end of each iteration.
      const bool carried = role == Role::loop && i < op.outputs.size();
      if (passed_directly(op, which, i) && (callee.input_modified[i] || carried))
        node.modified.push_back(static_cast<int>(first + i));
    }
  }
  const Plan& callee = *node.callees[0];
  if (role == Role::call) {
    for (size_t j = 0; j < op.outputs.size(); ++j) {
      const OutputSource& source = callee.sources[j];
      const int out = static_cast<int>(j);
      if (source.kind == OutputSource::Kind::output) node.views.push_back({out, true, source.index});
      if (source.kind != OutputSource::Kind::input) continue;
      const auto input = static_cast<size_t>(source.index);
      if (passed_directly(op, 0, input) || !callee.input_modified[input])
        node.views.push_back({out, false, source.index});
      else
        node.reuse.push_back({out, source.index});
    }
  } else if (role == Role::loop) {
    for (size_t j = 0; j < op.outputs.size(); ++j)
      if (!passed_directly(op, 0, j)) node.reuse.push_back({static_cast<int>(j), static_cast<int>(j)});
  }
}

}  // namespace

Kernel make_kernel(const Op& op) {
  const SiteStorage storage(op);
  return kernel_of(storage.site);
}

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
    // A load overwrites all of its operand, so what the operand held is neither read nor needed.
    for (const Tensor*& t : node.in) t = nullptr;
    node.modified.clear();
    node.alias = -1;
    return node;
  }
  if (node.alias >= 0) return node;
  if (is_plain_copy(op))
    node.views.push_back({0, false, 0});
  else if (op.row->inplace_ok && op.row->role == Role::compute)
    node.reuse.push_back({0, 0});
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
  static const std::vector<int> never;
  const auto found = writes_.find(root(tensor));
  return found == writes_.end() ? never : found->second;
}

bool Aliases::written_between(const Tensor* tensor, int after, int before) const {
  const std::vector<int>& all = writes(tensor);
  const auto next = std::upper_bound(all.begin(), all.end(), after);
  return next != all.end() && *next < before;
}

namespace {

template <class F>
void for_each_loaded(const Node& node, F&& f) {
  if (node.op->row->role == Role::host_load) f(node.op->stream);
  for (const Plan* callee : node.callees)
    for (const auto& [stream, n] : callee->transfers)
      if (stream->to_device) f(stream);
}

}  // namespace

void drop_dead_nodes(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep) {
  const Aliases aliases(nodes);
  std::unordered_set<const Tensor*> needed;  // roots
  for (const Tensor* t : outputs) needed.insert(aliases.root(t));
  std::unordered_set<const Stream*> streams;  // a needed load gets its sample only after the loads before it
  const auto wanted = [&](const Node& node) {
    if (keep == Keep::all && node.effect) return true;
    bool loads = false;
    for_each_loaded(node, [&](const Stream* s) { loads = loads || keep == Keep::state || streams.count(s); });
    if (loads) return true;
    for (const Tensor* t : node.out)
      if (needed.count(aliases.root(t))) return true;
    for (int slot : node.modified) {
      const Tensor* root = aliases.root(node.in[static_cast<size_t>(slot)]);
      if (needed.count(root)) return true;
      if (keep != Keep::results && (root->kind == TensorKind::variable || root->kind == TensorKind::input)) return true;
    }
    return false;
  };
  std::vector<Node> kept;
  for (size_t p = nodes.size(); p-- > 0;) {
    Node& node = nodes[p];
    if (!wanted(node)) continue;
    for (const Tensor* t : node.in)
      if (t) needed.insert(aliases.root(t));
    for_each_loaded(node, [&](const Stream* s) { streams.insert(s); });
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  nodes = std::move(kept);
}

}  // namespace pxl
