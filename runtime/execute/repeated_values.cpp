#include "runtime/execute/repeated_values.hpp"

#include <algorithm>
#include <set>

#include "runtime/graph/remote.hpp"

namespace pxl {

void RepeatedMemory::drop(const std::byte* at, int64_t bytes) {
  const std::byte* end = at + bytes;
  if (bytes == 0) return;
  auto i = ends_.upper_bound(at);
  if (i != ends_.begin()) --i;
  while (i != ends_.end() && i->first < end) {
    const auto [begin_of, end_of] = *i;
    if (end_of <= at) {
      ++i;
      continue;
    }
    i = ends_.erase(i);
    if (begin_of < at) ends_[begin_of] = at;
    if (end_of > end) i = std::next(ends_.emplace(end, end_of).first);
  }
}

void RepeatedMemory::keep(const std::byte* at, int64_t bytes) {
  drop(at, bytes);
  if (bytes > 0) ends_[at] = at + bytes;
}

bool RepeatedMemory::holds(const std::byte* at, int64_t bytes) const {
  auto i = ends_.upper_bound(at);
  if (i != ends_.begin()) --i;
  for (const std::byte* end = at + bytes; at < end; ++i) {
    if (i == ends_.end() || i->first > at || i->second <= at) return false;
    at = i->second;
  }
  return true;
}

bool RepeatedMemory::intersect(const RepeatedMemory& other) {
  std::vector<std::pair<const std::byte*, int64_t>> missing;
  for (const auto& [begin, end] : ends_) {
    const std::byte* at = begin;
    auto i = other.ends_.upper_bound(at);
    if (i != other.ends_.begin()) --i;
    for (; i != other.ends_.end() && i->first < end; ++i) {
      if (i->second <= at) continue;
      if (i->first > at) missing.push_back({at, i->first - at});
      at = std::min(end, i->second);
    }
    if (at < end) missing.push_back({at, end - at});
  }
  for (const auto& [at, bytes] : missing) drop(at, bytes);
  return !missing.empty();
}

namespace {

class Proof {
 public:
  explicit Proof(const BuiltSteps& built) : b_(built) {
    for (const StreamPort& port : b_.ports) elsewhere_.insert(port.operands.begin(), port.operands.end());
    for (const Array& constant : b_.constants) now_.keep(constant.raw(), constant.bytes());
  }

  /// Whether it was found in time.
  bool run() {
    constexpr size_t max_visits = 16;  // of each step, on average
    size_t left = max_visits * b_.steps.size();
    for (size_t i = 0; i < b_.steps.size(); ++i) {
      if (left-- == 0) return false;
      RunStep& step = b_.steps[i];
      in_branch_ = i < branch_end_;
      switch (step.kind) {
        case RunStep::Kind::kernel:
        case RunStep::Kind::collective: visit(step, *b_.plans[i]); break;
        case RunStep::Kind::copy: write(step.to, step.bytes, !in_branch_ && now_.holds(step.from, step.bytes)); break;
        case RunStep::Kind::load: now_.drop(step.to, step.bytes); break;
        case RunStep::Kind::loop: loops_.push_back(now_); break;
        case RunStep::Kind::repeat:
          // A value is repeated at the loop's entry if it is repeated both before the loop and at the end of an
          // iteration.
          if (loops_.back().intersect(now_)) {
            now_ = loops_.back();
            i = step.target - 1;
          } else {
            loops_.pop_back();
          }
          break;
        // The step before the else branch jumps to its end.
        case RunStep::Kind::branch: branch_end_ = std::max(branch_end_, b_.steps[step.target - 1].target); break;
        case RunStep::Kind::leave: branch_end_ = std::max(branch_end_, step.target); break;
        case RunStep::Kind::store:
        case RunStep::Kind::unended:
        case RunStep::Kind::jump: break;
      }
    }
    return true;
  }

 private:
  void write(const std::byte* to, int64_t bytes, bool repeated) {
    if (repeated)
      now_.keep(to, bytes);
    else
      now_.drop(to, bytes);
  }

  bool is_repeated(size_t pointer, int64_t bytes) const {
    return !elsewhere_.contains(pointer) && now_.holds(b_.pointers[pointer], bytes);
  }

  void visit(RunStep& step, const Plan& plan) {
    const Instruction& instruction = *step.instruction;
    const Op& op = *step.op;
    const auto buffer = [&](BufferId id) { return plan.buffers[static_cast<size_t>(id)].bytes; };
    if (step.fallible)
      step.proven_by_run =
          !in_branch_ && !instruction.deciding.empty() &&
          std::all_of(instruction.deciding.begin(), instruction.deciding.end(),
                      [&](const auto& operand) { return is_repeated(step.target + operand.slot, operand.bytes); });
    const bool one_op = instruction.in.size() == op.inputs.size() && instruction.out.size() == op.outputs.size();
    bool repeated = one_op && !in_branch_ && step.kind == RunStep::Kind::kernel && op.row->exchange == Exchange::none &&
                    !is_remote(op);
    for (size_t slot = 0; repeated && slot < instruction.in.size(); ++slot)
      repeated = instruction.in[slot] < 0 || is_repeated(step.target + slot, buffer(instruction.in[slot]));
    // A buffer may be larger than the tensor.
    const auto wrote = [&](size_t pointer, BufferId id, const Tensor* as) {
      const int64_t bytes = buffer(id);
      write(b_.pointers[pointer], repeated && as ? std::min(bytes, as->spec.bytes()) : bytes,
            repeated && as && !elsewhere_.contains(pointer));
    };
    for (size_t slot = 0; slot < instruction.in.size(); ++slot)
      if (instruction.modified[slot])
        wrote(step.target + slot, instruction.in[slot], one_op ? op.inputs[slot] : nullptr);
    for (size_t j = 0; j < instruction.out.size(); ++j)
      if (instruction.out[j] >= 0) wrote(step.outputs + j, instruction.out[j], one_op ? op.outputs[j] : nullptr);
  }

  BuiltSteps b_;
  std::set<size_t> elsewhere_;  ///< pointers that the steps do not use: the memory is the host's
  RepeatedMemory now_;
  std::vector<RepeatedMemory> loops_;  ///< at the beginnings of the loops around the step
  size_t branch_end_ = 0;
  bool in_branch_ = false;
};

}  // namespace

void mark_proven_steps(const BuiltSteps& built) {
  if (Proof(built).run()) return;
  for (RunStep& step : built.steps) step.proven_by_run = false;
}

}  // namespace pxl
