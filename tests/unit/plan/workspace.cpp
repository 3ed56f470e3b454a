// Fused nodes: the workspaces of their members are apart where they live at the same time.
#include "runtime/plan/fused_kernel.hpp"
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// in[0] + 1, if what the first phase kept and what the chunk wrote are found as they were; otherwise -1.
Kernel tenant(int64_t n, int64_t id) {
  WorkspaceLayout layout;
  const auto kept = layout.per_call<int64_t>(50 + id);
  const auto own = layout.per_thread<int64_t>(300 * id);
  const auto part = [=](const Buffers& b, int64_t begin, int64_t end) {
    std::fill_n(b.workspace(own), 300 * id, id);
    bool same = true;
    for (int64_t i = 0; i < 50 + id; ++i) same = same && b.workspace(kept)[i] == id;
    for (int64_t i = begin; i < end; ++i) b.output<float>(0)[i] = b.input<float>(0)[i] + 1;
    for (int64_t i = 0; i < 300 * id; ++i) same = same && b.workspace(own)[i] == id;
    for (int64_t i = begin; i < end && !same; ++i) b.output<float>(0)[i] = -1;
  };
  const Phase prepare{1, 1, [=](const Buffers& b, int64_t, int64_t) { std::fill_n(b.workspace(kept), 50 + id, id); }};
  return Kernel::elementwise(n, 1, part, {prepare}).with_workspace(layout);
}

}  // namespace

TEST_CASE("members of a fused kernel share memory per thread with each other only, and none per call") {
  constexpr int64_t n = 5000;
  Ir ir;
  Graph& g = ir.main();
  Ops op(g);
  std::vector<Node> nodes;
  const Tensor* last = g.add_variable(Array::zeros(DType::float32, {n}), "x");
  size_t per_call = 0, per_thread = 0;
  for (int64_t id = 1; id <= 4; ++id) {
    Tensor* y = op("relu", {const_cast<Tensor*>(last)});
    Node node;
    node.op = y->producer;
    node.in = {last};
    node.out = {y};
    node.kernel = tenant(n, id);
    per_call += node.kernel.workspace().per_call;
    per_thread = std::max(per_thread, node.kernel.workspace().per_thread);
    nodes.push_back(std::move(node));
    last = y;
  }
  std::vector<const Node*> members;
  for (const Node& node : nodes) members.push_back(&node);
  const Node fused = join(members, n, {{last, true}});
  CHECK(fused.kernel.workspace().per_call == per_call);
  CHECK(fused.kernel.workspace().per_thread > per_thread);  // and the blocks between members
  Array x = Array::zeros(DType::float32, {n}), y = Array::zeros(DType::float32, {n});
  const std::byte* in[] = {x.raw()};
  std::byte* out[] = {y.mutable_raw()};
  fused.kernel({in, out});
  CHECK(identical(y, Array::full(DType::float32, {n}, 4.0)));
}
