#include "runtime/graph/read_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/graph/memory_order.hpp"
#include "runtime/graph/sequencing.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {

namespace {

bool changes_memory(const Op& op) {
  if (op.row->role == Role::host_load) return false;  // fills memory that no other op uses
  for (size_t slot = 0; slot < op.inputs.size(); ++slot)
    if (op.inputs[slot] && op.modifies(slot)) return true;
  return false;
}

size_t position(const Op& op) {
  const auto& ops = op.graph->ops();
  const auto at = std::find_if(ops.rbegin(), ops.rend(), [&](const auto& other) { return other.get() == &op; });
  return static_cast<size_t>(ops.rend() - at) - 1;
}

/// The user's line that created an op; for an op of a library function the line that called the function.
Span user_line(const Origin& origin) {
  const auto is_users = [](const Span& span) { return span.file && !is_library(span.file->name()); };
  if (is_users(origin.span)) return origin.span;
  for (const Frame* f = origin.frames.get(); f; f = f->outer.get())
    if (is_users(f->at)) return f->at;
  return origin.span;
}

[[noreturn]] void refuse(const Op& change, const Tensor& changed, const Op& since, std::string_view what) {
  const auto place = [](const Op& op) {
    const Span line = user_line(op.origin);
    if (!line.file) return std::string();
    const Position at = line.file->position(line.begin);
    return fmt::format(" at {}:{}:{}", line.file->name(), at.line, at.column);
  };
  throw Error(
      fmt::format("{}: `{}` is changed by `{}`{} after the forward pass `{}`{} read it, and the gradient, which "
                  "reads the old value, cannot run before that change",
                  what, shown_name(changed), shown_name(change), place(change), shown_name(since), place(since)),
      {"take the gradient before the change; or take the change out of `in_sequence`, and make the gradient "
       "independent of it"})
      .as(codes::in_place_order);
}

/// The ops that change a reader's memory between two ops, and the ops that depend on these changes.
class Changes {
 public:
  using Ops = std::unordered_set<const Op*>;

  /// Those from the `since` of an operand to `end`, both excluded.
  Changes(const std::vector<Reading>& readings, const Op& end, const Op& reader)
      : graph_(*reader.graph), reader_(reader), groups_(graph_) {
    const size_t last = position(end);
    size_t first = last;
    for (const Reading& r : readings) {
      slots_.insert(r.slot);
      const size_t since = position(*r.since);
      const auto [at, fresh] = read_.emplace(groups_.group(reader.inputs[r.slot]), since);
      if (!fresh) at->second = std::min(at->second, since);
      first = std::min(first, since + 1);
    }
    for (size_t k = first; k < last; ++k)
      if (Op& op = *graph_.ops()[k]; changed_by(op)) changes_.push_back(&op);
    if (!changes_.empty()) add_memory_order();
  }

  const std::vector<Op*>& all() const { return changes_; }
  /// The tensor that an op modifies and the reader reads; null for none.
  const Tensor* changed_by(const Op& op) const {
    if (op.row->role == Role::host_load) return nullptr;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      if (!op.inputs[slot] || !op.modifies(slot)) continue;
      const auto read = read_.find(groups_.group(op.inputs[slot]));
      if (read != read_.end() && position(op) > read->second) return op.inputs[slot];
    }
    return nullptr;
  }
  /// Whether an op changes the memory of the operand that a reading is of.
  bool changes(const Op& op, const Reading& r) const {
    for (size_t slot = 0; slot < op.inputs.size(); ++slot)
      if (op.inputs[slot] && op.modifies(slot) &&
          groups_.group(op.inputs[slot]) == groups_.group(reader_.inputs[r.slot]))
        return true;
    return false;
  }
  /// The ops and what must run after them, by data, constraints, memory or effects. The reader is there only if it
  /// depends on them in another way than by the memory that it reads.
  Ops with_followers(Ops some) const {
    const auto is_some = [&](const Op* op) { return some.count(op) > 0; };
    for (const auto& op : graph_.ops()) {
      const auto before = before_.find(op.get());
      if (std::ranges::any_of(op->inputs, [&](const Tensor* t) { return t && is_some(t->producer); }) ||
          std::ranges::any_of(op->after, is_some) ||
          (before != before_.end() && std::ranges::any_of(before->second, is_some)))
        some.insert(op.get());
    }
    return some;
  }

 private:
  /// Whether the reader modifies a group, or also uses it through another operand.
  bool has_other_use(size_t group) const {
    for (size_t slot = 0; slot < reader_.inputs.size(); ++slot)
      if (reader_.inputs[slot] && groups_.group(reader_.inputs[slot]) == group &&
          (slots_.count(slot) == 0 || reader_.modifies(slot)))
        return true;
    return false;
  }
  void add_memory_order() {
    const auto& ops = graph_.ops();
    for (const MemoryPair& p : memory_pairs(ops_of(graph_), groups_, true)) {
      const size_t group = groups_.group(p.changed);
      if (p.second + 1 == ops.size() && read_.count(group) > 0 && !has_other_use(group)) continue;
      before_[ops[p.second].get()].push_back(ops[p.first].get());
    }
    for (const auto& [first, second] : effect_pairs(ops_of(graph_)))
      before_[ops[second].get()].push_back(ops[first].get());
  }

  const Graph& graph_;
  const Op& reader_;
  std::unordered_set<size_t> slots_;
  MemoryGroups groups_;
  std::unordered_map<size_t, size_t> read_;  ///< memory groups, and the position of the op that found them
  std::vector<Op*> changes_;
  std::unordered_map<const Op*, std::vector<const Op*>> before_;  ///< by memory and effects
};

}  // namespace

bool is_memory_changed_after(const Op& op) {
  const auto& ops = op.graph->ops();
  return std::any_of(ops.begin() + static_cast<std::ptrdiff_t>(position(op)) + 1, ops.end(),
                     [](const auto& later) { return changes_memory(*later); });
}

bool is_read_changed(const Op& after, const Op& before, const Op& reader, const std::vector<size_t>& slots) {
  std::vector<Reading> readings;
  for (size_t slot : slots) readings.push_back({slot, const_cast<Op*>(&after)});
  return !Changes(readings, before, reader).all().empty();
}

void read_as_of(Op& since, Op& reader, const std::vector<size_t>& slots, std::string_view what) {
  std::vector<Reading> readings;
  for (size_t slot : slots) readings.push_back({slot, &since});
  read_as_of(readings, reader, what);
}

void read_as_of(const std::vector<Reading>& readings, Op& reader, std::string_view what) {
  if (readings.empty()) return;
  const Changes changes(readings, reader, reader);
  if (changes.all().empty()) return;
  const Changes::Ops later = changes.with_followers({changes.all().begin(), changes.all().end()});
  if (later.count(&reader) > 0)
    for (const Op* change : changes.all())
      if (changes.with_followers({change}).count(&reader) > 0)
        refuse(*change, *changes.changed_by(*change), *readings.front().since, what);
  Graph::Sequencing::move_to_end(*reader.graph, later);
  // Calls keep the order in which the graph lists them; ops in place need a constraint (inplace_order.cpp).
  for (Op* change : changes.all())
    if (change->called.empty()) {
      std::unordered_set<Op*> added;
      for (const Reading& r : readings)
        if (changes.changes(*change, r) && added.insert(r.since).second)
          Graph::Sequencing::add_constraint(*change, *r.since);
      Graph::Sequencing::add_constraint(*change, reader);
    }
}

}  // namespace pxl
