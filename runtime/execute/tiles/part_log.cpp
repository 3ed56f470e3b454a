#include "runtime/execute/tiles/part_log.hpp"

#include <algorithm>

#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/plan/storage.hpp"

namespace pxl {
namespace {

/// Whether the step's kernel is of its op alone, which has one result.
bool is_one_op(const RunStep& step) {
  return step.kind == RunStep::Kind::kernel && step.op && step.instruction->in.size() == step.op->inputs.size() &&
         step.instruction->out.size() == 1;
}

}  // namespace

bool PartLog::changes_nothing(const RunStep& step) {
  static const OpRow& copy = get_op("copy_var_update_");
  return is_one_op(step) && step.op->row == &copy && step.buffers.in[0] == step.buffers.in[1] &&
         step.buffers.out[0] == step.buffers.in[0];
}

bool PartLog::writes_a_part(const RunStep& step) {
  return is_one_op(step) && writes_a_window(*step.op->row) && step.buffers.out[0] == step.buffers.in[0];
}

int PartLog::add(const RunStep& step) {
  const TensorSpec &whole = step.op->inputs[0]->spec, &index = step.op->inputs[1]->spec,
                   &part = step.op->inputs[2]->spec;
  std::vector<int64_t> axes = OpContext{*step.op->row, {}, step.op->attrs}.integers("axes"), sizes;
  for (int64_t& axis : axes) {
    axis = normalise_axis(axis, static_cast<int64_t>(whole.shape.size()));
    sizes.push_back(part.shape[static_cast<size_t>(axis)]);
  }
  writers_.push_back(
      {dynamic_slice_kernel(whole, index, axes, sizes), dynamic_update_kernel(whole, index, part, axes), index, part});
  return static_cast<int>(writers_.size()) - 1;
}

void PartLog::keep(const RunStep& step) {
  const Writer& writer = writers_[static_cast<size_t>(step.part)];
  if (used_ == kept_.size()) kept_.emplace_back();
  Kept& kept = kept_[used_];
  if (kept.writer != step.part) {
    kept.writer = step.part;
    kept.index = Array(writer.index.dtype, writer.index.shape);
    kept.part = Array(writer.part.dtype, writer.part.shape);
  }
  kept.whole = step.buffers.out[0];
  std::copy_n(step.buffers.in[1], writer.index.bytes(), kept.index.mutable_raw());
  std::byte* to = kept.part.mutable_raw();
  try {
    writer.read(Buffers{step.buffers.in, &to});
  } catch (const Error&) {
    return;  // the step itself refuses the index
  }
  ++used_;
}

void PartLog::restore() {
  for (; used_ > 0; --used_) {
    Kept& kept = kept_[used_ - 1];
    const std::byte* const in[] = {kept.whole, kept.index.raw(), kept.part.raw()};
    writers_[static_cast<size_t>(kept.writer)].write(Buffers{in, &kept.whole});
  }
}

}  // namespace pxl
