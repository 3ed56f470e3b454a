// Flattens a plan into steps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/size_text.hpp"
#include "runtime/execute/direct_transfers.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/execute/repeated_values.hpp"
#include "runtime/execute/tiles/part_log.hpp"
#include "runtime/graph/remote.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {
constexpr int64_t max_steps = 4'000'000;  // about 120 bytes each
}  // namespace

struct Program::Frame {
  const Plan& plan;
  const std::vector<std::byte*>& inputs;
  const std::vector<std::byte*>& outputs;
  std::byte* base;
  const StepCaller* caller = nullptr;
};

class Program::Builder {
 public:
  Builder(Program& program, const Memory& variable, const RemoteBuffers& remote, const VariableChanges& changes)
      : program_(program), variable_(variable), remote_(remote), changes_of_(changes) {}

  void add_main(const Frame& frame) {
    main_ = &frame.plan;
    direct_ = direct_loads(frame.plan);
    const std::map<BufferId, const Stream*> stores = direct_stores(frame.plan);
    for (const Instruction& instruction : frame.plan.instructions)  // ports in the order of loads and stores
      if (instruction.stream && !stores.empty()) port(instruction.stream);
    for (const auto& [id, stream] : stores) {
      direct_.insert(id);
      port_of_[id] = port(stream);
    }
    add_once(frame);
    program_.first_steps_ = program_.steps_.size();
    for (const Instruction& instruction : frame.plan.instructions)
      for (const BufferId id : instruction.once ? instruction.in : std::vector<BufferId>())
        if (id >= 0 && frame.plan.buffers[static_cast<size_t>(id)].kind == Buffer::Kind::variable)
          program_.read_once_.push_back(changes_of_ ? changes_of_(frame.plan.buffers[static_cast<size_t>(id)].tensor)
                                                    : nullptr);
    add(frame);
  }

  void finish() {
    // One kernel runs at a time: its workspace may be where another one's was.
    size_t bytes = 0;
    for (const RunStep& step : program_.steps_)
      if (step.kind == RunStep::Kind::kernel) bytes = std::max(bytes, workspace_bytes(*step.kernel));
    program_.workspace_ = WorkspaceMemory(bytes);
    add_stops();
    size_t first_change = program_.steps_.size();
    for (size_t i = 0; i < program_.steps_.size(); ++i) {
      RunStep& step = program_.steps_[i];
      if (step.kind == RunStep::Kind::kernel)
        step.buffers =
            Buffers{program_.pointers_.data() + step.target, program_.pointers_.data() + step.outputs}.with_workspace(
                program_.workspace_.data(), step.kernel->workspace());
      if (step.changes_variable) first_change = std::min(first_change, i);
    }
    // If a loop modifies a variable, earlier steps of the loop run again after the modification.
    size_t exposed = first_change;
    for (size_t i = first_change; i < program_.steps_.size(); ++i)
      if (program_.steps_[i].kind == RunStep::Kind::repeat) exposed = std::min(exposed, program_.steps_[i].target);
    // The first change itself does no harm: it checks its index before it writes.
    if (exposed == first_change && first_change < program_.steps_.size() &&
        PartLog::writes_a_part(program_.steps_[first_change]))
      ++exposed;
    const auto begin = program_.steps_.begin() + static_cast<std::ptrdiff_t>(exposed), end = program_.steps_.end();
    program_.fallible_in_first_run_ = std::any_of(begin, end, [](const RunStep& step) { return step.fallible; });
    if (program_.fallible_in_first_run_) {
      plans_.resize(program_.steps_.size());
      mark_proven_steps({program_.steps_, plans_, program_.pointers_, program_.ports_, program_.constants_});
      program_.fallible_in_later_runs_ =
          std::any_of(begin, end, [](const RunStep& step) { return step.fallible && !step.proven_by_run; });
    }
    program_.changed_variables_.assign(changed_.begin(), changed_.end());
    std::ranges::sort(program_.changed_variables_, {}, &Tensor::id);
    find_parts();
  }

