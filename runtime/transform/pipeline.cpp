// The graphs of a pipeline: parts of stages, a cycle of all stages, and the pipeline that calls them.
#include "runtime/transform/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/op/op_ipus.hpp"
#include "runtime/op/structural_rows.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/loops/scan.hpp"
#include "runtime/transform/rebuild.hpp"

namespace pxl {

namespace {

/// The parts of a stage, in the order in which a cycle runs them.
enum class Part : uint8_t { loads, computation, stores, copies };
constexpr std::array parts = {Part::loads, Part::computation, Part::stores, Part::copies};

/// Calls of a pipeline nest so deep above the graphs that its stages call: pipeline, cycle, part.
constexpr int pipeline_depth = 3;

/// The origin of a graph's input.
enum class Source : uint8_t {
  outside,  ///< a tensor that no stage makes
  same,     ///< made by another part of the stage, in this cycle
  earlier,  ///< made by the stage before, in the cycle before
  ring,     ///< the slots of a tensor that is made some stages earlier
  count     ///< how many micro-batches the stage has seen
};
struct Input {
  Source source;
  const Tensor* tensor;  ///< null for a count
  size_t stage;          ///< of a count
  bool operator==(const Input&) const = default;
};
struct HashOfInput {
  size_t operator()(const Input& i) const {
    return std::hash<const void*>()(i.tensor) * 31 + i.stage * 7 + static_cast<size_t>(i.source);
  }
};
using Values = std::unordered_map<Input, Tensor*, HashOfInput>;

struct PartGraph {
  Graph* graph = nullptr;
  std::optional<int> ipu;
  std::vector<Input> inputs;
  std::vector<const Tensor*> results;  ///< the outputs, in order
};

class PipelineBuilder {
 public:
  PipelineBuilder(Graph& graph, int64_t steps, const std::vector<PipelineStage>& stages)
      : graph_(graph), ir_(graph.ir()), steps_(steps), flow_(graph, stages), count_(stages.size()) {
    check_sizes();
    choose_parts();
  }

  Op* build() {
    const BuildStateGuard guard(ir_);
    note_order();
    Graph& body = ir_.create_graph("pipeline_graph");
    for (size_t s = 0; s < count_; ++s)
      for (const Part part : parts) make_part(s, part);
    fill(body);
    std::vector<Tensor*> given;
    for (const Input& input : body_inputs_) given.push_back(const_cast<Tensor*>(input.tensor));
    Op* call = graph_.add_call(body, std::move(given));
    for (Op* before : before_) add_order(*call, before);
    verify_transformed(ir_);
    return call;
  }

 private:
  void check_sizes() const {
    int depth = 0;
    for (const PipelineStage& stage : flow_.stages())
      for (const Op* op : stage.ops) {
        for (const Graph* callee : op->called) depth = std::max(depth, callee->depth() + 1);
        for (const Tensor* t : op->outputs)
          if (const int64_t slots = ring_slots(t); slots > 0) {
            if (t->spec.is_shard()) {
              Error error(fmt::format("pipelined_execution: `{}` is a shard, and is used {} stages further on: rings "
                                      "hold whole tensors",
                                      t->name, slots - 1),
                          {"gather it first, with replicated_all_gather"});
              error.as(codes::replicas).locate(op->origin.span, op->origin.frames);
              throw error;
            }
            element_count({slots, t->spec.bytes()});
          }
      }
    if (depth + pipeline_depth >= Graph::max_depth)
      throw Error(fmt::format("pipelined_execution: calls of graphs are nested more than {} deep", Graph::max_depth),
                  {"inline some of the graphs, or use repeat"})
          .as(codes::program);
  }

  /// The number of a tensor's ring slots; 0 if no stage that uses it is more than one stage further on.
  int64_t ring_slots(const Tensor* t) const {
    const auto& distances = flow_.distances(t);
    return distances.empty() || distances.back() < 2 ? 0 : static_cast<int64_t>(distances.back()) + 1;
  }
  bool crosses(const Tensor* t) const {
    const auto& distances = flow_.distances(t);
    return std::find(distances.begin(), distances.end(), size_t{1}) != distances.end();
  }

