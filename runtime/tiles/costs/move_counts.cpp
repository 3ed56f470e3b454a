#include "runtime/tiles/costs/move_counts.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/tiles/parts/lowering.hpp"

namespace pxl::tiles {

namespace {

class Counting {
 public:
  explicit Counting(const MappedProgram& program) : m_(program) {}

  void add(const Op& op, int64_t runs) {
    runs_ = runs;
    const OpContextStorage storage(op);
    OpContext site = storage.site;
    site.out = storage.out;
    const OpCandidate& candidate = m_.candidate(op);
    OpParts parts = op_parts({m_.machine(), m_.candidate_options(op), op, site, candidate, m_.mappings()});
    std::vector<const Layout*> memories;
    std::vector<int64_t> widths;
    std::vector<TensorPlace> operands(op.inputs.size()), results(op.outputs.size());
    const auto place = [&](const Layout& layout, const TensorSpec& spec) {
      memories.push_back(&layout);
      widths.push_back(element_bytes(spec));
      return TensorPlace{memories.size() - 1, nullptr};
    };
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor* t = op.inputs[i];
      if (!t) continue;
      int32_t mapping = m_.mapping_of(t);
      if (parts.as_planned && !op.modifies(i) && candidate.in[i] >= 0 && candidate.in[i] != mapping) {
        count(rearranging_moves(layout(mapping, t->spec), layout(candidate.in[i], t->spec)), element_bytes(t->spec));
        mapping = candidate.in[i];
      }
      operands[i] = place(layout(mapping, t->spec), t->spec);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i)
      results[i] = i == 0 && op.row->alias >= 0
                       ? operands[static_cast<size_t>(op.row->alias)]
                       : place(layout(m_.mapping_of(op.outputs[i]), op.outputs[i]->spec), op.outputs[i]->spec);
    const LoweredOp lowered = lower(std::move(parts), memories, operands, results);
    for (const LoweredStep& step : lowered.steps) {
      for (const std::vector<SliceMove>* moves : {&step.gather, &step.deliver}) {
        if (moves->empty()) continue;
        counts.exchanges += runs;
        for (const SliceMove& move : *moves) count(move, widths[move.index]);
      }
      counts.vertices += runs * std::ssize(step.parts);
    }
    if (!lowered.collect.empty()) counts.exchanges += runs;
    for (const SliceMove& move : lowered.collect)
      count(move, static_cast<int64_t>(size_of(lowered.partial[lowered.buffers[move.index].result]->dtype)));
    counts.vertices += runs * std::ssize(lowered.combine);
    if (!lowered.spread.empty()) counts.exchanges += runs;
    for (const SliceMove& move : lowered.spread) count(move, widths[move.index]);
  }

  MoveCounts counts;

 private:
  const Layout& layout(int32_t mapping, const TensorSpec& spec) {
    std::unique_ptr<Layout>& found = layouts_[{mapping, spec.shape}];
    if (!found)
      found = std::make_unique<Layout>(
          m_.machine(), mapping >= 0 ? m_.mapping(mapping) : linear_mapping(m_.machine(), spec), spec.shape);
    return *found;
  }
  void count(const SliceMove& move, int64_t width) {
    const int64_t bytes = move.region.size() * width;
    counts.moves += runs_;
    counts.sent_bytes += runs_ * bytes;
    counts.received_bytes += runs_ * bytes * std::ssize(move.to);
  }
  void count(const std::vector<SliceMove>& moves, int64_t width) {
    if (!moves.empty()) counts.exchanges += runs_;
    for (const SliceMove& move : moves) count(move, width);
  }

  const MappedProgram& m_;
  int64_t runs_ = 1;
  std::map<std::pair<int32_t, Shape>, std::unique_ptr<Layout>> layouts_;
};

}  // namespace

MoveCounts count_moves(const MappedProgram& program, int64_t max_elements) {
  Counting counting(program);
  for (const GraphInstance& instance : program.graphs())
    for (const Op* op : instance.order) {
      check_interrupt();
      if (!op->called.empty() || is_view(*op->row) || op->row->role != Role::compute) continue;
      bool large = false, empty = op->outputs.empty();
      for (const std::vector<Tensor*>* list : {&op->inputs, &op->outputs})
        for (const Tensor* t : *list)
          if (t) large = large || t->spec.size() > max_elements, empty = empty || t->spec.size() == 0;
      if (large) ++counting.counts.ops_not_counted;
      if (!large && !empty) counting.add(*op, instance.runs);
    }
  return counting.counts;
}

std::string text(const MoveCounts& c) {
  std::string s = fmt::format("{} exchanges of {} moves: {} bytes sent, {} received; {} vertices", grouped(c.exchanges),
                              grouped(c.moves), grouped(c.sent_bytes), grouped(c.received_bytes), grouped(c.vertices));
  if (c.ops_not_counted > 0) s += fmt::format("; without {} large ops", c.ops_not_counted);
  return s;
}

}  // namespace pxl::tiles
