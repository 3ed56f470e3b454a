// Runs the steps of a program, except for the loop, which is in the header.
#include "runtime/execute/program.hpp"

#include "runtime/execute/tiles/part_log.hpp"

namespace pxl {

namespace {

/// Views of a step's operands and results.
std::vector<Array> views(const std::vector<Tensor*>& tensors, const std::byte* const* memory) {
  std::vector<Array> arrays;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i] || !memory[i]) {
      arrays.emplace_back(DType::float32, Shape{0});
      continue;
    }
    // A write through a view would copy first, so the constness holds.
    const std::shared_ptr<std::byte> data(const_cast<std::byte*>(memory[i]), [](std::byte*) {});
    arrays.push_back(Array::wrap(tensors[i]->spec.dtype, tensors[i]->spec.shape, data));
  }
  return arrays;
}

}  // namespace

Program::~Program() = default;

void Program::keep_part(const RunStep& step) { parts_->keep(step); }

void Program::restore_parts() { parts_->restore(); }

void Program::begin() {
  parts_->begin();
  const bool computed = changes_before_ >= 0 && changes_before_ == changes();
  if (!computed) changes_before_ = -1;
  at_ = computed ? first_steps_ : 0;
  polls_ = true;
  committed_ = false;
  for (const StreamPort& port : ports_)
    for (size_t operand : port.operands) pointers_[operand] = port.next;
  for (CollectiveStop& stop : stops_) stop.in = pointers_[steps_[stop.step].target];  // it may read a sample in place
}

int64_t Program::changes() const {
  int64_t sum = 0;
  for (const int64_t* of_variable : read_once_) {
    if (!of_variable) return -1;
    sum += *of_variable;
  }
  return sum;
}

void Program::observe(RunObserver* observer) {
  observer_ = observer;
  profile_->start(steps_.size());
}

void Program::show(const RunStep& step, bool after) {
  const std::vector<Array> in = views(step.op->inputs, pointers_.data() + step.target);
  const std::vector<Array> out = views(step.op->outputs, pointers_.data() + step.outputs);
  const OpView view{*step.op, in, out, replica_.number, replica_.count};
  if (after)
    observer_->after(view);
  else
    observer_->before(view);
}

void Program::show_result(const RunStep& step) {
  try {
    show(step, true);
  } catch (Error& error) {
    locate(error, step);
    throw;
  }
}

void Program::run_timed(size_t at) {
  const auto start = Profile::Clock::now();
  const RunStep& step = steps_[at];
  std::vector<Array> in, out;
  const bool seen = observer_ && step.op && step.op->id != 0;  // ops that the planner created are not the program's
  if (seen) {
    in = views(step.op->inputs, step.buffers.in);
    out = views(step.op->outputs, step.buffers.out);
    observer_->before({*step.op, in, out, replica_.number, replica_.count});
  }
  if (step.divided)
    run_divided(*step.kernel, step.buffers, false, profile_.get(), at);
  else
    profile_->run_phases(at, *step.kernel, step.buffers);
  const auto end = Profile::Clock::now();
  profile_->add_kernel(at, end - start);
  profile_->add_part(at, Profile::thread_number(), start, end);
  if (seen) observer_->after({*step.op, in, out, replica_.number, replica_.count});
}

void Program::locate(Error& error, const RunStep& step) const {
  if (error.first().fault == Fault::refused) error.first().fault = Fault::failed;
  const bool checks = step.instruction && step.instruction->checking;
  if (const Op* op = checks ? step.instruction->checking : step.op) error.locate(op->origin.span, op->origin.frames);
}

}  // namespace pxl
