#include "runtime/plan/verify_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pxl {

namespace {

class StorageVerifier {
 public:
  StorageVerifier(const Plan& plan, const std::vector<Node>& nodes) : plan_(plan), nodes_(nodes), aliases_(nodes) {
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (!plan.buffers[i].tensor && plan.buffers[i].kind == Buffer::Kind::arena)
        temporaries_[plan.buffers[i].first].push_back(static_cast<BufferId>(i));
  }

  void run(const std::vector<const Tensor*>& outputs) {
    // A tensor that no node computes holds its value from the beginning, or receives it by a copy.
    plan_.buffer_of.for_each([this](const Tensor* tensor, BufferId id) {
      const Buffer& b = buffer(id);
      if (b.kind != Buffer::Kind::arena && tensor->kind != TensorKind::result) hold(id, value(tensor));
    });
    for (const Copy& copy : plan_.entry_copies) hold(copy.to, value(buffer(copy.from).tensor));
    for (position_ = 0; position_ < nodes_.size(); ++position_) visit(nodes_[position_]);
    for (const Node& n : nodes_)
      for (const Tensor* t : n.out)
        require(!n.once || holds(place(t), value(t)), "what a loop's first iteration finds holds another value later");
    for (const Tensor* t : outputs)
      if (const auto found = plan_.buffer_of.find(t); found != plan_.buffer_of.end())
        require(holds(found->second, value(t)), "an output's memory holds another value at the end");
  }

 private:
  using Value = int;
  struct Range {
    int64_t end = 0;
    BufferId buffer = -1;
    Value value = -1;
  };

  void require(bool holds, std::string_view what) const {
    if (holds) return;
    const std::string_view op = position_ < nodes_.size() ? nodes_[position_].op->row->name : "end";
    throw Error(fmt::format("invalid plan: node {} ({}): {}", position_, op, what), {}, Fault::internal);
  }
  const Buffer& buffer(BufferId id) const { return plan_.buffers[static_cast<size_t>(id)]; }
  BufferId place(const Tensor* t) const {
    const auto found = plan_.buffer_of.find(t);
    require(found != plan_.buffer_of.end(), "an operand or a result has no buffer");
    return found->second;
  }

  /// The value that a tensor has now. All names of one memory have the same value.
  Value value(const Tensor* t) {
    const auto [at, fresh] = value_.try_emplace(aliases_.root(t), next_value_);
    if (fresh) ++next_value_;
    return at->second;
  }
  Value new_value() { return next_value_++; }

  /// Buffer `id` now holds `v`; buffers that overlap with it lose their values.
  void hold(BufferId id, Value v) {
    const Buffer& b = buffer(id);
    if (b.kind != Buffer::Kind::arena) {
      external_[id] = v;
      return;
    }
    if (b.bytes == 0) return;
    auto at = arena_.upper_bound(b.offset);
    if (at != arena_.begin() && std::prev(at)->second.end > b.offset) --at;
    while (at != arena_.end() && at->first < b.offset + b.bytes) at = arena_.erase(at);
    arena_[b.offset] = {b.offset + b.bytes, id, v};
  }
  bool holds(BufferId id, Value v) const {
    const Buffer& b = buffer(id);
    if (b.kind != Buffer::Kind::arena) {
      const auto found = external_.find(id);
      return found != external_.end() && found->second == v;
    }
    if (b.bytes == 0) return true;
    const auto found = arena_.find(b.offset);
    return found != arena_.end() && found->second.buffer == id && found->second.value == v;
  }

  bool overlap(BufferId a, BufferId b) const {
    const Buffer &x = buffer(a), &y = buffer(b);
    if (x.bytes == 0 || y.bytes == 0) return false;
    if (x.kind != Buffer::Kind::arena || y.kind != Buffer::Kind::arena) return a == b;
    return x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  }

  void visit(const Node& n) {
    std::vector<std::pair<BufferId, Value>> held;
    if (const auto found = temporaries_.find(static_cast<int>(position_)); found != temporaries_.end())
      for (BufferId id : found->second) {
        held.emplace_back(id, new_value());
        hold(id, held.back().second);
      }
    for (size_t slot = 0; slot < n.in.size(); ++slot) {
      const bool is_read = n.in[slot] && (n.overwritten_by < 0 || static_cast<int>(slot) != n.alias);
      if (is_read) require(holds(place(n.in[slot]), value(n.in[slot])), "an operand's memory holds another value");
    }
    for (int slot : n.modified) {
      const Tensor* t = n.in[static_cast<size_t>(slot)];
      const Tensor* same = n.overwritten_by < 0 ? nullptr : n.in[static_cast<size_t>(n.overwritten_by)];
      value_[aliases_.root(t)] = same && place(same) == place(t) ? value(same) : new_value();
      hold(place(t), value(t));
    }
    for (size_t j = 0; j < n.out.size(); ++j) result(n, j);
    for (const Tensor* t : n.out) require(holds(place(t), value(t)), "a result's memory is written by another result");
    for (const auto& [id, v] : held) require(holds(id, v), "a temporary of a call overlaps with a result");
  }

  void result(const Node& n, size_t j) {
    const Tensor* t = n.out[j];
    const BufferId id = place(t);
    if (j == 0 && n.alias >= 0) {
      require(id == place(n.in[static_cast<size_t>(n.alias)]), "an alias is not in the memory that it names");
      return;
    }
    const OutputAlias* same = nullptr;
    for (const OutputAlias& a : n.output_aliases)
      if (a.out == static_cast<int>(j) && id == place((a.of_output ? n.out : n.in)[static_cast<size_t>(a.index)]))
        same = &a;
    if (same) {
      value_[t] = value((same->of_output ? n.out : n.in)[static_cast<size_t>(same->index)]);
      return;
    }
    for (size_t slot = 0; slot < n.in.size(); ++slot) {
      if (!n.in[slot] || !overlap(place(n.in[slot]), id)) continue;
      const bool allowed = std::any_of(n.in_place_candidates.begin(), n.in_place_candidates.end(), [&](const auto& c) {
        return place(n.in[slot]) == id && c.out == static_cast<int>(j) && c.slot == static_cast<int>(slot);
      });
      require(allowed, "a result is in the memory of an operand");
    }
    value_[t] = new_value();
    hold(id, value_[t]);
  }

  const Plan& plan_;
  const std::vector<Node>& nodes_;
  const Aliases aliases_;
  std::unordered_map<int, std::vector<BufferId>> temporaries_;  ///< by position
  std::unordered_map<const Tensor*, Value> value_;              ///< by root
  std::map<int64_t, Range> arena_;                              ///< by offset; disjoint
  std::unordered_map<BufferId, Value> external_;
  size_t position_ = 0;
  Value next_value_ = 0;
};

}  // namespace

void verify_storage(const Plan& plan, const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs) {
  StorageVerifier(plan, nodes).run(outputs);
}

}  // namespace pxl