 private:
  /// Adds the steps that write a part to the log. Variables of which no other step writes anything need no copy. In a
  /// loop a step writes many parts, so that one copy costs less.
  void find_parts() {
    std::vector<int> loops(program_.steps_.size() + 1);  // begun less ended ones, at each step
    for (size_t i = 0; i < program_.steps_.size(); ++i)
      if (program_.steps_[i].kind == RunStep::Kind::repeat) ++loops[program_.steps_[i].target], --loops[i];
    std::set<const Tensor*> whole;
    const auto note_whole = [&](const std::byte* to) {
      if (const auto owner = owners_.find(to); owner != owners_.end())
        whole.insert(owner->second.begin(), owner->second.end());
    };
    int depth = 0;
    for (size_t i = 0; i < program_.steps_.size(); ++i) {
      RunStep& step = program_.steps_[i];
      depth += loops[i];
      if (!step.changes_variable || PartLog::changes_nothing(step)) continue;
      if (depth == 0 && PartLog::writes_a_part(step)) {
        step.part = program_.parts_->add(step);
        continue;
      }
      if (step.to) note_whole(step.to);
      if (!step.instruction) continue;
      for (size_t slot = 0; slot < step.instruction->in.size(); ++slot)
        if (step.instruction->modified[slot]) note_whole(program_.pointers_[step.target + slot]);
      for (size_t j = 0; j < step.instruction->out.size(); ++j) note_whole(program_.pointers_[step.outputs + j]);
    }
    std::ranges::copy_if(program_.changed_variables_, std::back_inserter(program_.copied_variables_),
                         [&](const Tensor* v) { return whole.contains(v); });
  }

  /// Adds all of a plan except the instructions that run once.
  void add(const Frame& frame) {
    add_copies(frame, frame.plan.entry_copies, nullptr);
    for (const Instruction& instruction : frame.plan.instructions)
      if (!instruction.once) add(frame, instruction);
    add_copies(frame, frame.plan.exit_copies, nullptr);
  }

  void add_once(const Frame& frame) {
    for (const Instruction& instruction : frame.plan.instructions)
      if (instruction.once) add(frame, instruction);
  }

