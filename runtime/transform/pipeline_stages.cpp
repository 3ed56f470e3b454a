// Checks of a pipeline: the stages have the bits of running one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/graph/memory_order.hpp"
#include "runtime/graph/remote.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/op/op_ipus.hpp"
#include "runtime/transform/pipeline.hpp"

namespace pxl {

namespace {

[[noreturn]] void refuse_stage(const Op& op, std::string message, std::vector<std::string> notes) {
  Error error(std::move(message), std::move(notes));
  error.as(codes::program).locate(op.origin.span, op.origin.frames);
  throw error;
}

/// Streams and remote buffers of an op, with those of the graphs that it calls.
struct StageEffects {
  StreamSet streams;
  std::set<int64_t> loaded, stored;  ///< remote buffers
};

void add_effects(const Op& op, StageEffects& to, std::set<const Graph*>& seen) {
  if (op.stream) to.streams.insert(op.stream);
  if (is_remote(op)) (op.row->role == Role::remote_load ? to.loaded : to.stored).insert(remote_buffer_of(op));
  for (const Graph* callee : op.called)
    if (seen.insert(callee).second)
      for (const auto& inner : callee->ops()) add_effects(*inner, to, seen);
}

StageEffects stage_effects(const PipelineStage& stage) {
  StageEffects found;
  std::set<const Graph*> seen;
  for (const Op* op : stage.ops) add_effects(*op, found, seen);
  return found;
}

}  // namespace

StageFlow::StageFlow(const Graph& graph, const std::vector<PipelineStage>& stages) : stages_(stages) {
  for (size_t s = 0; s < stages.size(); ++s)
    for (const Op* op : stages[s].ops) stage_.emplace(op, s);
  check_order();
  check_ipus();
  check_effects();
  check_memory(graph);
  std::unordered_map<const Tensor*, std::set<size_t>> found;
  for (const PipelineStage& stage : stages)
    for (const Op* op : stage.ops)
      for (const Tensor* t : op->inputs)
        if (t && is_made(t)) found[t].insert(this->stage(op) - this->stage(t->producer));
  for (const auto& [t, at] : found) distances_[t].assign(at.begin(), at.end());
}

const std::vector<size_t>& StageFlow::distances(const Tensor* t) const {
  static const auto& none = never_destroyed(std::vector<size_t>());
  const auto found = distances_.find(t);
  return found == distances_.end() ? none : found->second;
}

void StageFlow::check_order() const {
  for (size_t s = 0; s < stages_.size(); ++s)
    for (const Op* op : stages_[s].ops)
      for (const Tensor* t : op->inputs)
        if (t && is_made(t) && stage(t->producer) > s)
          refuse_stage(*op,
                       fmt::format("pipelined_execution: the stage {} uses `{}`, which the later stage {} makes",
                                   stages_[s].name, t->name, stages_[stage(t->producer)].name),
                       {"put the op into a stage of its own, after both"});
}

void StageFlow::check_ipus() const {
  for (const PipelineStage& stage : stages_)
    for (const Op* op : stage.ops) {
      if (is_ipu_copy(*op->row) || op->row->role == Role::host_store) continue;
      if (op_ipus(*op->row, op->attrs)) continue;
      for (const Tensor* t : op->inputs)
        if (t && is_made(t) && *t->ipu() != op->ipu.value_or(0))
          refuse_stage(
              *op,
              fmt::format("pipelined_execution: `{}` is located on IPU {}, but `{}`, of the stage {}, on IPU {}",
                          shown_name(*t), *t->ipu(), shown_name(*op), stage.name, op->ipu.value_or(0)),
              {fmt::format("copy it first: {}.copy_to_ipu({})", operand_text(*t), op->ipu.value_or(0))});
    }
}

void StageFlow::check_effects() const {
  StreamMap<size_t> users;
  std::map<int64_t, size_t> loads, stores;
  for (size_t s = 0; s < stages_.size(); ++s) {
    const StageEffects effects = stage_effects(stages_[s]);
    const Op& at = *stages_[s].ops.front();
    for (const Stream* stream : effects.streams)
      if (const auto [first, fresh] = users.emplace(stream, s); !fresh)
        refuse_stage(
            at,
            fmt::format("pipelined_execution: the stages {} and {} both use the stream `{}`: they work on different "
                        "micro-batches at the same time",
                        stages_[first->second].name, stages_[s].name, stream->name()),
            {"give each stage a stream of its own, or pass the tensor on to the later stage"});
    const auto check_buffer = [&](int64_t buffer, const std::map<int64_t, size_t>& others) {
      const auto other = others.find(buffer);
      if (other == others.end() || other->second == s) return;
      refuse_stage(
          at,
          fmt::format("pipelined_execution: the stages {} and {} both use the remote buffer {}, and one of them "
                      "stores to it",
                      stages_[other->second].name, stages_[s].name, buffer + 1),
          {"stages work on different micro-batches at the same time: give each a buffer of its own"});
    };
    for (const int64_t buffer : effects.stored) {
      check_buffer(buffer, loads);
      check_buffer(buffer, stores);
    }
    for (const int64_t buffer : effects.loaded) check_buffer(buffer, stores);
    for (const int64_t buffer : effects.loaded) loads.emplace(buffer, s);
    for (const int64_t buffer : effects.stored) stores.emplace(buffer, s);
  }
}

void StageFlow::check_memory(const Graph& graph) {
  struct Memory {
    const Tensor* outside = nullptr;                  ///< of the tensors that no stage makes, one that is used
    const Tensor* made = nullptr;                     ///< the first that a stage makes
    std::map<size_t, const Op*> users, changers;      ///< by stage
    std::map<size_t, const Tensor*> outside_by_name;  ///< the tensor from outside that a stage uses
    const Op* two_names = nullptr;                    ///< an op that uses this memory by a second name from outside
  };
  const MemoryGroups groups(graph);
  std::map<size_t, Memory> memories;
  for (size_t s = 0; s < stages_.size(); ++s)
    for (const Op* op : stages_[s].ops) {
      for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
        const Tensor* t = op->inputs[slot];
        if (!t) continue;
        Memory& m = memories[groups.group(t)];
        m.users.emplace(s, op);
        if (op->modifies(slot)) m.changers.emplace(s, op);
        if (is_made(t)) continue;
        m.outside = t;
        if (m.outside_by_name.emplace(s, t).first->second != t) m.two_names = op;
      }
      for (const Tensor* t : op->outputs)
        if (Memory& m = memories[groups.group(t)]; !m.made) m.made = t;
    }
  for (const auto& [group, m] : memories) {
    if (m.changers.empty()) continue;
    const auto& [changing, change] = *m.changers.begin();
    if (m.two_names)
      refuse_stage(
          *m.two_names,
          fmt::format("pipelined_execution: `{}` is changed in the stage {}, which uses its memory by another name "
                      "too",
                      m.outside->name, stages_[changing].name),
          {"make the view of it in the stage"});
    const size_t owner = m.outside ? changing : stage(m.made->producer);
    for (const auto* all : {&m.changers, &m.users}) {
      if (all == &m.users && !m.outside) continue;
      for (const auto& [s, op] : *all) {
        if (s == owner) continue;
        const Tensor* t = m.outside ? m.outside : m.made;
        refuse_stage(*op,
                     m.outside
                         ? fmt::format("pipelined_execution: `{}` is changed in the stage {}, and used in the stage {}",
                                       t->name, stages_[changing].name, stages_[s].name)
                         : fmt::format("pipelined_execution: `{}`, of the stage {}, is changed in the stage {}",
                                       t->name, stages_[owner].name, stages_[s].name),
                     {"stages work on different micro-batches at the same time",
                      m.outside ? "accumulate in the stage, and update after the pipeline"
                                : "use the form that makes a new tensor"});
      }
    }
  }
  for (const PipelineStage& stage : stages_)
    for (const Op* op : stage.ops)
      for (const auto* list : {&op->inputs, &op->outputs})
        for (const Tensor* t : *list)
          if (t && !memories.at(groups.group(t)).changers.empty()) changed_.insert(t);
}

}  // namespace pxl
