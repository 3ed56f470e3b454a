// Elementwise fusion, greedily, in execution order. A node joins the group that produces one of its operands, or, if it
// is an update, the group that reads what it changes; the other groups that it depends on are merged into that group. A
// group runs at one place: members and groups move there if no dependency is in between. Members are elementwise ops,
// or slices and similar views of tensors that no member makes or changes. The first member may be any op that produces
// its results in element order, or one result in parts. Bits do not change.
#include "runtime/plan/passes.hpp"

#include <algorithm>

namespace pxl {

namespace {

// A bound on planning time.
constexpr int max_fusion_distance = 256;  // nodes between a member and its group

struct Candidate {
  bool gives = false;     ///< produces its results in element order
  bool takes = false;     ///< elementwise: reads and writes element i only, of operands of its own size
  bool in_parts = false;  ///< gives parts of its result to the members after it, and is the first of a group
  bool picks = false;     ///< moves elements of its operand, in the order of its result
  int64_t elements = 0;
};

struct Members {
  std::vector<int> nodes;  ///< ascending
  int place = 0;           ///< position of the node at which the group runs
  int64_t elements = 0;
};

class Fuser {
 public:
  explicit Fuser(PassContext& context) : c_(context), nodes_(context.nodes), group_(nodes_.size(), -1) {}

  void run() {
    c_.index_uses();
    for (size_t p = 0; p < nodes_.size(); ++p) candidates_.push_back(inspect(nodes_[p]));
    for (int p = 0; p < static_cast<int>(nodes_.size()); ++p) visit(p);
    rewrite();
  }

 private:
  Node& node(int p) { return nodes_[static_cast<size_t>(p)]; }
  const Tensor* root(const Tensor* t) const { return c_.aliases.root(t); }

  /// Recognises products, and classifies the node.
  Candidate inspect(Node& n) const {
    Candidate c;
    if (n.op->row->role != Role::compute || n.effect || !n.callees.empty() || n.out.empty() || is_plain_copy(*n.op))
      return c;
    recognise_product(n);
    c.elements = n.out[0]->spec.size();
    if (c.elements == 0 || n.in.size() > c_.target.max_operands) return c;
    for (const Tensor* t : n.out)
      if (t->spec.size() != c.elements) return c;
    const ElementOrder order = c_.target.element_order(n);
    c.takes = order == ElementOrder::elementwise || order == ElementOrder::prepared;
    c.in_parts = is_product(n) || (order == ElementOrder::in_parts && n.out.size() == 1);
    c.gives = c.takes || order == ElementOrder::in_order || c.in_parts;
    c.picks = c.gives && n.op->row->pattern == Pattern::movement && n.modified.empty();
    return c;
  }

  void recognise_product(Node& n) const {
    const bool plain = n.form == Form::op && n.op->row->product && n.in.size() == 2 && n.out.size() == 1;
    if (!plain && n.form != Form::product) return;
    Product product = plain ? Product{.shape = n.op->row->product(OpContextStorage(*n.op).site)} : *n.product;
    product.in_blocks = c_.target.multiplies_in_blocks(n.in[0]->spec, n.in[1]->spec, n.out[0]->spec, product.shape);
    if (plain && !product.in_blocks) return;
    n.form = Form::product;
    n.product = std::move(product);
  }
  static bool is_product(const Node& n) { return product_in_blocks(n) != nullptr; }

  /// A fused kernel has no result for the memory that a member changes, so the name of an update's result must be
  /// unused. resolve_aliases renames its uses; without that pass, updates are not fused.
  bool drops_alias(int p) const {
    const Node& n = nodes_[static_cast<size_t>(p)];
    return n.alias < 0 || (!c_.wanted_outside(n.out[0]) && c_.consumers(n.out[0]).empty());
  }

  /// Whether the node only overwrites a variable, with a value that can be computed in the variable's memory. Storage
  /// assignment then removes the copy; a fused copy would write the value twice.
  bool is_computed_in_place(int p) const {
    const Node& n = nodes_[static_cast<size_t>(p)];
    if (n.overwritten_by < 0) return false;
    const Tensor *to = n.in[static_cast<size_t>(n.alias)], *value = n.in[static_cast<size_t>(n.overwritten_by)];
    const int made = c_.producer(value);
    if (to->kind != TensorKind::variable || made < 0 || root(value) != value) return false;
    if (c_.wanted_outside(value) || c_.consumers(value).size() > 1 || value->spec.bytes() != to->spec.bytes())
      return false;
    // The nodes that are fused with the value's producer run with it.
    const int group = group_[static_cast<size_t>(made)];
    const int first = group < 0 ? made : groups_[static_cast<size_t>(group)].nodes.front();
    const auto is_between = [&](const auto& positions) {
      const auto next = std::lower_bound(positions.begin(), positions.end(), first);
      return next != positions.end() && *next < p;
    };
    return !is_between(c_.aliases.writes(to)) && !is_between(c_.consumers(to));
  }