  /// Loads, stores and copies are parts of their own unless other ops of the stage could see the difference.
  void choose_parts() {
    for (const PipelineStage& stage : flow_.stages()) {
      std::unordered_set<const Stream*> hidden;  // used by graphs that the stage calls
      for (const Op* op : stage.ops)
        for (const Graph* callee : op->called) add_streams(*callee, hidden);
      for (const Op* op : stage.ops) part_[op] = Part::computation;
      for (const Op* op : stage.ops) {
        const Role role = op->row->role;
        if (role == Role::host_load && !hidden.count(op->stream) && !flow_.is_changed(op->outputs[0])) {
          Op* memory = op->inputs[0]->producer;
          if (!memory || !flow_.contains(memory) || memory->outputs[0]->consumers.size() != 1) continue;
          part_[op] = part_[memory] = Part::loads;
        } else if (role == Role::host_store && !hidden.count(op->stream) && is_given(*op)) {
          part_[op] = Part::stores;
        } else if (is_ipu_copy(*op->row) && is_given(*op)) {
          const auto& distances = flow_.distances(op->outputs[0]);
          if (distances == std::vector<size_t>{1}) part_[op] = Part::copies;
        }
      }
    }
  }
  /// Whether the operand of a store or copy is made by its stage, and has the same value at the stage's end.
  bool is_given(const Op& op) const {
    const Tensor* t = op.inputs[0];
    return flow_.is_made(t) && flow_.stage(t->producer) == flow_.stage(&op) && !flow_.is_changed(t);
  }
  static void add_streams(const Graph& graph, std::unordered_set<const Stream*>& to) {
    for (const auto& op : graph.ops()) {
      if (op->stream) to.insert(op->stream);
      for (const Graph* callee : op->called) add_streams(*callee, to);
    }
  }

  /// Before ops move, records for each op the ops of its part that it follows, also through ops of other parts. Also
  /// records the ops that the pipeline follows.
  void note_order() {
    for (const PipelineStage& stage : flow_.stages())
      for (Op* op : stage.ops) {
        std::vector<Op*>& kept = after_[op];
        std::vector<Op*> open = op->after;
        std::unordered_set<const Op*> seen;
        while (!open.empty()) {
          Op* before = open.back();
          open.pop_back();
          if (!seen.insert(before).second) continue;
          if (!flow_.contains(before)) {
            if (before->graph == &graph_) before_.push_back(before);
          } else if (flow_.stage(before) == flow_.stage(op) && part_.at(before) == part_.at(op)) {
            kept.push_back(before);
          } else {
            open.insert(open.end(), before->after.begin(), before->after.end());
            for (Tensor* t : before->inputs)
              if (t && t->producer) open.push_back(t->producer);
          }
        }
        std::sort(kept.begin(), kept.end(), [](const Op* a, const Op* b) { return a->id < b->id; });
      }
  }

  PartGraph& part(size_t stage, Part p) { return made_[stage * parts.size() + static_cast<size_t>(p)]; }

  /// The input through which a stage's part gets a tensor.
  Input input_for(size_t stage, const Tensor* t) const {
    if (!flow_.is_made(t)) return {Source::outside, t, 0};
    const size_t distance = stage - flow_.stage(t->producer);
    return {distance == 0 ? Source::same : distance == 1 ? Source::earlier : Source::ring, t, 0};
  }