  /// Consecutive collectives with one kind and group are one message, unless one of them touches memory that another
  /// writes.
  void add_stops() {
    std::vector<RunStep>& steps = program_.steps_;
    const auto is_collective = [](const RunStep& s) { return s.kind == RunStep::Kind::collective; };
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!is_collective(steps[i])) continue;
      steps[i].port = program_.stops_.size();
      program_.stops_.push_back(
          {steps[i].op, steps[i].kernel, program_.pointers_[steps[i].target], program_.pointers_[steps[i].outputs], i});
    }
    const auto overlap = [](const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
      return a < b + b_bytes && b < a + a_bytes;
    };
    const auto independent = [&](const CollectiveStop& a, const CollectiveStop& b) {
      const int64_t in[] = {a.op->inputs[0]->spec.bytes(), b.op->inputs[0]->spec.bytes()};
      const int64_t out[] = {a.op->outputs[0]->spec.bytes(), b.op->outputs[0]->spec.bytes()};
      return !overlap(a.out, out[0], b.in, in[1]) && !overlap(a.out, out[0], b.out, out[1]) &&
             !overlap(a.in, in[0], b.out, out[1]);
    };
    for (size_t i = steps.size(); i-- > 0;) {
      if (!is_collective(steps[i])) continue;
      // The number of collectives that can share one message, from this collective on.
      const CollectiveStop& stop = program_.stops_[steps[i].port];
      size_t together = 1;
      const int64_t following = i + 1 < steps.size() && is_collective(steps[i + 1]) ? steps[i + 1].bytes : 0;
      while (together <= static_cast<size_t>(following)) {
        const CollectiveStop& other = program_.stops_[steps[i].port + together];
        if (other.op->row != stop.op->row || other.op->attrs != stop.op->attrs || !independent(stop, other)) break;
        ++together;
      }
      steps[i].bytes = static_cast<int64_t>(together);
      if (together > 1) steps[i].changes_variable = steps[i].changes_variable || steps[i + 1].changes_variable;
    }
  }

  std::byte* pointer(const Frame& frame, BufferId id) {
    if (id < 0) return nullptr;
    const Buffer& buffer = frame.plan.buffers[static_cast<size_t>(id)];
    switch (buffer.kind) {
      case Buffer::Kind::arena: return frame.base + buffer.offset;
      case Buffer::Kind::input: return frame.inputs[static_cast<size_t>(buffer.index)];
      case Buffer::Kind::output: return frame.outputs[static_cast<size_t>(buffer.index)];
      case Buffer::Kind::variable: {
        std::byte* memory = variable_(buffer.tensor);
        owners_[memory].insert(buffer.tensor);
        return memory;
      }
      case Buffer::Kind::constant: break;
    }
    if (kept_.insert(buffer.tensor).second) program_.constants_.push_back(buffer.tensor->data);
    return const_cast<std::byte*>(
        buffer.tensor->data.raw());  // read only: constants that are modified have been copied
  }

  RunStep& push(RunStep::Kind kind, const Op* op) {
    RunStep step;
    step.kind = kind;
    step.op = op;
    program_.steps_.push_back(step);
    return program_.steps_.back();
  }

  /// Variables are identified by their first byte.
  bool note_change(const std::byte* to) {
    const auto owner = owners_.find(to);
    if (owner == owners_.end()) return false;
    changed_.insert(owner->second.begin(), owner->second.end());
    return true;
  }

  void add_copies(const Frame& frame, const std::vector<Copy>& copies, const Op* op) {
    for (const Copy& copy : copies) {
      const std::byte* from = pointer(frame, copy.from);
      std::byte* to = pointer(frame, copy.to);
      if (from == to || copy.bytes == 0) continue;
      RunStep& step = push(RunStep::Kind::copy, op);
      step.from = from;
      step.to = to;
      step.bytes = copy.bytes;
      step.changes_variable = note_change(to);
    }
  }

  void add_kernel(const Frame& frame, const Instruction& instruction) {
    const size_t first = program_.pointers_.size();
    bool changes = false;
    const auto note_direct = [&](BufferId id) {
      if (&frame.plan == main_ && direct_.count(id) > 0)
        program_.ports_[port_of_.at(id)].operands.push_back(program_.pointers_.size());
    };
    for (size_t slot = 0; slot < instruction.in.size(); ++slot) {
      note_direct(instruction.in[slot]);
      program_.pointers_.push_back(pointer(frame, instruction.in[slot]));
      if (instruction.modified[slot]) changes = note_change(program_.pointers_.back()) || changes;
    }
    if (instruction.op->row->exchange == Exchange::replica)
      program_.pointers_.push_back(reinterpret_cast<std::byte*>(&program_.replica_));
    if (is_remote(*instruction.op))
      program_.pointers_.push_back(reinterpret_cast<std::byte*>(remote_(remote_buffer_of(*instruction.op))));
    const size_t outputs = program_.pointers_.size();
    for (BufferId id : instruction.out) {
      note_direct(id);
      program_.pointers_.push_back(pointer(frame, id));
      changes = note_change(program_.pointers_.back()) || changes;
    }
    // The kernel of a collective needs the operands in all replicas, so a collective step runs it.
    const bool collective = is_exchanged(*instruction.op);
    RunStep& step = push(collective ? RunStep::Kind::collective : RunStep::Kind::kernel, instruction.op);
    step.kernel = &instruction.kernel;
    step.instruction = &instruction;
    step.caller = frame.caller;
    std::set<BufferId> touched(instruction.in.begin(), instruction.in.end());
    touched.insert(instruction.out.begin(), instruction.out.end());
    for (BufferId id : touched)
      if (id >= 0) step.touched += frame.plan.buffers[static_cast<size_t>(id)].bytes;
    step.target = first;
    step.outputs = outputs;
    step.changes_variable = changes;
    step.fallible = instruction.fallible;
    plans_.resize(program_.steps_.size());
    plans_.back() = &frame.plan;
    step.divided = worth_dividing(instruction.kernel);
  }

  size_t port(const Stream* stream) {
    for (size_t i = 0; i < program_.ports_.size(); ++i)
      if (program_.ports_[i].stream == stream) return i;
    const int64_t bytes = stream->spec().bytes();
    program_.ports_.push_back({stream, nullptr, bytes, bytes, 0, {}});
    return program_.ports_.size() - 1;
  }

  /// f(the callee's frame)
  template <class F>
  void in_callee(const Frame& frame, const Instruction& control, const PlanCall& call, F&& f) {
    std::vector<std::byte*> in, out;
    for (BufferId id : call.in) in.push_back(pointer(frame, id));
    for (BufferId id : call.out) out.push_back(pointer(frame, id));
    program_.callers_.push_back({&control, frame.caller});
    f(Frame{*call.callee, in, out, pointer(frame, call.frame), &program_.callers_.back()});
  }

  void add_call(const Frame& frame, const Instruction& instruction, const PlanCall& call) {
    add_copies(frame, call.before, instruction.op);
    in_callee(frame, instruction, call, [&](const Frame& callee) {
      if (instruction.kind != Instruction::Kind::loop) add_once(callee);
      add(callee);
    });
    add_copies(frame, call.after, instruction.op);
  }

  void add(const Frame& frame, const Instruction& instruction) {
    switch (instruction.kind) {
      case Instruction::Kind::kernel: add_kernel(frame, instruction); break;
      case Instruction::Kind::load: {
        std::byte* to = pointer(frame, instruction.out[0]);
        const size_t index = port(instruction.stream);
        if (&frame.plan == main_ && direct_.count(instruction.out[0]) > 0) {
          port_of_[instruction.out[0]] = index;
          break;
        }
        RunStep& step = push(RunStep::Kind::load, instruction.op);
        step.to = to;
        step.port = index;
        step.bytes = program_.ports_[index].sample_bytes;
        step.changes_variable = note_change(to);
        break;
      }
      case Instruction::Kind::store: {
        if (&frame.plan == main_ && direct_.count(instruction.in[0]) > 0) break;  // the kernels have stored it
        const std::byte* from = pointer(frame, instruction.in[0]);
        const size_t index = port(instruction.stream);
        RunStep& step = push(RunStep::Kind::store, instruction.op);
        step.from = from;
        step.port = index;
        step.bytes = program_.ports_[index].sample_bytes;
        break;
      }
      case Instruction::Kind::call: add_call(frame, instruction, instruction.calls[0]); break;
      case Instruction::Kind::loop: add_loop(frame, instruction); break;
      case Instruction::Kind::branch: add_branch(frame, instruction); break;
    }
  }

  /// A call of a loop's body in the first or the second of two iterations. The results of the first iteration are
  /// operands of the second, and vice versa.
  static PlanCall call_of_pair(const PlanCall& body, bool second) {
    PlanCall call = body;
    for (const Copy& copy : body.after)
      for (size_t i = 0; second && copy.alternates && i < call.out.size(); ++i)
        if (body.out[i] == copy.from && body.in[i] == copy.to) std::swap(call.in[i], call.out[i]);
    std::erase_if(call.after, [](const Copy& copy) { return copy.alternates; });
    return call;
  }

  void add_loop(const Frame& frame, const Instruction& instruction) {
    add_copies(frame, instruction.before, instruction.op);
    const PlanCall& body = instruction.calls[0];
    if (instruction.condition) return add_conditional_loop(frame, instruction);
    in_callee(frame, instruction, body, [&](const Frame& callee) { add_once(callee); });
    const bool in_pairs =
        std::any_of(body.after.begin(), body.after.end(), [](const Copy& copy) { return copy.alternates; });
    const int64_t rounds = in_pairs ? instruction.repeats / 2 : instruction.repeats;
    if (rounds > 0) {
      const size_t counter = program_.counters_.size();
      program_.counters_.push_back(0);
      push(RunStep::Kind::loop, instruction.op).port = counter;
      const size_t first = program_.steps_.size();
      add_call(frame, instruction, in_pairs ? call_of_pair(body, false) : body);
      if (in_pairs) add_call(frame, instruction, call_of_pair(body, true));
      RunStep& step = push(RunStep::Kind::repeat, instruction.op);
      step.port = counter;
      step.target = first;
      step.bytes = rounds;
    }
    if (in_pairs && instruction.repeats % 2 == 1) add_call(frame, instruction, body);
    add_copies(frame, instruction.after, instruction.op);
  }

  /// What the iterations share is computed if there is one.
  void add_conditional_loop(const Frame& frame, const Instruction& instruction) {
    const PlanCall& body = instruction.calls[0];
    const std::byte* goes_on = pointer(frame, instruction.out[*instruction.condition]);
    std::vector<size_t> leaving;
    const auto add_leave = [&] {
      leaving.push_back(program_.steps_.size());
      push(RunStep::Kind::leave, instruction.op).from = goes_on;
    };
    if (instruction.repeats > 0) {
      add_leave();
      in_callee(frame, instruction, body, [&](const Frame& callee) { add_once(callee); });
      const size_t counter = program_.counters_.size();
      program_.counters_.push_back(0);
      push(RunStep::Kind::loop, instruction.op).port = counter;
      const size_t first = program_.steps_.size();
      add_leave();
      add_call(frame, instruction, body);
      RunStep& step = push(RunStep::Kind::repeat, instruction.op);
      step.port = counter;
      step.target = first;
      step.bytes = instruction.repeats;
    }
    // A run that may not end, or fails at its bound, keeps what it needs to be taken back.
    RunStep& beyond = push(RunStep::Kind::unended, instruction.op);
    beyond.from = goes_on;
    beyond.fallible = true;
    for (const size_t step : leaving) program_.steps_[step].target = program_.steps_.size();
    add_copies(frame, instruction.after, instruction.op);
  }

  void add_branch(const Frame& frame, const Instruction& instruction) {
    const std::byte* condition = pointer(frame, instruction.in[0]);
    const size_t branch = program_.steps_.size();
    push(RunStep::Kind::branch, instruction.op).from = condition;
    add_call(frame, instruction, instruction.calls[0]);
    const size_t jump = program_.steps_.size();
    push(RunStep::Kind::jump, instruction.op);
    program_.steps_[branch].target = program_.steps_.size();
    add_call(frame, instruction, instruction.calls[1]);
    program_.steps_[jump].target = program_.steps_.size();
  }

  Program& program_;
  const Memory& variable_;
  const RemoteBuffers& remote_;
  const VariableChanges& changes_of_;
  const Plan* main_ = nullptr;
  std::vector<const Plan*> plans_;      ///< of kernels, by step
  std::set<BufferId> direct_;           ///< buffers of the main plan; see direct_loads and direct_stores
  std::map<BufferId, size_t> port_of_;  ///< of these
  /// Several variables may share one first byte while they are only read.
  std::map<const std::byte*, std::set<const Tensor*>> owners_;
  std::set<const Tensor*> kept_, changed_;
};

