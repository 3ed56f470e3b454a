// An execution plan: the instructions of a graph in order, the buffers that tensors share, the offsets of buffers in
// the arena, and the copies around calls. One plan per graph, shared by its call sites. execute/program.hpp resolves it
// to pointers.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "runtime/plan/node.hpp"
#include "runtime/plan/passes/flatten_calls.hpp"
#include "runtime/plan/text/plan_text.hpp"

namespace pxl {

using BufferId = int;  ///< index in Plan::buffers; -1 for an absent operand

struct Buffer {
  enum class Kind : uint8_t {
    arena,     ///< `offset` in the plan's arena
    input,     ///< the caller's memory for input `index`
    output,    ///< the caller's memory for output `index`
    variable,  ///< the state of `tensor`
    constant,  ///< the data of `tensor`
  };
  Kind kind = Kind::arena;
  int index = -1;
  const Tensor* tensor = nullptr;  ///< a tensor in the buffer; null for frames and temporaries
  int64_t bytes = 0;
  int64_t offset = 0;
  int first = 0, last = 0;  ///< live range: positions of the first and last node that use it
};

struct Copy {
  BufferId from = -1, to = -1;
  int64_t bytes = 0;
  bool alternates = false;  ///< of a loop: nothing is copied, but the two change places in every other iteration
};

/// A call of one graph by a control op. `in` and `out` are parallel to the inputs and outputs of the callee.
struct PlanCall {
  const Plan* callee = nullptr;
  std::vector<BufferId> in, out;
  std::vector<Copy> before;  ///< copies of inputs that the callee changes but the caller must not see changed
  std::vector<Copy> after;   ///< loops: values carried from one iteration to the next
  BufferId frame = -1;       ///< the callee's arena
};

struct Instruction {
  /// An operand whose values decide whether the instruction fails.
  struct Deciding {
    size_t slot = 0;
    int64_t bytes = 0;
  };
  enum class Kind : uint8_t { kernel, load, store, call, loop, branch };
  Kind kind = Kind::kernel;
  const Op* op = nullptr;
  const CallSite* site = nullptr;  ///< see Node::site
  const Op* first = nullptr;       ///< of members the first one's op, whatever their depth
  const CallSite* first_site = nullptr;
  const Op* checking = nullptr;  ///< the op to which errors on operands' values belong, if not `op`
  int position = 0;              ///< index of its node: the unit of live ranges
  std::string note;
  int64_t flops = 0;  ///< per run; of kernels
  bool once = false;  ///< see Node::once
  Kernel kernel;
  std::vector<BufferId> in, out;
  std::vector<bool> modified;      ///< by slot
  bool fallible = false;           ///< may fail on its operands' values
  std::vector<Deciding> deciding;  ///< if it is fallible
  std::vector<Copy> before;        ///< loops: initial values of carried tensors, copied once
  std::vector<PlanCall> calls;     ///< one, or then and else
  std::vector<Copy> after;         ///< after a loop, copied once
  int64_t repeats = 1;
  std::optional<size_t> condition = {};  ///< of a loop: the result that is read before each iteration
  const Stream* stream = nullptr;
};

/// The origin of an output's value. Callers may share the memory of outputs that are not `computed`.
struct OutputSource {
  enum class Kind : uint8_t { computed, input, output } kind = Kind::computed;
  int index = -1;
};

struct Plan {
  const Graph* graph = nullptr;
  std::vector<Buffer> buffers;
  PointerMap<const Tensor*, BufferId> buffer_of;
  std::vector<Copy> entry_copies;  ///< constants that the graph changes, copied at the start of each run
  std::vector<Instruction> instructions;
  std::vector<Copy>
      exit_copies;  ///< outputs that are inputs, constants or other outputs; a copy within one buffer does nothing
  std::vector<bool> input_modified;  ///< by input
  std::vector<OutputSource> sources;
  int64_t arena_bytes = 0;                        ///< includes the frames of called graphs
  int64_t constant_bytes = 0;                     ///< of this graph only
  int64_t step_count = 0;                         ///< with calls expanded; saturates
  bool effects = false;                           ///< has loads, stores or prints, in this graph or in called ones
  std::shared_ptr<const FlattenedGraph> flat;     ///< owns tensors and ops that the planner created
  std::shared_ptr<std::deque<Tensor>> constants;  ///< owns tensors that passes created
  StreamMap<int64_t> transfers;                   ///< per run; of branches the maximum
  std::shared_ptr<const ReadPlan> read;           ///< owns what nodes refer to, if the plan was read as text
};

/// The optimisations that the planner applies: the passes of passes.inc, by default all. Passes keep the bits of all
/// results, with the exceptions that passes.hpp names.
struct PlanOptions {
  uint32_t off = 0;                ///< bit i: pass i of plan_passes() is left out
  std::vector<std::string> print;  ///< stages after which to print: passes, "plan", "all"
  /// Gets the nodes of the graph `watched` as text, before the first pass, whose name is then empty, and after each
  /// one.
  std::function<void(std::string_view pass, const std::string& nodes)> watch = {};
  const Graph* watched = nullptr;

  /// Both throw Error (usage) if the pass is unknown.
  bool allows(std::string_view pass) const;
  PlanOptions& without(std::string_view pass);
  bool prints(std::string_view stage) const;

  /// The reference path: op by op, with calls as calls.
  static PlanOptions reference();
  /// PXL_FUSE=off selects the reference path; PXL_TRANSFORMS=-fold_constants,-fuse_elementwise leaves passes out;
  /// PXL_PRINT=fuse_elementwise,plan prints to standard error. Throws Error (usage) for other values.
  static PlanOptions from_environment();
};

class Target;
const Target& cpu_target();

class Planner {
 public:
  explicit Planner(PlanOptions options = PlanOptions::from_environment(), const Target& target = cpu_target())
      : options_(std::move(options)), target_(target) {}

  /// The plan of a graph, created on first use and owned by the planner. Ops with ids above `last_op` are ignored: they
  /// were added to the graph later.
  const Plan& plan(const Graph& graph, int last_op = std::numeric_limits<int>::max());
  /// A plan of the main graph whose output 0 is the value that `tensor`, one of its results, has after the last op.
  /// Stores and prints that the result does not depend on are left out, also in called graphs. The planner must not
  /// have planned anything else, and must outlive the plan.
  const Plan& plan_tensor(const Tensor& tensor);
  /// All plans so far.
  std::vector<const Plan*> plans() const;

 private:
  struct Request;
  Plan make(const Request& request);
  std::shared_ptr<const ReadPlan> read_again(const Graph& graph, std::vector<Node>& nodes,
                                             std::vector<const Tensor*>& outputs);
  std::map<const Graph*, std::unique_ptr<Plan>> plans_;
  PlanOptions options_;
  const Target& target_;
  Keep callees_ = Keep::all;
  int depth_ = 0;
};

/// A plan as text, for debugging: buffers with places and live ranges, then the instructions.
std::string print_plan(const Plan& plan);
/// Nodes as text, in order: op, operands, results, and the notes of passes.
std::string print_nodes(const std::vector<Node>& nodes);

}  // namespace pxl