  void make_part(size_t s, Part p) {
    static constexpr std::array titles = {"loads_stage_{}", "stage_{}", "stores_stage_{}", "ipu_copies"};
    PartGraph& made = part(s, p);
    std::vector<Op*> ops;
    for (Op* op : flow_.stages()[s].ops)
      if (part_.at(op) == p) ops.push_back(op);
    std::vector<const Tensor*> stashed;
    if (p == Part::computation)
      for (const Op* op : flow_.stages()[s].ops)
        for (const Tensor* t : op->outputs)
          if (ring_slots(t) > 0) stashed.push_back(t);
    if (ops.empty() && stashed.empty()) return;
    made.graph = &ir_.create_graph(fmt::format(fmt::runtime(titles[static_cast<size_t>(p)]), s));
    made.ipu = (ops.empty() ? stashed.front()->producer : ops.front())->ipu;
    ir_.ipu = made.ipu;
    Graph& g = *made.graph;

    Values inputs;
    const auto add = [&](const Input& input, const TensorSpec& spec, const std::string& name, bool by_ref) {
      const auto [at, fresh] = inputs.emplace(input, nullptr);
      if (fresh) {
        at->second = g.add_input(spec, name, by_ref);
        made.inputs.push_back(input);
      }
      return at->second;
    };
    const std::unordered_set<const Op*> own(ops.begin(), ops.end());
    const auto is_own = [&](const Tensor* t) { return t->producer && own.count(t->producer) > 0; };
    bool counted = !stashed.empty();
    for (const Op* op : ops)
      for (const Tensor* t : op->inputs) {
        if (!t || is_own(t) || t->kind == TensorKind::constant) continue;
        const Input input = input_for(s, t);
        const bool ring = input.source == Source::ring;
        counted = counted || ring;
        if (ring)
          add(input, ring_spec(t), std::string(last_part(t->name)) + "_stash", true);
        else
          add(input, t->spec, std::string(last_part(t->name)), input.source == Source::outside && flow_.is_changed(t));
      }
    for (const Tensor* t : stashed) {
      if (!is_own(t)) add({Source::same, t, 0}, t->spec, std::string(last_part(t->name)), false);
      add({Source::ring, t, 0}, ring_spec(t), std::string(last_part(t->name)) + "_stash", true);
    }
    if (counted) add({Source::count, nullptr, s}, {{1}, DType::uint32, {}}, "micro_batch", true);

    std::unordered_map<const Tensor*, Tensor*> here;  // constants, and what is not read from an input as it is
    const Values& from = inputs;
    for (const Input& input : made.inputs)
      if (input.source == Source::ring && flow_.stage(input.tensor->producer) != s)
        here.emplace(input.tensor, restore(g, from.at(input), from.at({Source::count, nullptr, s}), input.tensor));
    graph_.move_ops(ops, g);
    for (Op* op : ops) {
      for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
        const Tensor* t = op->inputs[slot];
        if (!t || is_own(t)) continue;
        if (t->kind == TensorKind::constant && !here.count(t)) here.emplace(t, g.copy_source(*t));
        const auto found = here.find(t);
        replace_input(*op, slot, found != here.end() ? found->second : from.at(input_for(s, t)));
      }
      op->after = after_.at(op);
    }
    for (const Tensor* t : stashed) {
      Tensor* value = is_own(t) ? const_cast<Tensor*>(t) : from.at({Source::same, t, 0});
      stash(g, from.at({Source::ring, t, 0}), from.at({Source::count, nullptr, s}), value, ops);
    }
    if (counted) {
      GraphOpBuilder at(g);
      const Expr count = at.of(from.at({Source::count, nullptr, s}));
      const Expr next = at.one("add_", {count, at.constant(Array::scalar(uint32_t{1}))});
      for (const auto& op : g.ops())
        if (op.get() != next.tensor()->producer) add_order(*next.tensor()->producer, op.get());
    }
    for (const Op* op : ops)
      for (Tensor* t : op->outputs)
        if (crosses(t) || is_used_by_other_part(t) || (p == Part::loads && ring_slots(t) > 0)) {
          g.add_output(t);
          made.results.push_back(t);
        }
    ir_.ipu.reset();
  }

  /// Whether another part of the stage that makes the tensor uses it.
  bool is_used_by_other_part(const Tensor* t) const {
    const Part own = part_.at(t->producer);
    const size_t s = flow_.stage(t->producer);
    return std::any_of(t->consumers.begin(), t->consumers.end(), [&](const Op* user) {
      return flow_.contains(user) && flow_.stage(user) == s && part_.at(user) != own;
    });
  }

  TensorSpec ring_spec(const Tensor* t) const {
    TensorSpec spec{t->spec.shape, t->spec.dtype, {}};
    spec.shape.insert(spec.shape.begin(), ring_slots(t));
    return spec;
  }
  static Expr slot_of(GraphOpBuilder& at, Tensor* ring, Tensor* count) {
    const auto slots = static_cast<uint32_t>(ring->spec.shape[0]);
    return at.one("mod", {at.of(count), at.constant(Array::scalar(slots))});
  }
  static Tensor* restore(Graph& g, Tensor* ring, Tensor* count, const Tensor* like) {
    GraphOpBuilder at(g);
    const Expr slice = at.one("dynamic_slice", {at.of(ring), slot_of(at, ring, count)},
                              {{"axes", std::vector<int64_t>{0}}, {"sizes", std::vector<int64_t>{1}}});
    return at.one("reshape", {slice}, {{"shape", like->spec.shape}}).tensor();
  }
  /// Writes the value that the stage ends with: after all ops that may change it.
  void stash(Graph& g, Tensor* ring, Tensor* count, Tensor* value, const std::vector<Op*>& ops) const {
    GraphOpBuilder at(g);
    Shape row_shape = value->spec.shape;
    row_shape.insert(row_shape.begin(), 1);
    const Expr row = at.one("reshape", {at.of(value)}, {{"shape", row_shape}});
    if (flow_.is_changed(value))
      for (Op* op : ops) add_order(*row.tensor()->producer, op);
    at.one("dynamic_update_", {at.of(ring), slot_of(at, ring, count), row},
           {{"axes", std::vector<int64_t>{0}}, {"sizes", std::vector<int64_t>{1}}});
  }

