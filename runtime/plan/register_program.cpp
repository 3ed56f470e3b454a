#include "runtime/plan/register_program.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/block/block.hpp"

namespace pxl {

namespace {

using Kind = RegisterProgram::Register::Kind;

/// Kernels index whole tensors: the pointer to a block is shifted back by the elements before it. Integer arithmetic:
/// the address before the beginning of a block is not dereferenced.
std::byte* back(std::byte* block, int64_t bytes) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(block) - static_cast<uintptr_t>(bytes));
}

}  // namespace

void RegisterProgram::finish() {
  int blocks = 0;
  for (Register& r : registers) {
    if (r.kind == Kind::block) {
      r.index = blocks++;
      widest_ = std::max(widest_, r.width);
    }
    if (r.streamed) streams_.push_back(r);
  }
  if (after_product && at(steps[0].out[0]).kind == Kind::block) product_block_ = at(steps[0].out[0]).index;
  for (const Step& s : steps) {
    Instruction i;
    if (s.kernel) i.part = &s.kernel.phases().back().part;
    i.in = add_slots(s.in);
    i.out = add_slots(s.out);
    i.op = op_of(s);
    if (i.op) {
      std::vector<int> operands;
      for (int slot : i.op->operands) operands.push_back(s.in[static_cast<size_t>(slot)]);
      i.operands = add_slots(operands);
    }
    instructions_.push_back(i);
  }
  find_compiled();
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].kind == Kind::block) block_slots_.push_back(i);
  place_workspace(blocks);
}

size_t RegisterProgram::add_slots(const std::vector<int>& of_registers) {
  const size_t first = slots_.size();
  for (int r : of_registers) slots_.push_back(r < 0 ? Register{Kind::none} : at(r));
  return first;
}

/// Steps of a thread run one after the other, so their arrays per thread overlay each other. An array that a step keeps
/// from one of its phases to the next does not.
void RegisterProgram::place_workspace(int blocks) {
  WorkspaceLayout own;
  blocks_ = own.per_thread<std::byte>(blocks * epilogue_block * widest_);
  pointers_ = own.per_thread<std::byte*>(std::ssize(slots_));
  constants_ = own.per_thread<float>(std::ssize(steps) * static_cast<int64_t>(max_constants));
  runs_op_ = own.per_thread<bool>(std::ssize(steps));
  WorkspaceSize nested;
  for (size_t i = 0; i < steps.size(); ++i) {
    instructions_[i].preceding = {nested.per_call, own.size().per_thread};
    nested = interleaved(nested, steps[i].kernel.workspace());
  }
  workspace_ = {nested.per_call, own.size().per_thread + nested.per_thread};
}

/// The step's op; null if another step writes the op's constants, because constants are read first.
const UpdateOp* RegisterProgram::op_of(const Step& step) const {
  const UpdateOp* op = step.kernel.update_op();
  if (!op || static_cast<size_t>(op->kind) >= update_step_kinds) return nullptr;
  for (size_t k = 0; k < step.in.size(); ++k) {
    if (std::count(op->operands.begin(), op->operands.end(), static_cast<int>(k)) > 0) continue;
    for (const Step& other : steps)
      if (step.in[k] >= 0 && std::count(other.out.begin(), other.out.end(), step.in[k]) > 0) return nullptr;
  }
  return op;
}

void RegisterProgram::find_compiled() {
  std::vector<UpdateOperands> sites(steps.size());
  for (size_t i = first_step(); i < steps.size(); ++i) {
    UpdateOperands& site = sites[i];
    site.step = instructions_[i].op;
    if (!site.step) continue;
    for (int slot : site.step->operands) site.operands.push_back(steps[i].in[static_cast<size_t>(slot)]);
    site.result = steps[i].out[0];
    site.passing = at(site.result).kind == Kind::block;
    for (size_t j = i + 2; j < steps.size(); ++j)
      if (std::count(steps[j].in.begin(), steps[j].in.end(), site.result) > 0) site.passing = false;
  }
  for (size_t i = first_step(); i < steps.size(); ++i) {
    FusedUpdateMatch match = match_fused_update(std::span(sites).subspan(i));
    if (match.steps == 0) continue;
    const size_t first = i;
    i += match.steps - 1;
    const size_t slots = add_slots(match.places);
    compiled_.push_back({first, std::move(match), slots});
  }
}

std::byte** RegisterProgram::locate(const Buffers& b) const {
  std::byte** const to = b.workspace(pointers_);
  for (size_t i = 0; i < slots_.size(); ++i)
    to[i] = slots_[i].kind == Kind::operand  ? const_cast<std::byte*>(b.in[slots_[i].index])
            : slots_[i].kind == Kind::result ? b.out[slots_[i].index]
                                             : nullptr;
  return to;
}

RegisterProgram::State RegisterProgram::prepare(const Buffers& b) const {
  const State state{locate(b), b.workspace(constants_), b.workspace(runs_op_)};
  for (size_t i = first_step(); i < steps.size(); ++i) {
    const UpdateOp* op = instructions_[i].op;
    state.runs_op[i] = op && op->constants(buffers_of(i, b, state.slots), state.constants + i * max_constants);
  }
  return state;
}