namespace {

Error too_large(const Plan& plan) {
  const Buffer* largest = nullptr;
  for (const Buffer& b : plan.buffers)
    if (b.kind == Buffer::Kind::arena && b.tensor && (!largest || b.bytes > largest->bytes)) largest = &b;
  std::vector<std::string> notes;
  if (largest)
    notes.push_back(fmt::format("the largest tensor is {}, {}", text(*largest->tensor), size_text(largest->bytes)));
  return run_error(fmt::format("a run needs {} for tensors, more than memory", size_text(plan.arena_bytes)),
                   std::move(notes))
      .as(codes::memory);
}

}  // namespace

Program::Program(const Plan& plan, const Memory& variable, const std::vector<std::byte*>& outputs,
                 ReplicaNumber replica, std::shared_ptr<Profile> profile, const RemoteBuffers& remote,
                 const VariableChanges& changes)
    : parts_(std::make_unique<PartLog>()), replica_(replica), profile_(std::move(profile)) {
  if (plan.step_count > max_steps)
    throw Error(fmt::format("a run takes more than {} steps when the calls of graphs are written out", max_steps),
                {"use repeat for a graph that is called many times in a row"})
        .as(codes::memory);
  try {
    arena_ = Array(DType::uint8, {plan.arena_bytes});
  } catch (const Error&) {
    throw too_large(plan);
  }
  Builder builder(*this, variable, remote, changes);
  const std::vector<std::byte*> inputs;
  builder.add_main(Frame{plan, inputs, outputs, arena_.mutable_raw()});
  try {
    builder.finish();
  } catch (const std::bad_alloc&) {
    throw too_large(plan);
  }
  for (StreamPort& port : ports_) port.per_run = plan.transfers.at(port.stream);
}

}  // namespace pxl
