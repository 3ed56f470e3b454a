// Fused kernels: the workspaces of their steps are apart where they live at the same time.
#include "runtime/plan/register_program.hpp"

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

TEST_CASE("steps of a fused kernel share memory per thread with each other only, and none per call") {
  constexpr int64_t n = 5000, steps = 4;
  using Register = RegisterProgram::Register;
  const auto program = std::make_shared<RegisterProgram>();
  program->elements = n;
  program->registers.push_back({Register::Kind::operand, 0, sizeof(float), true});
  size_t per_call = 0, per_thread = 0;
  for (int id = 1; id <= steps; ++id) {
    RegisterProgram::Step step{tenant(n, id), {id - 1}, {id}};
    per_call += step.kernel.workspace().per_call;
    per_thread = std::max(per_thread, step.kernel.workspace().per_thread);
    program->registers.push_back({id == steps ? Register::Kind::result : Register::Kind::block, 0, sizeof(float)});
    program->steps.push_back(std::move(step));
  }
  program->finish();
  std::vector<Phase> phases = RegisterProgram::earlier_phases(program);
  phases.push_back({n, 64,
                    [program = std::shared_ptr<const RegisterProgram>(program)](
                        const Buffers& b, int64_t begin, int64_t end) { program->run(b, begin, end, nullptr); }});
  const Kernel fused = Kernel::parallel(std::move(phases), 1).with_workspace(WorkspaceLayout(program->workspace()));
  CHECK(fused.workspace().per_call == per_call);
  CHECK(fused.workspace().per_thread > per_thread);  // and the blocks between steps
  Array x = Array::zeros(DType::float32, {n}), y = Array::zeros(DType::float32, {n});
  const std::byte* in[] = {x.raw()};
  std::byte* out[] = {y.mutable_raw()};
  fused({in, out});
  CHECK(identical(y, Array::full(DType::float32, {n}, 4.0)));
}
