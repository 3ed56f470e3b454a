// A plan: how a graph runs. Order, which tensors share memory, where each lies in the arena, what calls copy. One plan
// per graph; call sites of one graph share it. Pointers are resolved later (execute/program.hpp).
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <unordered_map>

#include "runtime/plan/node.hpp"
#include "runtime/plan/passes/flatten_calls.hpp"

namespace pxl {

using BufferId = int;  ///< index in Plan::buffers; -1 where an operand is absent

struct Buffer {
  enum class Kind : uint8_t {
    arena,     ///< `offset` in the frame of the plan
    input,     ///< memory that the caller passes for input `index`
    output,    ///< memory that the caller passes for output `index`
    variable,  ///< the state of `tensor`
    constant,  ///< the data of `tensor`
  };
  Kind kind = Kind::arena;
  int index = -1;
  const Tensor* tensor = nullptr;  ///< one whose memory it is; null for frames and temporaries
  int64_t bytes = 0;
  int64_t offset = 0;
  int first = 0, last = 0;  ///< positions of the first and last node that need it
};

struct Copy {
  BufferId from = -1, to = -1;
  int64_t bytes = 0;
};

/// One called graph of a control op. `in` and `out` are parallel to the callee's inputs and outputs.
struct PlanCall {
  const Plan* callee = nullptr;
  std::vector<BufferId> in, out;
  std::vector<Copy> before;  ///< values of inputs that the callee changes and the caller must not see changed
  std::vector<Copy> after;   ///< loops: what one iteration carries to the next
  BufferId frame = -1;       ///< holds the callee's arena
};

struct Instruction {
  enum class Kind : uint8_t { kernel, load, store, call, loop, branch };
  Kind kind = Kind::kernel;
  const Op* op = nullptr;
  int position = 0;  ///< of its node: what live intervals count in
  std::string note;
  int64_t flops = 0;  ///< of one run, of kernels
  Kernel kernel;
  std::vector<BufferId> in, out;
  std::vector<bool> modified;   ///< by slot
  std::vector<Copy> before;     ///< loops: initial values of what is carried; once
  std::vector<PlanCall> calls;  ///< one, or then and else
  std::vector<Copy> after;      ///< once, behind a loop
  int64_t repeats = 1;
  const Stream* stream = nullptr;
};

/// Whose value an output has when the plan ends, if it is not computed for it alone: callers may share that memory.
struct OutputSource {
  enum class Kind : uint8_t { computed, input, output } kind = Kind::computed;
  int index = -1;
};

struct Plan {
  const Graph* graph = nullptr;
  std::vector<Buffer> buffers;
  std::unordered_map<const Tensor*, BufferId> buffer_of;
  std::vector<Copy> entry_copies;  ///< constants that the graph changes, copied afresh for each run
  std::vector<Instruction> instructions;
  std::vector<Copy>
      exit_copies;  ///< outputs that are inputs, constants or other outputs; nothing where both are one memory
  std::vector<bool> input_modified;  ///< by input
  std::vector<OutputSource> sources;
  int64_t arena_bytes = 0;                        ///< frames of called graphs included
  int64_t constant_bytes = 0;                     ///< of this graph alone
  int64_t step_count = 0;                         ///< with calls flattened; saturates
  bool effects = false;                           ///< loads, stores, prints, here or in called graphs
  std::shared_ptr<const FlattenedGraph> flat;     ///< keeps the planner's own tensors and ops
  std::shared_ptr<std::deque<Tensor>> constants;  ///< those that transforms made
  std::map<const Stream*, int64_t> transfers;     ///< per run; of branches the larger number
};

/// What the planner may do beyond running each op as it stands: the transforms of transforms.hpp, by default all.
/// Results keep their bits but for the products that fold.hpp names.
struct PlanOptions {
  uint32_t off = 0;                ///< bit i: row i of plan_transforms is left out
  std::vector<std::string> print;  ///< stages after which the plan is printed: names of transforms, "plan", "all"

  /// Throw Error where there is no transform of that name.
  bool allows(std::string_view pass) const;
  PlanOptions& without(std::string_view pass);
  bool prints(std::string_view stage) const;

  /// Op by op, calls as calls, for comparison.
  static PlanOptions reference();
  /// PXL_FUSE=off: the reference path. PXL_TRANSFORMS=-cse,-fold: without these transforms. PXL_PRINT=fuse,plan: to
  /// standard error. Throws Error (usage) for other words.
  static PlanOptions from_environment();
};

class Planner {
 public:
  explicit Planner(PlanOptions options = PlanOptions::from_environment()) : options_(options) {}

  /// The plan of a graph, made when first asked for. Lives as long as the planner. Ops with ids after `last_op` are
  /// left out: they came to the graph later.
  const Plan& plan(const Graph& graph, int last_op = std::numeric_limits<int>::max());
  /// A plan of the main graph that gives the value that one of its results has after the last op as output 0. It stores
  /// and prints nothing that the result does not need, and neither do the graphs that it calls. For a planner that has
  /// planned nothing else, in which it lives.
  const Plan& plan_tensor(const Tensor& tensor);
  /// Plans made so far.
  std::vector<const Plan*> plans() const;

 private:
  struct Request;
  Plan make(const Request& request);
  std::map<const Graph*, std::unique_ptr<Plan>> plans_;
  PlanOptions options_;
  Keep callees_ = Keep::all;
  int depth_ = 0;
};

/// For debugging: buffers with place and lifetime, then the items.
std::string print_plan(const Plan& plan);
/// Nodes in their order: op, operands, results, and what transforms did to it.
std::string print_nodes(const std::vector<Node>& nodes);

}  // namespace pxl
