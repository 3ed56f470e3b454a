// Pipelined execution: the contexts for a pipeline and for its stages.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <variant>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/pipeline.hpp"

namespace pxl {

namespace {

/// A stage has a number or a name.
using StageKey = std::variant<int64_t, std::string>;

std::string shown(const StageKey& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return std::to_string(*number);
  return "`" + std::get<std::string>(key) + "`";
}

/// `pipelined_execution(steps)`. Its block adds ops to the current graph, as any block does. Leaving the block turns
/// the ops into the pipeline.
struct PipelineObject final : Object {
  struct Stage {
    StageKey key;
    std::vector<Op*> ops;
  };
  int64_t steps;
  std::shared_ptr<Ir> ir;  ///< null outside the block
  Graph* graph = nullptr;
  size_t first_op = 0;  ///< index of the block's first op in the graph
  std::vector<Stage> stages;
  std::optional<size_t> open;  ///< the stage that is being filled
  size_t first_open_op = 0;

  explicit PipelineObject(int64_t n) : steps(n) {}
  std::string type_name() const override { return "pipeline"; }
  std::string repr(Interpreter&) override { return fmt::format("Pipeline[{} steps]", steps); }
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool is_context() const override { return true; }

  Value enter(Interpreter& in) override {
    if (ir)
      throw Error("the pipeline is being built already: make another with pipelined_execution").as(codes::program);
    const BuildTarget target = graphs_of(in).target();
    ir = target.ir;
    graph = target.graph;
    first_op = graph->ops().size();
    stages.clear();
    open.reset();
    return Value(shared_from_this());
  }

  void leave(Interpreter& in, bool failed) override {
    const std::shared_ptr<Ir> built = std::move(ir);
    ir.reset();
    if (failed || (check_in_progress(in) && lacks_part_noted(in, *built))) return;
    check_all_staged();
    std::vector<PipelineStage> ordered = ordered_stages();
    stamp(in, *built);
    pipeline(*graph, steps, ordered);
  }

  /// The stage whose block made the tensor.
  std::optional<size_t> stage_of(const Tensor* t) const {
    for (size_t s = 0; s < stages.size(); ++s)
      if (std::find(stages[s].ops.begin(), stages[s].ops.end(), t->producer) != stages[s].ops.end()) return s;
    return std::nullopt;
  }

 private:
  void check_all_staged() const {
    std::unordered_set<const Op*> staged;
    for (const Stage& stage : stages) staged.insert(stage.ops.begin(), stage.ops.end());
    for (size_t k = first_op; k < graph->ops().size(); ++k) {
      const Op& op = *graph->ops()[k];
      if (staged.count(&op)) continue;
      Error error(fmt::format("pipelined_execution: `{}` is in no stage", shown_name(op)),
                  {"operations of a pipeline must be created in a stage context: `with pipeline.stage(...) { ... }`"});
      error.as(codes::program).locate(op.origin.span, op.origin.frames);
      throw error;
    }
  }

  /// Numbered stages are ordered by number, without gaps. Named stages are ordered by first use.
  std::vector<PipelineStage> ordered_stages() {
    if (stages.empty())
      throw Error("pipelined_execution: the pipeline has no stages", {"`with pipeline.stage(...) { ... }` makes one"})
          .as(codes::program);
    if (std::holds_alternative<int64_t>(stages[0].key)) {
      std::sort(stages.begin(), stages.end(), [](const Stage& a, const Stage& b) { return a.key < b.key; });
      for (size_t s = 0; s < stages.size(); ++s)
        if (std::get<int64_t>(stages[s].key) != static_cast<int64_t>(s))
          throw Error(fmt::format("pipelined_execution: the stage {} is skipped: the stages are numbered from 0 to {}",
                                  s, std::get<int64_t>(stages.back().key)))
              .as(codes::program);
    }
    std::vector<PipelineStage> out;
    for (const Stage& stage : stages) {
      if (stage.ops.empty())
        throw Error(fmt::format("pipelined_execution: the stage {} has no operations", shown(stage.key)))
            .as(codes::program);
      out.push_back({shown(stage.key), stage.ops});
    }
    return out;
  }
};

/// `pipeline.stage(key)`.
struct StageObject final : Object {
  Ref<PipelineObject> pipeline;
  StageKey key;
  StageObject(Ref<PipelineObject> p, StageKey k) : pipeline(std::move(p)), key(std::move(k)) {}
  std::string type_name() const override { return "pipeline stage"; }
  std::string repr(Interpreter&) override { return fmt::format("PipelineStage[{}]", shown(key)); }
  bool is_context() const override { return true; }

  Value enter(Interpreter& in) override {
    PipelineObject& p = *pipeline;
    if (!p.ir)
      throw Error(fmt::format("the stage {} is outside its pipeline", shown(key)),
                  {"`with pipelined_execution(steps) as pipeline { with pipeline.stage(...) { ... } }`"})
          .as(codes::program);
    if (p.open)
      throw Error(fmt::format("the stage {} is inside the stage {}", shown(key), shown(p.stages[*p.open].key)))
          .as(codes::program);
    const BuildTarget target = graphs_of(in).target();
    if (target.ir != p.ir || target.graph != p.graph)
      throw Error(fmt::format("the stage {} is in another graph than its pipeline", shown(key))).as(codes::program);
    auto at = std::find_if(p.stages.begin(), p.stages.end(), [&](const auto& s) { return s.key == key; });
    if (at == p.stages.end()) {
      if (!p.stages.empty() && p.stages[0].key.index() != key.index())
        throw Error(fmt::format("the stages {} and {}: number all stages of a pipeline, or name all",
                                shown(p.stages[0].key), shown(key)))
            .as(codes::program);
      at = p.stages.insert(p.stages.end(), {key, {}});
    }
    p.open = static_cast<size_t>(at - p.stages.begin());
    p.first_open_op = p.graph->ops().size();
    return {};
  }

