#include "runtime/kernels/prepared.hpp"

namespace pxl {

Kernel on_forms(const Kernel& inner, const std::vector<OtherForm>& operands, const OtherForm& result) {
  WorkspaceSize nested = interleaved(inner.workspace(), result.make.workspace());
  for (const OtherForm& f : operands) nested = interleaved(nested, f.make.workspace());
  WorkspaceLayout workspace(nested);
  std::vector<PerCall<std::byte>> forms;
  for (const OtherForm& f : operands) forms.push_back(workspace.per_call<std::byte>(f.bytes));
  const auto made = workspace.per_call<std::byte>(result.bytes);
  const auto pointers = workspace.per_thread<const std::byte*>(std::ssize(operands));
  std::vector<Phase> phases;
  double cost = 0;
  WorkspaceSize before;  // the memory per call of the kernels before
  const auto add = [&](const Kernel& k, auto&& on) {
    for (const Phase& phase : k.phases())
      phases.push_back(
          {phase.iterations, phase.grain, [=, part = phase.part](const Buffers& b, int64_t begin, int64_t end) {
             on(b, [&](const Buffers& own) { part(own.after(before), begin, end); });
           }});
    cost += k.cost_ns();
    before.per_call += k.workspace().per_call;
  };
  for (size_t i = 0; i < operands.size(); ++i)
    add(operands[i].make, [=](const Buffers& b, auto&& run) {
      std::byte* to = b.workspace(forms[i]);
      run(b.with(b.in + i, &to));
    });
  std::vector<bool> is_made;
  for (const OtherForm& f : operands) is_made.push_back(static_cast<bool>(f.make));
  add(inner, [=, in_form = static_cast<bool>(result.make)](const Buffers& b, auto&& run) {
    const std::byte** in = b.workspace(pointers);
    for (size_t i = 0; i < is_made.size(); ++i) in[i] = is_made[i] ? b.workspace(forms[i]) : b.in[i];
    std::byte* to = in_form ? b.workspace(made) : b.out[0];
    run(b.with(in, &to));
  });
  add(result.make, [=](const Buffers& b, auto&& run) {
    const std::byte* from = b.workspace(made);
    run(b.with(&from, b.out));
  });
  return Kernel::parallel(std::move(phases), cost).with_workspace(workspace);
}

Kernel preparing(const PreparedOperand& p, size_t operands) {
  std::vector<OtherForm> forms(operands);
  forms[p.slot] = {p.bytes, p.make};
  Kernel whole = on_forms(p.rest, forms);
  if (const ResultParts* parts = p.rest.result_parts()) whole = std::move(whole).with_result_parts(*parts);
  return std::move(whole).with_prepared(p);
}

Kernel Kernel::with_prepared(PreparedOperand p) && {
  prepared_ = std::make_shared<const PreparedOperand>(std::move(p));
  return std::move(*this);
}

}  // namespace pxl
