// Which nodes run together. One pass in order: a node joins the group that made one of its operands where either it can
// move up to the group's place or the group can move down to its own; a group runs at one place.
#include "runtime/plan/passes.hpp"

#include <algorithm>
#include <unordered_set>

#include "runtime/kernels/product.hpp"
#include "runtime/plan/fused_kernel.hpp"

namespace pxl {

namespace {

constexpr size_t max_fused_ops = 16;
constexpr size_t max_member_operands = 12;  // of one member
constexpr int max_fusion_distance = 256;    // nodes between a member and its group

struct Candidate {
  bool gives = false, takes = false;
  int64_t elements = 0;
};

struct Members {
  std::vector<int> nodes;  ///< ascending
  int place = 0;           ///< the node at whose position the group runs
  int64_t elements = 0;
};

class Fuser {
 public:
  explicit Fuser(PassContext& context) : c_(context), nodes_(context.nodes), group_(nodes_.size(), -1) {}

  void run() {
    for (size_t p = 0; p < nodes_.size(); ++p) candidates_.push_back(inspect(nodes_[p]));
    for (int p = 0; p < static_cast<int>(nodes_.size()); ++p) visit(p);
    rewrite();
  }

 private:
  Node& node(int p) { return nodes_[static_cast<size_t>(p)]; }
  const Tensor* root(const Tensor* t) const { return c_.aliases.root(t); }

  /// Makes the kernel of a node that has none yet, and says what fusing may do with it.
  static Candidate inspect(Node& n) {
    Candidate c;
    if (n.op->row->role != Role::compute || n.effect || !n.callees.empty() || n.out.empty() || is_plain_copy(*n.op))
      return c;
    if (!n.product && !n.kernel && n.op->row->product && n.in.size() == 2 && n.out.size() == 1) {
      const GemmShape plan = n.op->row->product(SiteStorage(*n.op).site);
      if (product_supports(n.in[0]->spec, n.in[1]->spec, n.out[0]->spec, plan)) n.product = plan;
    }
    if (!n.kernel) n.kernel = make_kernel(*n.op);
    if (n.product) {
      ProductOptions options;
      options.half = n.out[0]->spec.dtype == DType::float16;
      n.gemm_call = std::make_shared<const GemmCall>(GemmCall{*n.product, options});
    }
    c.elements = n.out[0]->spec.size();
    c.gives = n.product.has_value() || n.kernel.is_fusion_producer();
    c.takes = n.kernel.is_fusion_consumer() && n.in.size() <= max_member_operands;
    if (c.elements == 0) c.gives = c.takes = false;
    for (const Tensor* t : n.out)
      if (t->spec.size() != c.elements) c.gives = c.takes = false;
    // An in-place result that somebody asks for by its own name needs a node of its own.
    return c;
  }

  /// A group has no result for the memory that a member changes: nobody may read it under the name of the update's
  /// result. forget_aliases has renamed such readers; where it is left out, the update stays by itself.
  bool drops_alias(int p) const {
    const Node& n = nodes_[static_cast<size_t>(p)];
    return n.alias < 0 || (!c_.wanted_outside(n.out[0]) && c_.consumers.count(n.out[0]) == 0);
  }

  void visit(int p) {
    const Candidate& c = candidates_[static_cast<size_t>(p)];
    if (!drops_alias(p)) return;
    if (c.takes) {
      for (const Tensor* t : node(p).in) {
        const auto made = t ? made_.find(t) : made_.end();
        if (made == made_.end() || t->spec.size() != c.elements) continue;
        if (try_join(made->second, p)) return;
      }
    }
    if (c.gives || c.takes) {
      group_[static_cast<size_t>(p)] = static_cast<int>(groups_.size());
      groups_.push_back({{p}, p, c.elements});
      note_made(p);
    }
  }

  bool try_join(int index, int p) {
    Members& g = groups_[static_cast<size_t>(index)];
    if (g.elements != candidates_[static_cast<size_t>(p)].elements || g.nodes.size() >= max_fused_ops) return false;
    if (p - g.place > max_fusion_distance || !compatible(g, node(p))) return false;
    if (can_move_up(g, p)) {
      // The group stays where it is.
    } else if (can_move_down(g, p)) {
      g.place = p;
    } else {
      return false;
    }
    g.nodes.push_back(p);
    group_[static_cast<size_t>(p)] = index;
    note_made(p);
    return true;
  }