  void leave(Interpreter&, bool) override {
    PipelineObject& p = *pipeline;
    if (!p.ir || !p.open) return;
    const auto& ops = p.graph->ops();
    for (size_t k = p.first_open_op; k < ops.size(); ++k) p.stages[*p.open].ops.push_back(ops[k].get());
    p.open.reset();
  }
};

StageKey to_key(const Value& v) {
  if (const std::string* name = v.as_string()) {
    if (name->empty()) throw Error("stage takes a name, got an empty text").as(codes::value);
    return *name;
  }
  if (!v.is_int()) type_error("stage takes a number or a name, got " + with_article(v.type_name()));
  if (v.as_int() < 0) throw Error(fmt::format("stages are numbered from 0, got {}", v.as_int())).as(codes::value);
  return v.as_int();
}

using In = Interpreter&;
using PipelineRef = PipelineObject&;
using A = const Arguments&;
using Got = std::optional<Value>;

const PipelineObject& in_a_stage(PipelineRef p, const char* where) {
  if (!p.ir || !p.open)
    throw Error(std::string(where) + ": is for the body of a stage, which uses what an earlier one made")
        .as(codes::program);
  return p;
}

Value stash_and_restore_tensor(In, PipelineRef pipeline, A args) {
  constexpr const char* where = "stash_and_restore_tensor";
  ArgReader a(where, args, {"t", "from_stage"});
  const PipelineObject& p = in_a_stage(pipeline, where);
  Tensor* t = as_tensor(a.value("t"));
  if (!t) type_error(std::string(where) + " takes a tensor, got " + with_article(a.value("t").type_name()));
  const std::optional<size_t> made = p.stage_of(t);
  if (!made)
    throw Error(fmt::format("{}: `{}` is no result of an earlier stage", where, shown_name(*t)),
                {"variables and what precedes the pipeline are the same for all micro-batches: use them as they "
                 "are"})
        .as(codes::program);
  if (a.has("from_stage") && p.stages[*made].key != to_key(a.value("from_stage")))
    throw Error(fmt::format("{}: `{}` is made by the stage {}, not {}", where, shown_name(*t),
                            shown(p.stages[*made].key), shown(to_key(a.value("from_stage")))))
        .as(codes::value);
  return tensor_value(p.ir, t);
}

constexpr Member<PipelineObject> pipeline_rows[] = {
    {"steps", "The number of micro-batches of a run.", "p.steps",
     [](In, PipelineRef p) -> Got { return Value(p.steps); }},
    {"stage", "(stage)",
     "Context: ops made inside are of this stage, a number from 0 or a name. Named stages run in the order of first "
     "use.",
     "p.stage('front')",
     [](In, PipelineRef p, A args) -> Value {
       ArgReader a(args);
       return make_ref<StageObject>(static_ref_cast<PipelineObject>(p.shared_from_this()), to_key(a.value("stage")));
     }},
    {"stash_and_restore_tensor", "(t, from_stage = none)",
     "The result of an earlier stage, for the micro-batch of this one. Tensors that cross stages are stashed and "
     "restored in any case: this states it, and is an error for a tensor that does not cross.",
     "", stash_and_restore_tensor},
    {"stash_and_restore_activations", "(info, grad)",
     "`grad.inputs_dict(info)`: what a gradient graph needs of a call in an earlier stage, for the micro-batch of "
     "this one.",
     "",
     [](In in, PipelineRef p, A args) -> Value {
       ArgReader a(args);
       in_a_stage(p, "stash_and_restore_activations");
       Arguments given;
       given.positional.push_back(a.value("info"));
       const Value grad = a.value("grad");
       const auto* g = grad.as<GradGraphObject>();
       if (!g)
         type_error("stash_and_restore_activations takes a gradient graph, got " + with_article(grad.type_name()));
       return invoke(in, *grad.object()->member(in, "inputs_dict"), std::move(given));
     }},
};
constexpr std::span<const Member<PipelineObject>> pipeline_table(pipeline_rows);

std::optional<Value> PipelineObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, pipeline_table, *this, name);
}
std::vector<std::string> PipelineObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, pipeline_table);
  return names;
}

}  // namespace

MemberTable pipeline_members() {
  return member_table("pipeline",
                      "A pipeline in the making: `with pipelined_execution(steps) as pipeline { ... }`, whose body is "
                      "in stages.",
                      "p = pipelined_execution(4)", pipeline_table);
}

void bind_pipeline_builtins(Scope& p) {
  define(
      p, no_effects,
      {"pipelined_execution(steps)",
       "Context: the stages inside run as a pipeline over `steps` micro-batches, of which each loads its own samples.",
       R"(program train {
  stream in x: float32[2]
  stream out y: float32[2]
  with pipelined_execution(4) as pipeline {
    with pipeline.stage(0) { h = host_load(x) * 2 }
    with pipeline.stage(1) { host_store(y, h + 1) }
  }
}
Session(train()).run(x = array([[1, 2], [3, 4], [5, 6], [7, 8]])))"},
      [](Interpreter&, Arguments args) -> Value {
        ArgReader a(args);
        const int64_t steps = a.integer("steps");
        if (steps < 1)
          throw Error(fmt::format("pipelined_execution takes the number of micro-batches, at least 1, got {}", steps))
              .as(codes::value);
        return make_ref<PipelineObject>(steps);
      });
}

}  // namespace pxl
