// Fuses dgrad and wgrad of a layer: dx = dy @ w^T, and the update of w by x^T @ dy, run in one pass over w. Results
// keep their bits. Why: w is loaded from memory once.
#include <algorithm>

#include "runtime/kernels/product.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {

namespace {

constexpr int max_pairing_distance = 256;  // nodes between the two: a bound on planning time. Not measured

class Pairer {
 public:
  explicit Pairer(PassContext& context) : c_(context), nodes_(context.nodes) {}

  void run() {
    for (int p = 0; p < static_cast<int>(nodes_.size()); ++p) {
      if (!eligible(p) || !node(p).gemm_call->plan.tb) continue;
      for (int q : c_.consumers(node(p).in[node(p).gemm_call->options.a]))
        if (q > p && q - p <= max_pairing_distance && eligible(q) && fit(node(p), node(q)) && merge(p, q)) break;
    }
  }

 private:
  Node& node(int p) { return nodes_[static_cast<size_t>(p)]; }
  const Tensor* root(const Tensor* t) const { return c_.aliases.root(t); }

  bool eligible(int p) {
    const Node& n = node(p);
    return n.op && n.gemm_call && n.alias < 0 && n.output_aliases.empty() && n.in_place_candidates.empty() &&
           n.callees.empty() && !n.effect;
  }

  bool fit(const Node& dx, const Node& dw) const {
    if (!can_fuse_dgrad_wgrad(*dx.gemm_call, *dw.gemm_call) ||
        dw.in[dw.gemm_call->options.b] != dx.in[dx.gemm_call->options.a])
      return false;
    // w is written only by the update, and read only by dgrad, as its B operand.
    const Tensor* w = root(dx.in[dx.gemm_call->options.b]);
    bool changes = false;
    for (int slot : dw.modified) {
      const Tensor* changed = root(dw.in[static_cast<size_t>(slot)]);
      changes = changes || changed == w;
      for (size_t i = 0; i < dx.in.size(); ++i)
        if (dx.in[i] && root(dx.in[i]) == changed && (changed != w || i != dx.gemm_call->options.b)) return false;
    }
    if (!changes || !dx.modified.empty()) return false;
    if (dw.gemm_call->options.add_to >= 0 && root(dw.in[static_cast<size_t>(dw.gemm_call->options.add_to)]) != w)
      return false;
    // Neither operand of wgrad is written by the update or produced by dgrad.
    for (size_t slot : {dw.gemm_call->options.a, dw.gemm_call->options.b})
      for (int changed : dw.modified)
        if (root(dw.in[slot]) == root(dw.in[static_cast<size_t>(changed)])) return false;
    return std::none_of(dx.out.begin(), dx.out.end(),
                        [&](const Tensor* t) { return std::find(dw.in.begin(), dw.in.end(), t) != dw.in.end(); });
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
    Node pair = joined(node(p), node(q));
    node(p) = node(q) = Node();
    node(up ? p : q) = std::move(pair);
    return true;
  }

  static std::string name(const Node& n) {
    const std::string note = n.note.empty() ? "" : n.note.substr(1);
    const std::string_view op = n.op->row->name;
    return n.product ? std::string(op) + (note.empty() ? "" : "[" + note + "]") : note;
  }
  static int64_t flops(const Node& n) { return n.flops > 0 ? n.flops : flops_of(*n.op); }

  static Node joined(const Node& dx, const Node& dw) {
    Node n;
    n.op = dw.op;
    n.in = dx.in;
    n.in.insert(n.in.end(), dw.in.begin(), dw.in.end());
    n.out = dx.out;
    n.out.insert(n.out.end(), dw.out.begin(), dw.out.end());
    for (int slot : dw.modified) n.modified.push_back(static_cast<int>(dx.in.size()) + slot);
    n.flops = flops(dx) + flops(dw);
    n.parts = dx.parts;
    n.parts.insert(n.parts.end(), dw.parts.begin(), dw.parts.end());
    n.note = " " + name(dx) + ", " + name(dw);
    // The GEMM is the last phase of each node; the phases before it run first.
    std::vector<Phase> phases(dx.kernel.phases().begin(), dx.kernel.phases().end() - 1);
    const size_t in = dx.in.size(), out = dx.out.size();
    const WorkspaceSize kept{dx.gemm_call->options.epilogue_workspace.per_call, 0};
    for (size_t i = 0; i + 1 < dw.kernel.phases().size(); ++i) {
      const Phase& phase = dw.kernel.phases()[i];
      phases.push_back({phase.iterations, phase.grain,
                        [part = phase.part, in, out, kept](const Buffers& b, int64_t begin, int64_t end) {
                          part(b.with(b.in + in, b.out + out).after(kept), begin, end);
                        }});
    }
    const Kernel pair = dgrad_wgrad_kernel(*dx.gemm_call, *dw.gemm_call, in, out);
    phases.push_back(pair.phases().back());
    n.kernel = Kernel::parallel(std::move(phases), pair.cost_ns()).with_workspace(WorkspaceLayout(pair.workspace()));
    return n;
  }

  PassContext& c_;
  std::vector<Node>& nodes_;
};

}  // namespace

void fuse_dgrad_wgrad(PassContext& context) { Pairer(context).run(); }

}  // namespace pxl
