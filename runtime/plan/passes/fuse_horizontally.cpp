// Horizontal fusion: runs a small parameter update (a bias, typically) inside the parallel-for of the next large
// kernel, if the two are independent. Results keep their bits. Why: the update alone would wake the thread pool once
// more.
#include "runtime/kernels/interruptible.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {

namespace {

// Minimum ratio of the host kernel's estimated cost to the update's. Above it, chunk boundaries chosen for the host
// kernel cost the update nothing that shows. Not measured.
constexpr double min_host_cost_ratio = 8;

/// Whether all results are written in place.
bool is_update(const Node& n) { return n.kernel && !n.kernel.phases().empty() && n.out.empty() && !n.modified.empty(); }

bool is_divided(const Node& n) {
  if (!n.kernel || n.kernel.phases().empty() || n.kernel.cost_ns() < min_parallel_ns) return false;
  const Phase& last = n.kernel.phases().back();
  return last.iterations > last.grain;
}

bool is_plain(const Node& n) {
  return n.op && n.alias < 0 && n.output_aliases.empty() && n.in_place_candidates.empty() && n.callees.empty() &&
         !n.effect && !n.once && !may_fail(n);
}

std::string name(const Node& n) { return n.note.empty() ? std::string(n.op->row->name) : n.note.substr(1); }
int64_t flops(const Node& n) { return n.flops > 0 ? n.flops : flops_of(*n.op); }

/// A phase whose operands, results and workspace follow those of another node.
Phase after_phase(const Phase& phase, size_t in, size_t out, const WorkspaceSize& kept) {
  return {phase.iterations, phase.grain,
          [part = phase.part, in, out, kept](const Buffers& b, int64_t begin, int64_t end) {
            part(b.with(b.in + in, b.out + out).after(kept), begin, end);
          }};
}

/// Runs both, partitioned like `large`: each of its chunks includes the proportional chunk of `small`.
Phase both(Phase small, Phase large) {
  const int64_t iterations = large.iterations, grain = large.grain;
  return {iterations, grain,
          [small = std::move(small), large = std::move(large)](const Buffers& b, int64_t begin, int64_t end) {
            const auto edge = [&](int64_t at) {
              return at >= large.iterations ? small.iterations
                                            : small.iterations * at / large.iterations / small.grain * small.grain;
            };
            const int64_t from = edge(begin), to = edge(end);
            if (from < to) small.part(b, from, to);
            large.part(b, begin, end);
          }};
}

Node joined(const Node& small, Node large) {
  const size_t in = large.in.size(), out = large.out.size();
  Node n = std::move(large);
  n.flops = flops(n) + flops(small);
  n.parts.insert(n.parts.begin(), small.parts.begin(), small.parts.end());
  n.note = " " + name(small) + ", " + name(n);
  n.in.insert(n.in.end(), small.in.begin(), small.in.end());
  for (int slot : small.modified) n.modified.push_back(static_cast<int>(in) + slot);
  n.product.reset();
  n.gemm_call.reset();
  std::vector<Phase> phases;
  const WorkspaceSize kept{n.kernel.workspace().per_call, 0};
  const WorkspaceLayout workspace(interleaved(n.kernel.workspace(), small.kernel.workspace()));
  for (const Phase& phase : small.kernel.phases()) phases.push_back(after_phase(phase, in, out, kept));
  const Phase last = std::move(phases.back());
  phases.pop_back();
  for (const Phase& phase : n.kernel.phases()) phases.push_back(phase);
  phases.back() = both(last, phases.back());
  n.kernel = Kernel::parallel(std::move(phases), n.kernel.cost_ns() + small.kernel.cost_ns()).with_workspace(workspace);
  return n;
}

}  // namespace

void fuse_horizontally(PassContext& context) {
  std::vector<Node>& nodes = context.nodes;
  for (size_t p = nodes.size(); p-- > 1;) {
    Node &small = nodes[p - 1], &large = nodes[p];
    if (!is_plain(small) || !is_plain(large) || !is_update(small) || !is_divided(large)) continue;
    if (small.kernel.cost_ns() >= min_parallel_ns &&
        small.kernel.cost_ns() * min_host_cost_ratio > large.kernel.cost_ns())
      continue;
    if (has_dependency(context.aliases, large, small)) continue;
    small = joined(small, std::move(large));
    large = Node();
  }
}

}  // namespace pxl