  /// The pipeline's graph: rings and counts, ramp up, the loop, ramp down.
  void fill(Graph& body) {
    std::vector<Input> state;  // of rings and counts
    std::unordered_set<Input, HashOfInput> seen;
    for (const PartGraph& p : made_)
      for (const Input& input : p.inputs) {
        if (input.source == Source::same || input.source == Source::earlier || !seen.insert(input).second) continue;
        (input.source == Source::outside ? body_inputs_ : state).push_back(input);
      }
    Values values;
    for (const Input& input : body_inputs_)
      values.emplace(input, body.add_input(input.tensor->spec, std::string(last_part(input.tensor->name)),
                                           flow_.is_changed(input.tensor)));
    for (const Input& input : state) {
      GraphOpBuilder at(body);
      const TensorSpec spec =
          input.source == Source::ring ? ring_spec(input.tensor) : TensorSpec{{1}, DType::uint32, {}};
      values.emplace(input, at.one("init", {}, {{"shape", spec.shape}, {"dtype", spec.dtype}}).tensor());
    }
    const InSequence sequence(body, InSequence::Mode::yes);
    for (size_t last = 0; last + 1 < count_; ++last) add_cycle(body, 0, last, values);

    Graph& cycle = ir_.create_graph("pipeline_cycle");
    Values inner;
    std::vector<Input> inputs;
    const auto add = [&](const Input& input, const Tensor& like, bool by_ref) {
      inner.emplace(input, cycle.add_input(like.spec, std::string(last_part(like.name)), by_ref));
      inputs.push_back(input);
    };
    std::vector<Input> carried;
    for (const PartGraph& p : made_)
      for (const Tensor* t : p.results)
        if (crosses(t)) carried.push_back({Source::earlier, t, 0});
    for (const Input& input : carried) add(input, *input.tensor, false);
    for (const Input& input : body_inputs_) add(input, *input.tensor, flow_.is_changed(input.tensor));
    for (const Input& input : state) add(input, *values.at(input), true);
    {
      const InSequence inner_sequence(cycle, InSequence::Mode::yes);
      add_cycle(cycle, 0, count_ - 1, inner);
    }
    for (const Input& input : carried) cycle.add_output(inner.at(input));

    std::vector<Tensor*> given;
    for (const Input& input : inputs) given.push_back(values.at(input));
    const Op* repeated = add_loop(body, cycle, std::move(given), steps_ - static_cast<int64_t>(count_) + 1);
    for (size_t i = 0; i < carried.size(); ++i) values[carried[i]] = repeated->outputs[i];

    for (size_t first = 1; first < count_; ++first) add_cycle(body, first, count_ - 1, values);
  }

  /// Calls the parts of stages `first` to `last`. `values` has the results of the cycle before; afterwards it has the
  /// results of this cycle.
  void add_cycle(Graph& to, size_t first, size_t last, Values& values) {
    Values made;
    for (const Part p : parts)
      for (size_t s = first; s <= last; ++s) {
        check_interrupt();  // there are as many calls as stages, squared
        const PartGraph& called = part(s, p);
        if (!called.graph) continue;
        std::vector<Tensor*> given;
        for (const Input& input : called.inputs)
          given.push_back(input.source == Source::same ? made.at(input) : values.at(input));
        ir_.ipu = called.ipu;
        const Op* op = to.add_call(*called.graph, std::move(given));
        ir_.ipu.reset();
        for (size_t i = 0; i < called.results.size(); ++i)
          made.emplace(Input{Source::same, called.results[i], 0}, op->outputs[i]);
      }
    for (const auto& [input, t] : made) values[{Source::earlier, input.tensor, 0}] = t;
  }

  Graph& graph_;
  Ir& ir_;
  int64_t steps_;
  StageFlow flow_;
  size_t count_;
  std::unordered_map<const Op*, Part> part_;
  std::unordered_map<const Op*, std::vector<Op*>> after_;
  std::vector<Op*> before_;  ///< ops outside that stages follow
  std::vector<PartGraph> made_ = std::vector<PartGraph>(count_ * parts.size());
  std::vector<Input> body_inputs_;  ///< all of outside
};

}  // namespace

Op* pipeline(Graph& graph, int64_t steps, const std::vector<PipelineStage>& stages) {
  const auto least = static_cast<int64_t>(2 * stages.size());
  if (steps < least)
    throw Error(fmt::format("pipelined_execution: {} steps are too few for {} stages", steps, stages.size()),
                {fmt::format("at least 2 steps for each stage are needed: {}", least)})
        .as(codes::value);
  return PipelineBuilder(graph, steps, stages).build();
}

}  // namespace pxl