bool RegisterProgram::run_compiled(const Compiled& compiled, const State& state, int64_t begin, int64_t end) const {
  const size_t last = compiled.first + compiled.match.steps;
  if (!std::all_of(state.runs_op + compiled.first, state.runs_op + last, [](bool runs) { return runs; })) return false;
  float* registers_of_update[max_registers] = {};
  for (size_t r = 0; r < max_registers; ++r) {
    std::byte* const place = state.slots[compiled.slots + r];
    if (place) registers_of_update[r] = reinterpret_cast<float*>(place) + begin;
  }
  bulk().updates.compiled[compiled.match.update](registers_of_update, state.constants + compiled.first * max_constants,
                                                 end - begin);
  return true;
}

void RegisterProgram::run_block(const Buffers& b, const State& state, int64_t begin, int64_t end,
                                std::byte* values) const {
  const int64_t stride = ((end - begin) * widest_ + 63) / 64 * 64;
  std::byte* const memory = b.workspace(blocks_);
  for (const size_t i : block_slots_) {
    const Register& r = slots_[i];
    state.slots[i] = back(r.index == product_block_ ? values : memory + r.index * stride, begin * r.width);
  }
  // Prefetching stops at a part of a row, because another thread has the rest, and at the last block.
  const int64_t ahead = end - begin < block ? 0 : std::min(end - begin, elements - end);
  const size_t first = first_step(), count = steps.size() - first;
  // Steps read each operand one block at a time, a pattern that the hardware prefetcher misses.
  const auto prefetch = [&](size_t step, size_t done) {
    if (ahead <= 0) return;
    const int64_t from = end + ahead * static_cast<int64_t>(step - first) / static_cast<int64_t>(count);
    const int64_t to = end + ahead * static_cast<int64_t>(step - first + done) / static_cast<int64_t>(count);
    for (const Register& r : streams_) {
      const std::byte *p = b.in[r.index] + from * r.width, *const stop = b.in[r.index] + to * r.width;
      for (; p < stop; p += 64) __builtin_prefetch(p);
    }
  };
  auto next = compiled_.begin();
  for (size_t i = first; i < first + count; ++i) {
    if (next != compiled_.end() && next->first == i) {
      const Compiled& compiled = *next++;
      if (run_compiled(compiled, state, begin, end)) {
        prefetch(i, compiled.match.steps);
        i += compiled.match.steps - 1;
        continue;
      }
    }
    prefetch(i, 1);
    const Instruction& step = instructions_[i];
    if (!state.runs_op[i]) {
      (*step.part)(buffers_of(i, b, state.slots), begin, end);
      continue;
    }
    const float* operands[max_step_operands] = {};
    for (size_t k = 0; k < step.op->operands.size(); ++k)
      operands[k] = reinterpret_cast<const float*>(state.slots[step.operands + k]) + begin;
    bulk().updates.steps[static_cast<size_t>(step.op->kind)](operands, state.constants + i * max_constants,
                                                             reinterpret_cast<float*>(state.slots[step.out]) + begin,
                                                             end - begin);
  }
}

void RegisterProgram::run(const Buffers& b, int64_t begin, int64_t end, std::byte* values) const {
  const State state = prepare(b);
  for (int64_t i = begin; i < end; i += block) run_block(b, state, i, std::min(i + block, end), values);
}

void RegisterProgram::run_parts(const Buffers& b, std::byte* values,
                                const std::function<void(const RunElements& run)>& f) const {
  const State state = prepare(b);
  const int64_t width = at(steps[0].out[0]).width;
  f([&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += block) run_block(b, state, i, std::min(i + block, end), values + i * width);
  });
}

std::vector<Phase> RegisterProgram::earlier_phases(const std::shared_ptr<const RegisterProgram>& program) {
  std::vector<Phase> phases;
  for (size_t i = 0; i < program->steps.size(); ++i) {
    const std::vector<Phase>& all = program->steps[i].kernel.phases();
    for (size_t p = 0; p + 1 < all.size(); ++p)
      phases.push_back({all[p].iterations, all[p].grain,
                        [program, i, &phase = all[p]](const Buffers& b, int64_t begin, int64_t end) {
                          phase.part(program->buffers_of(i, b, program->locate(b)), begin, end);
                        }});
  }
  return phases;
}

UpdateEpilogue RegisterProgram::compiled_epilogue(const std::shared_ptr<const RegisterProgram>& program) {
  const std::vector<Compiled>& all = program->compiled_;
  if (all.size() != 1 || all[0].first != 1 || all[0].match.steps + 1 != program->steps.size()) return {};
  const std::vector<int>& places = all[0].match.places;
  if (places[0] != program->steps[0].out[0] || program->at(places[0]).kind != Kind::block) return {};
  UpdateEpilogue epilogue;
  epilogue.slots.fill(-1);
  for (size_t r = 1; r < places.size(); ++r) {
    if (places[r] < 0) continue;
    if (program->at(places[r]).kind != Kind::operand) return {};
    epilogue.slots[r] = program->at(places[r]).index;
  }
  epilogue.row = all[0].match.update;
  epilogue.constants = [program](const Buffers& b, float* to) {
    const State state = program->prepare(b);
    const size_t count = program->compiled_[0].match.steps;
    std::copy_n(state.constants + max_constants, count * max_constants, to);
    return std::all_of(state.runs_op + 1, state.runs_op + 1 + count, [](bool runs) { return runs; });
  };
  return epilogue;
}

}  // namespace pxl
