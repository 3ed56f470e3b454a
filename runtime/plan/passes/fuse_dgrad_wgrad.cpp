// Fuses dgrad and wgrad of a layer: one pass over w computes dx = dy @ w^T and updates w by x^T @ dy. Results keep
// their bits. Why: w is loaded from memory once.
#include <algorithm>
#include <utility>

#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

constexpr int max_pairing_distance = 256;  // nodes between the two: a bound on planning time

class Pairer {
 public:
  explicit Pairer(PassContext& context) : c_(context), nodes_(context.nodes) {}

  void run() {
    for (int p = 0; p < static_cast<int>(nodes_.size()); ++p) {
      const Node* dx = product(p);
      if (!dx || !dx->product->shape.tb) continue;
      for (int q : c_.consumers(dx->in[0])) {
        const Node* dw = q > p && q - p <= max_pairing_distance ? product(q) : nullptr;
        if (dw && fit(node(p), *dx, node(q), *dw) && merge(p, q)) break;
      }
    }
  }

 private:
  Node& node(int p) { return nodes_[static_cast<size_t>(p)]; }
  const Tensor* root(const Tensor* t) const { return c_.aliases.root(t); }

  /// The product that a node is or begins with, if it may be one of the two.
  const Node* product(int p) {
    const Node& n = node(p);
    const bool plain = n.op && n.alias < 0 && n.output_aliases.empty() && n.in_place_candidates.empty() &&
                       n.callees.empty() && !n.effect;
    return plain ? product_in_blocks(n) : nullptr;
  }

  bool fit(const Node& first, const Node& dx, const Node& second, const Node& dw) const {
    if (!c_.target.share_a_pass(dx, dw) || dw.in[1] != dx.in[0]) return false;
    // Only the update reads dw.
    if (std::ranges::count(second.out, dw.out[0]) > 0 || second.modified.empty()) return false;
    // w is written only by the update, and read only by dgrad, as its B operand.
    const Tensor* w = root(dx.in[1]);
    const auto b = std::ranges::find(first.in, dx.in[1]) - first.in.begin();
    bool changes = false;
    for (int slot : second.modified) {
      const Tensor* changed = root(second.in[static_cast<size_t>(slot)]);
      changes = changes || changed == w;
      for (std::ptrdiff_t i = 0; i < std::ssize(first.in); ++i) {
        const Tensor* t = first.in[static_cast<size_t>(i)];
        if (t && root(t) == changed && (changed != w || i != b)) return false;
      }
    }
    if (!changes || !first.modified.empty()) return false;
    // Neither operand of wgrad is written by the update or produced by dgrad.
    for (const Tensor* t : dw.in)
      for (int changed : second.modified)
        if (root(t) == root(second.in[static_cast<size_t>(changed)])) return false;
    return std::none_of(first.out.begin(), first.out.end(),
                        [&](const Tensor* t) { return std::ranges::count(second.in, t) > 0; });
  }

  /// Places the fused node at the first node if the second can move up, otherwise at the second.
  bool merge(int p, int q) {
    bool up = true, down = true;
    for (int between = p + 1; between < q && (up || down); ++between) {
      if (!node(between).op) continue;
      up = up && !has_dependency(c_.aliases, node(q), node(between));
      down = down && !has_dependency(c_.aliases, node(between), node(p));
    }
    if (!up && !down) return false;
    std::vector<Node> both;
    for (int at : {p, q}) both.push_back(std::exchange(node(at), Node()));
    node(up ? p : q) = compose(Form::one_pass, std::move(both));
    return true;
  }

  PassContext& c_;
  std::vector<Node>& nodes_;
};

}  // namespace

void fuse_dgrad_wgrad(PassContext& context) { Pairer(context).run(); }

}  // namespace pxl
