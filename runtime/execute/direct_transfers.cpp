#include "runtime/execute/direct_transfers.hpp"

#include "runtime/graph/ir.hpp"

namespace pxl {

namespace {

/// Buffers that are used beside kernels, loads and stores.
std::set<BufferId> in_copies_and_calls(const Plan& plan) {
  std::set<BufferId> found;
  const auto add = [&](const std::vector<BufferId>& ids) { found.insert(ids.begin(), ids.end()); };
  const auto add_copies = [&](const std::vector<Copy>& copies) {
    for (const Copy& copy : copies) add({copy.from, copy.to});
  };
  add_copies(plan.entry_copies);
  add_copies(plan.exit_copies);
  for (const Instruction& instruction : plan.instructions) {
    add_copies(instruction.before);
    add_copies(instruction.after);
    for (const PlanCall& call : instruction.calls) {
      add(call.in);
      add(call.out);
      add_copies(call.before);
      add_copies(call.after);
    }
  }
  return found;
}

}  // namespace

std::set<BufferId> direct_loads(const Plan& plan) {
  std::set<BufferId> found, excluded = in_copies_and_calls(plan);
  const auto exclude = [&](const std::vector<BufferId>& ids) { excluded.insert(ids.begin(), ids.end()); };
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::load && plan.transfers.at(instruction.stream) == 1 &&
        found.insert(instruction.out[0]).second)
      continue;
    exclude(instruction.out);
    if (instruction.kind != Instruction::Kind::kernel) exclude(instruction.in);
    for (size_t slot = 0; slot < instruction.in.size(); ++slot)
      if (instruction.modified[slot]) excluded.insert(instruction.in[slot]);
  }
  std::erase_if(found, [&](BufferId id) {
    return excluded.count(id) > 0 || plan.buffers[static_cast<size_t>(id)].kind != Buffer::Kind::arena;
  });
  return found;
}

std::map<BufferId, const Stream*> direct_stores(const Plan& plan) {
  std::map<BufferId, const Stream*> found;
  std::set<BufferId> excluded = in_copies_and_calls(plan);
  const auto exclude = [&](const std::vector<BufferId>& ids) { excluded.insert(ids.begin(), ids.end()); };
  for (const Instruction& instruction : plan.instructions) {
    const bool kernel = instruction.kind == Instruction::Kind::kernel && !is_exchanged(*instruction.op);
    if (instruction.kind == Instruction::Kind::store && plan.transfers.at(instruction.stream) == 1) {
      if (!found.emplace(instruction.in[0], instruction.stream).second) excluded.insert(instruction.in[0]);
    } else if (!kernel || instruction.once) {
      exclude(instruction.in);
      exclude(instruction.out);
    }
    const auto changed = [&](BufferId id) {
      if (found.count(id) > 0) excluded.insert(id);
    };
    for (const BufferId id : instruction.out) changed(id);
    for (size_t slot = 0; slot < instruction.in.size(); ++slot)
      if (instruction.modified[slot]) changed(instruction.in[slot]);
  }
  std::erase_if(found, [&](const auto& store) {
    const Buffer& buffer = plan.buffers[static_cast<size_t>(store.first)];
    return excluded.count(store.first) > 0 || buffer.kind != Buffer::Kind::arena ||
           buffer.bytes != store.second->spec().bytes();
  });
  return found;
}

}  // namespace pxl