  /// What readers of the node's results, new tensors and changed ones, may join.
  void note_made(int p) {
    const int index = group_[static_cast<size_t>(p)];
    for (const Tensor* t : node(p).out) made_[t] = index;
    for (int slot : node(p).modified) made_[root(node(p).in[static_cast<size_t>(slot)])] = index;
  }

  /// Members hand each other whole elements only, and what a member changes no other one reads in another way.
  bool compatible(const Members& g, const Node& n) {
    const auto full = [&](const Tensor* t) { return t->spec.size() == g.elements; };
    for (const Tensor* t : n.in) {
      if (!t || full(t)) continue;
      const auto made = made_.find(t);
      if (made != made_.end() && &groups_[static_cast<size_t>(made->second)] == &g) return false;
    }
    std::unordered_set<const Tensor*> changed;
    for (int slot : n.modified) changed.insert(root(n.in[static_cast<size_t>(slot)]));
    for (int m : g.nodes) {
      const Node& other = node(m);
      const bool elementwise = candidates_[static_cast<size_t>(m)].takes && !other.product;
      for (const Tensor* t : other.in)
        if (t && changed.count(root(t)) && (!elementwise || !full(t))) return false;
      for (int slot : other.modified) {
        const Tensor* theirs = root(other.in[static_cast<size_t>(slot)]);
        for (const Tensor* t : n.in)
          if (t && root(t) == theirs && !full(t)) return false;
      }
    }
    return true;
  }

  /// Calls f with every node that runs between the group's place and node p, but those of the group.
  template <class F>
  bool none_between(const Members& g, int p, F&& f) {
    for (int q = g.place + 1; q < p; ++q) {
      const int other = group_[static_cast<size_t>(q)];
      if (other >= 0 && &groups_[static_cast<size_t>(other)] == &g) continue;
      if (f(node(q))) return false;
      if (other >= 0 && groups_[static_cast<size_t>(other)].place == q) {
        for (int m : groups_[static_cast<size_t>(other)].nodes)
          if (f(node(m))) return false;
      }
    }
    return true;
  }

  bool can_move_up(const Members& g, int p) {
    return none_between(g, p, [&](const Node& between) { return has_dependency(c_.aliases, node(p), between); });
  }
  bool can_move_down(const Members& g, int p) {
    return none_between(g, p, [&](const Node& between) {
      for (int m : g.nodes)
        if (has_dependency(c_.aliases, between, node(m))) return true;
      return false;
    });
  }

  void rewrite() {
    std::vector<Node> result;
    std::vector<std::vector<int>> at(nodes_.size());
    for (size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].nodes.size() > 1) at[static_cast<size_t>(groups_[i].place)].push_back(static_cast<int>(i));
    const auto grouped = [&](int p) {
      const int g = group_[static_cast<size_t>(p)];
      return g >= 0 && groups_[static_cast<size_t>(g)].nodes.size() > 1;
    };
    for (int p = 0; p < static_cast<int>(nodes_.size()); ++p) {
      for (int index : at[static_cast<size_t>(p)]) {
        const Members& g = groups_[static_cast<size_t>(index)];
        std::vector<const Node*> members;
        std::unordered_map<const Tensor*, bool> needed;
        for (int m : g.nodes) {
          members.push_back(&node(m));
          for (const Tensor* t : node(m).out)
            if (read_outside(t, index)) needed[t] = true;
        }
        result.push_back(join(members, g.elements, needed));
      }
      if (!grouped(p)) result.push_back(node(p));
    }
    nodes_ = std::move(result);
  }

  bool read_outside(const Tensor* t, int index) {
    if (c_.wanted_outside(t)) return true;
    const auto readers = c_.consumers.find(t);
    if (readers == c_.consumers.end()) return false;
    return std::any_of(readers->second.begin(), readers->second.end(),
                       [&](int q) { return group_[static_cast<size_t>(q)] != index; });
  }

  PassContext& c_;
  std::vector<Node>& nodes_;
  std::vector<Candidate> candidates_;
  std::vector<int> group_;  ///< by node; -1 for none
  std::vector<Members> groups_;
  std::unordered_map<const Tensor*, int> made_;  ///< which group makes or last changed a tensor
};

}  // namespace

void fuse_elementwise(PassContext& context) { Fuser(context).run(); }

}  // namespace pxl