  void visit(int p) {
    const Candidate& c = candidates_[static_cast<size_t>(p)];
    if (!drops_alias(p) || is_computed_in_place(p)) return;
    if (!c.gives && !c.takes) return;
    if (c.takes) {
      std::vector<int> partners = related_groups(p);
      // Before other producers: what follows a GEMM or a convolution finds its operand in cache.
      std::stable_partition(partners.begin(), partners.end(),
                            [&](int g) { return in_parts(groups_[static_cast<size_t>(g)].nodes.front()); });
      const auto joined = std::find_if(partners.begin(), partners.end(), [&](int g) { return try_join(g, p); });
      if (joined != partners.end()) {
        const int home = *joined;
        partners.erase(joined);
        for (int other : partners) try_merge(home, other);
        return;
      }
    }
    group_[static_cast<size_t>(p)] = static_cast<int>(groups_.size());
    groups_.push_back({{p}, p, c.elements});
    note(p);
  }

  /// Groups that produce an operand of the node, or that read memory which the node changes; in that order.
  std::vector<int> related_groups(int p) {
    std::vector<int> found;
    const auto add = [&](int q) {
      const int g = group_[static_cast<size_t>(q)];
      if (g >= 0 && std::count(found.begin(), found.end(), g) == 0) found.push_back(g);
    };
    const auto full = [&](const Tensor* t) {
      return t && t->spec.size() == candidates_[static_cast<size_t>(p)].elements;
    };
    for (const Tensor* t : node(p).in)
      if (const auto made = made_.find(t); full(t) && made != made_.end()) add(made->second);
    for (int slot : node(p).modified) {
      const Tensor* t = node(p).in[static_cast<size_t>(slot)];
      const auto read = read_.find(root(t));
      if (full(t) && read != read_.end())
        for (int q : read->second) add(q);
    }
    return found;
  }

  bool try_join(int index, int p) {
    Members& g = groups_[static_cast<size_t>(index)];
    if (g.elements != candidates_[static_cast<size_t>(p)].elements || g.nodes.size() >= c_.target.max_members)
      return false;
    if (p - g.place > max_fusion_distance || !compatible(g, p)) return false;
    if (can_move_up(g, p)) {
      // The group keeps its place.
    } else if (can_move_down(g, p)) {
      g.place = p;
    } else {
      return false;
    }
    g.nodes.push_back(p);
    group_[static_cast<size_t>(p)] = index;
    note(p);
    return true;
  }

  /// Merges group `other` into `home`, at the place that `home` or `other` has.
  bool try_merge(int home, int other) {
    Members &a = groups_[static_cast<size_t>(home)], &b = groups_[static_cast<size_t>(other)];
    if (a.elements != b.elements || a.nodes.size() + b.nodes.size() > c_.target.max_members) return false;
    if (std::abs(a.place - b.place) > max_fusion_distance) return false;
    std::vector<int> all;
    std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), std::back_inserter(all));
    // Another member that is not elementwise, a GEMM for instance, must be the first.
    const bool after_parts = in_parts(all[0]);
    for (size_t i = 1; i < all.size(); ++i) {
      const int m = all[i];
      if (!takes(m) && (after_parts || !candidates_[static_cast<size_t>(m)].picks)) return false;
    }
    for (int m : b.nodes)
      if (!compatible(a, m)) return false;
    for (int m : a.nodes)
      if (!compatible(b, m)) return false;
    const Members &first = a.place < b.place ? a : b, &second = a.place < b.place ? b : a;
    const auto depends = [&](const Members& later, const Node& earlier) {
      return std::any_of(later.nodes.begin(), later.nodes.end(),
                         [&](int m) { return has_dependency(c_.aliases, node(m), earlier); });
    };
    const auto depended_on = [&](const Members& earlier, const Node& later) {
      return std::any_of(earlier.nodes.begin(), earlier.nodes.end(),
                         [&](int m) { return has_dependency(c_.aliases, later, node(m)); });
    };
    int place = -1;
    if (none_between(first, second.place, &second, [&](const Node& n) { return depends(second, n); }))
      place = first.place;
    else if (none_between(first, second.place, &second, [&](const Node& n) { return depended_on(first, n); }))
      place = second.place;
    else
      return false;
    for (int m : b.nodes) group_[static_cast<size_t>(m)] = home;
    a.nodes = std::move(all);
    a.place = place;
    b.nodes.clear();
    return true;
  }

