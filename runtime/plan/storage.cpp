// Shared memory. Tensors share memory as aliases by definition, as output aliases if no write can be observed, and as
// in-place results if the operand is dead. A result that only overwrites a variable is computed in the variable's
// memory.
#include "runtime/plan/storage.hpp"

#include <algorithm>

#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

/// Tensors that share one buffer. Positions are indices of nodes.
struct AliasSet {
  const Tensor* external = nullptr;  ///< the graph input, variable or constant that owns the memory
  int input = -1;                    ///< index, if `external` is a graph input
  int output = -1;                   ///< index of the first graph output in the set
  const Tensor* tensor = nullptr;    ///< its first tensor
  int64_t bytes = 0;
  int first = 0, last = -1;
  bool kept = false;        ///< over all iterations of a loop
  std::vector<int> writes;  ///< positions of in-place writes
  int merged_into = -1;
};

class AliasSets {
 public:
  AliasSets(const std::vector<Node>& nodes, const std::vector<const Tensor*>& inputs,
            const std::vector<const Tensor*>& outputs)
      : end_(static_cast<int>(nodes.size())) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      AliasSet& set = sets_[static_cast<size_t>(add(inputs[i], 0))];
      set.external = inputs[i];
      set.input = static_cast<int>(i);
    }
    for (int p = 0; p < end_; ++p) visit(nodes[static_cast<size_t>(p)], p);
    for (size_t j = 0; j < outputs.size(); ++j) {
      AliasSet& set = of(outputs[j]);
      set.last = end_;
      if (set.output < 0 && outputs[j]->spec.bytes() == set.bytes) set.output = static_cast<int>(j);
    }
    place_updates(nodes);
    for (int p = 0; p < end_; ++p) {
      const Node& node = nodes[static_cast<size_t>(p)];
      for (const OutputAlias& view : node.output_aliases) share_view(node, view, p);
      for (const InPlaceCandidate& reuse : node.in_place_candidates) take_over(node, reuse, p);
    }
    place_overwrites(nodes);
  }

  Storage finish(size_t input_count) {
    Storage storage;
    storage.input_modified.assign(input_count, false);
    std::vector<BufferId> buffer_of_set(sets_.size(), -1);
    for (size_t i = 0; i < sets_.size(); ++i) {
      const AliasSet& set = sets_[i];
      if (set.merged_into >= 0) continue;
      Buffer buffer;
      buffer.tensor = set.external ? set.external : set.tensor;
      buffer.bytes = set.bytes;
      buffer.first = set.first;
      buffer.last = std::max(set.first, set.last);
      const auto id = static_cast<BufferId>(storage.buffers.size());
      if (set.input >= 0) {
        buffer.kind = Buffer::Kind::input;
        buffer.index = set.input;
        storage.input_modified[static_cast<size_t>(set.input)] = !set.writes.empty();
      } else if (set.external && set.external->kind == TensorKind::variable) {
        buffer.kind = Buffer::Kind::variable;
      } else if (set.external && set.writes.empty()) {
        buffer.kind = Buffer::Kind::constant;
      } else if (set.external) {
        buffer.first = 0;
        storage.changed_constants.emplace_back(set.external, id);
      } else if (set.output >= 0) {
        buffer.kind = Buffer::Kind::output;
        buffer.index = set.output;
      }
      buffer_of_set[i] = id;
      storage.buffers.push_back(buffer);
    }
    storage.buffer_of.reserve(set_of_.size());
    set_of_.for_each([&](const Tensor* tensor, int set) {
      storage.buffer_of[tensor] = buffer_of_set[static_cast<size_t>(find(set))];
    });
    return storage;
  }

 private:
  int add(const Tensor* tensor, int first) {
    const auto id = static_cast<int>(sets_.size());
    AliasSet set;
    set.tensor = tensor;
    set.bytes = tensor->spec.bytes();
    set.first = first;
    sets_.push_back(std::move(set));
    set_of_[tensor] = id;
    return id;
  }

  int find(int id) const {
    while (sets_[static_cast<size_t>(id)].merged_into >= 0) id = sets_[static_cast<size_t>(id)].merged_into;
    return id;
  }
  int id_of(const Tensor* tensor) {
    const auto found = set_of_.find(tensor);
    if (found != set_of_.end()) return find(found->second);
    // Not defined by a node: a variable or a constant.
    const int id = add(tensor, 0);
    sets_[static_cast<size_t>(id)].external = tensor;
    return id;
  }
  AliasSet& of(const Tensor* tensor) { return sets_[static_cast<size_t>(id_of(tensor))]; }

  void visit(const Node& node, int p) {
    for (const Tensor* t : node.in)
      if (AliasSet* set = t ? &of(t) : nullptr; set && !set->kept) set->last = p;
    for (int slot : node.modified) {
      std::vector<int>& writes = of(node.in[static_cast<size_t>(slot)]).writes;
      if (writes.empty() || writes.back() != p) writes.push_back(p);
    }
    for (size_t j = 0; j < node.out.size(); ++j) {
      if (j == 0 && node.alias >= 0) {
        const int root = id_of(node.in[static_cast<size_t>(node.alias)]);
        set_of_[node.out[0]] = root;
        AliasSet& set = sets_[static_cast<size_t>(root)];
        set.bytes = std::max(set.bytes, node.out[0]->spec.bytes());
      } else {
        AliasSet& set = sets_[static_cast<size_t>(add(node.out[j], p))];
        set.last = p;
        set.kept = node.once;
        if (set.kept) set.first = 0, set.last = end_;
      }
    }
  }

  void merge(int into, int from) {
    AliasSet &a = sets_[static_cast<size_t>(into)], &b = sets_[static_cast<size_t>(from)];
    b.merged_into = into;
    a.first = std::min(a.first, b.first);
    a.last = std::max(a.last, b.last);
    if (b.output >= 0 && (a.output < 0 || b.output < a.output)) a.output = b.output;
    if (b.writes.empty()) return;
    std::vector<int> writes;
    std::set_union(a.writes.begin(), a.writes.end(), b.writes.begin(), b.writes.end(), std::back_inserter(writes));
    a.writes = std::move(writes);
  }

  /// Whether `set` is written after position p and not after the last use of `other`.
  static bool written_while_live(const AliasSet& set, int p, const AliasSet& other) {
    const auto next = std::upper_bound(set.writes.begin(), set.writes.end(), p);
    return next != set.writes.end() && *next <= other.last;
  }

  /// Merges an output alias with its source, unless a later write to one would be visible through the other.
  void share_view(const Node& node, const OutputAlias& view, int p) {
    const Tensor* source =
        view.of_output ? node.out[static_cast<size_t>(view.index)] : node.in[static_cast<size_t>(view.index)];
    const int a = id_of(source), b = id_of(node.out[static_cast<size_t>(view.out)]);
    const AliasSet &from = sets_[static_cast<size_t>(a)], &to = sets_[static_cast<size_t>(b)];
    if (a == b || to.external || from.bytes != to.bytes) return;
    if (from.external && !to.writes.empty()) return;
    // The node writes that memory through another, by-reference operand: the alias has the value from before.
    if (!view.of_output)
      for (int slot : node.modified)
        if (slot != view.index && id_of(node.in[static_cast<size_t>(slot)]) == a) return;
    if (written_while_live(from, p, to) || written_while_live(to, p, from)) return;
    merge(a, b);
  }

  /// Places an output in the memory of an operand that is dead after the node.
  void take_over(const Node& node, const InPlaceCandidate& reuse, int p) {
    const Tensor* operand = node.in[static_cast<size_t>(reuse.slot)];
    const Tensor* result = node.out[static_cast<size_t>(reuse.out)];
    const int a = id_of(operand), b = id_of(result);
    const AliasSet &from = sets_[static_cast<size_t>(a)], &to = sets_[static_cast<size_t>(b)];
    if (a == b || from.external || to.external || from.last != p || from.bytes != to.bytes) return;
    for (size_t slot = 0; slot < node.in.size(); ++slot)
      if (static_cast<int>(slot) != reuse.slot && node.in[slot] && id_of(node.in[slot]) == a) return;
    for (size_t j = 0; j < node.out.size(); ++j)
      if (static_cast<int>(j) != reuse.out && id_of(node.out[j]) == a) return;
    merge(a, b);
  }

  /// Whether a node may fail although it has run once. A constant index that was valid stays valid.
  bool fails_after_runs(const Node& n) {
    if (n.in.size() != n.op->inputs.size()) return true;
    for (size_t slot = 0; slot < n.in.size(); ++slot) {
      if (!n.in[slot] || !decides_failure(*n.op, slot)) continue;
      const AliasSet& set = of(n.in[slot]);
      if (!set.external || set.external->kind != TensorKind::constant || !set.writes.empty()) return true;
    }
    return false;
  }

  /// Decides whether the value of a variable may be made earlier than it is written there.
  struct Overwrites {
    std::unordered_map<int, std::vector<int>> uses;  ///< positions, of the variables that are overwritten
    std::vector<int> obstacle;                       ///< the last position up to here that no value may be live across
    std::vector<int> barrier;                        ///< the same for a window, which may be live across failures
  };
  Overwrites find_overwrites(const std::vector<Node>& nodes) {
    Overwrites found;
    for (const Node& n : nodes)
      if (n.overwritten_by >= 0) found.uses.try_emplace(id_of(n.in[static_cast<size_t>(n.alias)]));
    if (found.uses.empty()) return found;
    const std::vector<bool> failing = failing_nodes(nodes);
    int last = -1, last_barrier = -1;
    for (size_t p = 0; p < nodes.size(); ++p) {
      const Node& n = nodes[p];
      if (!n.callees.empty() || n.op->row->exchange != Exchange::none) last_barrier = static_cast<int>(p);
      if (failing[p] && fails_after_runs(n)) last = static_cast<int>(p);
      last = std::max(last, last_barrier);
      found.obstacle.push_back(last);
      found.barrier.push_back(last_barrier);
      for (const auto* tensors : {&n.in, &n.out})
        for (const Tensor* t : *tensors)
          if (const auto use = t ? found.uses.find(id_of(t)) : found.uses.end(); use != found.uses.end())
            use->second.push_back(static_cast<int>(p));
    }
    return found;
  }
  bool is_variable(const AliasSet& set) const {
    return set.external && set.external->kind == TensorKind::variable && set.input < 0;
  }

  /// A value that only overwrites a variable is computed in the variable's memory, if nothing uses the variable from
  /// the value's definition on. Then the variable changes earlier, so no op in between may fail: a failed run would
  /// leave part of the value, and each run would have to copy the variables.
  void place_overwrites(const std::vector<Node>& nodes) {
    const Overwrites found = find_overwrites(nodes);
    for (size_t p = 0; !found.uses.empty() && p < nodes.size(); ++p) {
      const Node& n = nodes[p];
      if (n.overwritten_by < 0) continue;
      const int a = id_of(n.in[static_cast<size_t>(n.alias)]), b = id_of(n.in[static_cast<size_t>(n.overwritten_by)]);
      const AliasSet &to = sets_[static_cast<size_t>(a)], &from = sets_[static_cast<size_t>(b)];
      if (a == b || !is_variable(to)) continue;
      if (from.external || from.output >= 0 || from.last != static_cast<int>(p) || from.bytes != to.bytes) continue;
      const auto use = found.uses.find(a);
      if (use == found.uses.end()) continue;
      const auto before = std::ranges::lower_bound(use->second, static_cast<int>(p));
      if (found.obstacle[p] >= from.first || (before != use->second.begin() && *std::prev(before) >= from.first))
        continue;
      merge(a, b);
    }
  }

  /// A value that is the variable's old value but for a part, as an update at an index gives it, is the variable: the
  /// part alone is written. It may be made in several steps, of which nothing else uses the earlier ones. Nothing uses
  /// the old value after the first step, and nothing fails between it and the write of the variable. Where the steps
  /// write windows something may fail: a run keeps the old windows.
  void place_updates(const std::vector<Node>& nodes) {
    const Overwrites found = find_overwrites(nodes);
    if (found.uses.empty()) return;
    PointerMap<const Tensor*, int> producer;
    for (size_t p = 0; p < nodes.size(); ++p)
      for (const Tensor* t : nodes[p].out) producer[t] = static_cast<int>(p);
    for (size_t p = 0; p < nodes.size(); ++p) {
      const Node& n = nodes[p];
      if (n.overwritten_by < 0) continue;
      const int a = id_of(n.in[static_cast<size_t>(n.alias)]);
      if (!is_variable(sets_[static_cast<size_t>(a)])) continue;
      const std::vector<int> steps = steps_from(nodes, producer, n.in[static_cast<size_t>(n.overwritten_by)], a);
      if (steps.empty()) continue;
      const int first = steps.back();
      const std::vector<int>& used = found.uses.at(a);
      const bool is_used = std::ranges::any_of(used, [&](int at) { return at > first && at < static_cast<int>(p); });
      const bool written_again = sets_[static_cast<size_t>(a)].writes != std::vector<int>{static_cast<int>(p)};
      const bool windows = std::ranges::all_of(
          steps, [&](int step) { return writes_a_window(*nodes[static_cast<size_t>(step)].op->row); });
      if (is_used || written_again || (windows ? found.barrier : found.obstacle)[p] > first) continue;
      for (const int step : steps) merge(a, id_of(nodes[static_cast<size_t>(step)].out[0]));
      sets_[static_cast<size_t>(a)].writes.assign(steps.rbegin(), steps.rend());
    }
  }

  /// The operand that a result of a node is a view of, or null.
  static const Tensor* viewed(const Node& n, const Tensor* result) {
    for (const OutputAlias& view : n.output_aliases)
      if (!view.of_output && n.out[static_cast<size_t>(view.out)] == result)
        return n.in[static_cast<size_t>(view.index)];
    return nullptr;
  }

  /// The nodes, from the last to the first, that make a value of a variable's old one by writing a part of it. Empty if
  /// it is made in another way.
  std::vector<int> steps_from(const std::vector<Node>& nodes, const PointerMap<const Tensor*, int>& producer,
                              const Tensor* value, int variable) {
    std::vector<int> steps;
    while (id_of(value) != variable) {
      const auto made = producer.find(value);
      const AliasSet& set = of(value);
      if (made == producer.end() || set.external || set.output >= 0 || !set.writes.empty() ||
          set.bytes != sets_[static_cast<size_t>(variable)].bytes)
        return {};
      const Node& n = nodes[static_cast<size_t>(made->second)];
      if (const Tensor* whole = viewed(n, value); whole && id_of(whole) != variable && of(whole).bytes == set.bytes) {
        value = whole;  // share_view gives it the memory of its source
        continue;
      }
      if (!steps.empty() && set.last != steps.back()) return {};  // an earlier step has another use
      const bool writes_a_part = n.form == Form::op && n.op->row->pattern == Pattern::movement &&
                                 n.in_place_candidates.size() == 1 && n.in_place_candidates[0].slot == 0;
      if (!writes_a_part) return {};
      for (size_t slot = 1; slot < n.in.size(); ++slot)
        if (n.in[slot] && id_of(n.in[slot]) == id_of(n.in[0])) return {};
      steps.push_back(made->second);
      value = n.in[0];
    }
    return steps;
  }

  int end_;
  std::vector<AliasSet> sets_;
  PointerMap<const Tensor*, int> set_of_;
};

}  // namespace

bool writes_a_window(const OpRow& row) {
  static const OpRow &update = get_op("dynamic_update"), &in_place = get_op("dynamic_update_");
  return &row == &update || &row == &in_place;
}

Storage assign_storage(const std::vector<Node>& nodes, const std::vector<const Tensor*>& inputs,
                       const std::vector<const Tensor*>& outputs) {
  return AliasSets(nodes, inputs, outputs).finish(inputs.size());
}

}  // namespace pxl