  /// Records results, writes and reads of the node for related_groups.
  void note(int p) {
    const Node& n = node(p);
    for (const Tensor* t : n.out) made_[t] = p;
    for (const Tensor* t : n.in)
      if (t) read_[root(t)].push_back(p);
    for (int slot : n.modified) {
      const Tensor* changed = root(n.in[static_cast<size_t>(slot)]);
      made_[changed] = p;
      read_[changed] = {p};
    }
  }
  bool is_made_by(const Tensor* t, const Members& g) const {
    const auto made = made_.find(t);
    if (made == made_.end()) return false;
    const int index = group_[static_cast<size_t>(made->second)];
    return index >= 0 && &groups_[static_cast<size_t>(index)] == &g;
  }

  bool in_parts(int m) const { return candidates_[static_cast<size_t>(m)].in_parts; }
  bool takes(int m) const { return candidates_[static_cast<size_t>(m)].takes; }

  /// Members exchange whole elements only, and read memory that another member writes element by element.
  bool compatible(const Members& g, int p) {
    const Node& n = node(p);
    const bool by_element = takes(p);
    const auto full = [&](const Tensor* t) { return t->spec.size() == g.elements; };
    for (const Tensor* t : n.in) {
      if (!t || (full(t) && by_element)) continue;
      if (is_made_by(t, g)) return false;
    }
    std::vector<const Tensor*> changed;
    for (int slot : n.modified) changed.push_back(root(n.in[static_cast<size_t>(slot)]));
    for (int m : g.nodes) {
      const Node& other = node(m);
      const bool elementwise = takes(m);
      if (!changed.empty())
        for (const Tensor* t : other.in)
          if (t && (!elementwise || !full(t)) && std::ranges::count(changed, root(t)) > 0) return false;
      for (int slot : other.modified) {
        const Tensor* theirs = root(other.in[static_cast<size_t>(slot)]);
        for (const Tensor* t : n.in)
          if (t && root(t) == theirs && !(full(t) && by_element)) return false;
      }
    }
    return true;
  }

  /// Whether f is false for all nodes that run between the group's place and `p`. Members of the group and `also` are
  /// exempt.
  template <class F>
  bool none_between(const Members& g, int p, const Members* also, F&& f) {
    for (int q = g.place + 1; q < p; ++q) {
      const int other = group_[static_cast<size_t>(q)];
      const Members* of = other >= 0 ? &groups_[static_cast<size_t>(other)] : nullptr;
      if (of && (of == &g || of == also)) continue;
      if (f(node(q))) return false;
      if (of && of->place == q) {
        for (int m : of->nodes)
          if (f(node(m))) return false;
      }
    }
    return true;
  }

  bool can_move_up(const Members& g, int p) {
    return none_between(g, p, nullptr,
                        [&](const Node& between) { return has_dependency(c_.aliases, node(p), between); });
  }
  bool can_move_down(const Members& g, int p) {
    return none_between(g, p, nullptr, [&](const Node& between) {
      for (int m : g.nodes)
        if (has_dependency(c_.aliases, between, node(m))) return true;
      return false;
    });
  }

  void rewrite() {
    std::vector<std::pair<int, int>> at;  // places and groups
    for (size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].nodes.size() > 1) at.emplace_back(groups_[i].place, static_cast<int>(i));
    if (at.empty()) return;
    std::ranges::sort(at);
    const auto grouped = [&](int p) {
      const int g = group_[static_cast<size_t>(p)];
      return g >= 0 && groups_[static_cast<size_t>(g)].nodes.size() > 1;
    };
    std::vector<Node> result;
    result.reserve(nodes_.size());
    for (int p = 0, next = 0; p < static_cast<int>(nodes_.size()); ++p) {
      for (; next < std::ssize(at) && at[static_cast<size_t>(next)].first == p; ++next) {
        const int index = at[static_cast<size_t>(next)].second;
        const Members& g = groups_[static_cast<size_t>(index)];
        std::vector<Node> members;
        for (int m : g.nodes) members.push_back(std::move(node(m)));
        result.push_back(
            compose(Form::fused, std::move(members), [&](const Tensor* t) { return read_outside(t, index); }));
      }
      if (!grouped(p)) result.push_back(std::move(node(p)));
    }
    nodes_ = std::move(result);
  }

  bool read_outside(const Tensor* t, int index) {
    if (c_.wanted_outside(t)) return true;
    return std::ranges::any_of(c_.consumers(t), [&](int q) { return group_[static_cast<size_t>(q)] != index; });
  }

  PassContext& c_;
  std::vector<Node>& nodes_;
  std::vector<Candidate> candidates_;
  std::vector<int> group_;  ///< by node; -1 for none
  std::vector<Members> groups_;
  PointerMap<const Tensor*, int> made_;               ///< the node in a group that last produced or wrote a tensor
  PointerMap<const Tensor*, std::vector<int>> read_;  ///< nodes in groups that read a memory since its last write
};

}  // namespace

void fuse_elementwise(PassContext& context) { Fuser(context).run(); }

}  // namespace pxl
