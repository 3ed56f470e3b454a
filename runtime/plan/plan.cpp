// The planner: lowering, passes, storage assignment, the copies around calls, and arena offsets.
#include "runtime/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/verification.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/plan/arena.hpp"
#include "runtime/plan/cpu_lowering.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/plan/storage.hpp"
#include "runtime/plan/target.hpp"
#include "runtime/plan/unchanged.hpp"
#include "runtime/plan/verify_nodes.hpp"
#include "runtime/plan/verify_storage.hpp"
#include "runtime/plan/views.hpp"

namespace pxl {

namespace {

// Bounds on recursion and on the number of nodes; graphs with more ops keep their calls.
constexpr int max_call_depth = 500;
constexpr int64_t max_flattened_ops = 200'000;
// Minimum size of a loop's state, in bytes, at which a second body's steps cost less than copying the state; and the
// maximum number of steps that a second body may have, which bounds the plan's size.
constexpr int64_t min_alternating = int64_t{1} << 14, max_alternating_steps = 1000;
constexpr int64_t saturated = int64_t{1} << 48;  // counts stop here, below overflow

int64_t product(int64_t a, int64_t b) { return a != 0 && b > saturated / a ? saturated : a * b; }

/// Converts nodes with assigned storage to instructions.
class Assembler {
 public:
  Assembler(Plan& plan, const Target& target) : plan_(plan), block_(target.block) {}

  void add(const Node& node, int p, bool fails) {
    Instruction instruction;
    instruction.op = node.op;
    instruction.site = node.site;
    const Node* first = &node;
    while (has_members(first->form)) first = &first->members.front();
    instruction.first = first->op;
    instruction.first_site = first->site;
    instruction.position = p;
    instruction.note = note_of(node);
    instruction.stream = node.op->stream;
    for (const Tensor* t : node.in) instruction.in.push_back(t ? plan_.buffer_of.at(t) : -1);
    for (const Tensor* t : node.out) instruction.out.push_back(plan_.buffer_of.at(t));
    instruction.modified.assign(node.in.size(), false);
    for (int slot : node.modified) instruction.modified[static_cast<size_t>(slot)] = true;
    plan_.effects = plan_.effects || node.effect;
    switch (node.op->row->role) {
      case Role::host_load:
        instruction.kind = Instruction::Kind::load;
        plan_.transfers[instruction.stream] += 1;
        break;
      case Role::host_store:
        instruction.kind = Instruction::Kind::store;
        plan_.transfers[instruction.stream] += 1;
        break;
      case Role::call:
        instruction.kind = Instruction::Kind::call;
        instruction.calls.push_back(plan_call(node, instruction, 0));
        add_transfers(*node.callees[0], 1);
        break;
      case Role::loop: add_loop(node, instruction); break;
      case Role::branch: add_branch(node, instruction); break;
      case Role::remote_load:
      case Role::remote_store: instruction.kernel = cpu_kernel(node, block_); break;
      case Role::compute:
      case Role::composite:
        // A copy within one buffer does nothing.
        if (node.form == Form::op && is_plain_copy(*node.op) && instruction.in[0] == instruction.out[0]) return;
        instruction.once = node.once;
        if (!node.once) instruction.flops = flops_of(node);
        if (node.overwritten_by >= 0 && in_one_buffer(node, instruction))
          instruction.kernel = [](const Buffers&) {};  // the value was computed in its place
        else
          instruction.kernel = cpu_kernel(node, block_);
        break;
    }
    instruction.fallible = fails;
    if (const auto reads = checked_by_members(node); !reads.empty()) instruction.checking = reads.front().op;
    if (fails) instruction.deciding = deciding_operands(node);
    plan_.step_count = std::min(saturated, plan_.step_count + steps(instruction));
    plan_.instructions.push_back(std::move(instruction));
  }

 private:
  static std::vector<Instruction::Deciding> deciding_operands(const Node& node) {
    std::vector<Instruction::Deciding> operands;
    const auto add = [&](size_t slot) {
      if (node.in[slot]) operands.push_back({slot, node.in[slot]->spec.bytes()});
    };
    const std::vector<IndexRead> reads = checked_by_members(node);
    for (const IndexRead& read : reads)
      add(static_cast<size_t>(std::ranges::find(node.in, read.indices) - node.in.begin()));
    for (size_t slot = 0; reads.empty() && slot < node.in.size(); ++slot)
      if (node.form != Form::op || decides_failure(*node.op, slot)) add(slot);
    return operands;
  }

  static bool in_one_buffer(const Node& n, const Instruction& instruction) {
    return instruction.in[static_cast<size_t>(n.alias)] == instruction.in[static_cast<size_t>(n.overwritten_by)];
  }

  BufferId temporary(int64_t bytes, int p) {
    Buffer buffer;
    buffer.bytes = bytes;
    buffer.first = buffer.last = p;
    plan_.buffers.push_back(buffer);
    return static_cast<BufferId>(plan_.buffers.size() - 1);
  }

  /// Whether the operand is dead after the node, so that a callee may overwrite it.
  bool dies_here(const Instruction& instruction, size_t slot) const {
    const Buffer& buffer = plan_.buffers[static_cast<size_t>(instruction.in[slot])];
    if (buffer.kind != Buffer::Kind::arena || buffer.last != instruction.position) return false;
    return std::count(instruction.in.begin(), instruction.in.end(), instruction.in[slot]) == 1 &&
           std::count(instruction.out.begin(), instruction.out.end(), instruction.in[slot]) == 0;
  }

  /// Whether the callee changes this memory through another input.
  bool changed_elsewhere(const Node& node, const Instruction& instruction, size_t slot) const {
    for (int other : node.modified)
      if (static_cast<size_t>(other) != slot && instruction.in[static_cast<size_t>(other)] == instruction.in[slot])
        return true;
    return false;
  }

  PlanCall plan_call(const Node& node, Instruction& instruction, size_t which) {
    const Op& op = *node.op;
    const Plan& callee = *node.callees[which];
    const auto& outputs = callee.graph->outputs();
    PlanCall call;
    call.callee = &callee;
    const bool loop = op.row->role == Role::loop;
    for (size_t j = 0; j < outputs.size(); ++j) {
      const bool wanted = j < instruction.out.size() && !loop;
      call.out.push_back(wanted ? instruction.out[j] : temporary(outputs[j]->spec.bytes(), instruction.position));
    }
    const size_t first = callee_operand_begin(op, which);
    for (size_t i = 0; i < callee.input_modified.size(); ++i) {
      const size_t slot = first + i;
      BufferId given = instruction.in[slot];
      const bool carried = loop && i < instruction.out.size();
      const bool direct = is_by_reference(op, which, i);
      if (carried) {
        // The carried state is in the result's memory, or in the caller's if the input is by reference.
        call.in.push_back(direct ? given : instruction.out[i]);
        const int64_t bytes = outputs[i]->spec.bytes();
        const bool alternates =
            !direct && bytes >= min_alternating && callee.step_count <= max_alternating_steps && !loop_condition(op);
        call.after.push_back({call.out[i], call.in.back(), bytes, alternates});
        continue;
      }
      const bool changed = !direct && changed_elsewhere(node, instruction, slot);
      bool copied = !direct && callee.input_modified[i] && (loop || !dies_here(instruction, slot));
      if (changed && loop) {
        // Every iteration reads the initial value, not one that an iteration wrote through another input.
        const int64_t bytes = op.inputs[slot]->spec.bytes();
        const BufferId kept = temporary(bytes, instruction.position);
        instruction.before.push_back({given, kept, bytes});
        given = kept;
      } else {
        copied = copied || changed;
      }
      if (copied) {
        const int64_t bytes = op.inputs[slot]->spec.bytes();
        const BufferId to = loop ? temporary(bytes, instruction.position) : room_for_copy(callee, call, i, instruction);
        call.before.push_back({given, to, bytes});
        given = to;
      }
      call.in.push_back(given);
    }
    if (callee.arena_bytes > 0) call.frame = temporary(callee.arena_bytes, instruction.position);
    return call;
  }

  /// A changed input that is also an output may be copied to the output's memory directly.
  BufferId room_for_copy(const Plan& callee, const PlanCall& call, size_t input, const Instruction& instruction) {
    if (callee.input_modified[input])
      for (size_t j = 0; j < callee.sources.size(); ++j) {
        const OutputSource& source = callee.sources[j];
        if (source.kind != OutputSource::Kind::input || source.index != static_cast<int>(input)) continue;
        const BufferId out = call.out[j];
        const bool shared = std::count(call.out.begin(), call.out.end(), out) > 1;
        // Operands that share the output's memory must be read first, unless they are this operand.
        bool read = false;
        for (size_t slot = 0; slot < instruction.in.size(); ++slot)
          read = read || (instruction.in[slot] == out && slot != input);
        if (!shared && !read) return out;
      }
    return temporary(callee.graph->inputs()[input]->spec.bytes(), instruction.position);
  }

  void add_loop(const Node& node, Instruction& instruction) {
    instruction.kind = Instruction::Kind::loop;
    instruction.repeats = iteration_limit(*node.op);
    instruction.condition = loop_condition(*node.op);
    PlanCall body = plan_call(node, instruction, 0);
    for (size_t i = 0; i < instruction.out.size(); ++i) {
      const int64_t bytes = node.out[i]->spec.bytes();
      if (is_by_reference(*node.op, 0, i))
        instruction.after.push_back({instruction.in[i], instruction.out[i], bytes});
      else
        instruction.before.push_back({instruction.in[i], instruction.out[i], bytes});
    }
    instruction.calls.push_back(std::move(body));
    add_transfers(*node.callees[0], instruction.repeats);
  }

  void add_branch(const Node& node, Instruction& instruction) {
    instruction.kind = Instruction::Kind::branch;
    StreamMap<int64_t> most;
    for (size_t which = 0; which < 2; ++which) {
      instruction.calls.push_back(plan_call(node, instruction, which));
      for (const auto& [stream, n] : node.callees[which]->transfers) most[stream] = std::max(most[stream], n);
    }
    for (const auto& [stream, n] : most) plan_.transfers[stream] = std::min(saturated, plan_.transfers[stream] + n);
  }

  void add_transfers(const Plan& callee, int64_t times) {
    for (const auto& [stream, n] : callee.transfers)
      plan_.transfers[stream] = std::min(saturated, plan_.transfers[stream] + product(n, times));
  }

  static int64_t steps(const Instruction& instruction) {
    int64_t n = 1 + static_cast<int64_t>(instruction.before.size() + instruction.after.size());
    for (const PlanCall& call : instruction.calls)
      n += 2 + static_cast<int64_t>(call.before.size() + call.after.size()) + call.callee->step_count;
    return n;
  }

  Plan& plan_;
  int64_t block_;
};

void place_in_arena(Plan& plan) {
  std::vector<Interval> intervals;
  std::vector<size_t> ids;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind != Buffer::Kind::arena) continue;
    intervals.push_back({buffer.bytes, buffer.first, buffer.last, 0});
    ids.push_back(i);
  }
  plan.arena_bytes = assign_offsets(intervals);
  for (size_t k = 0; k < ids.size(); ++k) plan.buffers[ids[k]].offset = intervals[k].offset;
}

}  // namespace

struct Planner::Request {
  const Graph& graph;
  std::vector<Op*> order;
  std::vector<const Tensor*> inputs, outputs;
  Keep keep = Keep::all;
};

/// Writes nodes as text and reads the text; the nodes and outputs become the ones that were read. Throws Error if these
/// are written differently.
std::shared_ptr<const ReadPlan> Planner::read_again(const Graph& graph, std::vector<Node>& nodes,
                                                    std::vector<const Tensor*>& outputs) {
  const std::string text = write_plan(graph, nodes, outputs);
  auto read = read_plan(text, graph.ir(), [this](const Graph& g) { return &this->plan(g); });
  if (write_plan(graph, read->nodes, read->results) != text)
    throw Error(fmt::format("the plan of `{}` is written otherwise after it was read", graph.id()), {text},
                Fault::internal);
  for (size_t i = 0; i < nodes.size(); ++i) read->nodes[i].site = nodes[i].site;  // not in the text
  nodes = std::move(read->nodes);
  outputs = read->results;
  if (verification_enabled()) verify_nodes(nodes, outputs);
  return read;
}

Plan Planner::make(const Request& request) {
  Plan plan;
  plan.graph = &request.graph;
  std::vector<const Tensor*> outputs = request.outputs;
  const bool all = options_.allows("flatten_calls") && flattened_size(request.graph) <= max_flattened_ops;
  auto flat = std::make_shared<FlattenedGraph>(flatten_calls(
      request.order, [this](const Graph& g) { return &this->plan(g); }, all));
  std::vector<Node> nodes = std::move(flat->nodes);
  for (const Tensor*& t : outputs) t = flat->of(t);
  if (verification_enabled()) verify_nodes(nodes, outputs, true);
  resolve_views(nodes, outputs, *flat);
  if (verification_enabled()) verify_nodes(nodes, outputs);
  plan.flat = std::move(flat);
  plan.constants = std::make_shared<std::deque<Tensor>>();
  if (request.keep != Keep::all) eliminate_dead_code(nodes, outputs, request.keep);
  const std::optional<Unchanged> unchanged = unchanged_values(request.graph, nodes, request.inputs, outputs);
  PlanOptions options = options_;
  if (options.watched != &request.graph) options.watch = nullptr;
  run_passes(nodes, outputs, request.keep, *plan.constants, unchanged ? &*unchanged : nullptr, options, target_);

  if (verification_reads()) plan.read = read_again(request.graph, nodes, outputs);

  Storage storage = assign_storage(nodes, request.inputs, outputs);
  plan.buffers = std::move(storage.buffers);
  plan.buffer_of = std::move(storage.buffer_of);
  plan.input_modified = std::move(storage.input_modified);
  for (const Buffer& buffer : plan.buffers)
    if (buffer.kind == Buffer::Kind::constant) plan.constant_bytes += buffer.bytes;

  const auto external = [&](Buffer::Kind kind, int index, const Tensor* tensor, int64_t bytes) {
    Buffer buffer;
    buffer.kind = kind;
    buffer.index = index;
    buffer.tensor = tensor;
    buffer.bytes = bytes;
    plan.buffers.push_back(buffer);
    return static_cast<BufferId>(plan.buffers.size() - 1);
  };
  for (const auto& [constant, buffer] : storage.changed_constants) {
    const int64_t bytes = constant->spec.bytes();
    plan.entry_copies.push_back({external(Buffer::Kind::constant, -1, constant, bytes), buffer, bytes});
    plan.constant_bytes += bytes;
  }
  Assembler assembler(plan, target_);
  const std::vector<bool> failing = failing_nodes(nodes);
  for (size_t p = 0; p < nodes.size(); ++p) assembler.add(nodes[p], static_cast<int>(p), failing[p]);

  for (size_t j = 0; j < outputs.size(); ++j) {
    const Tensor* tensor = outputs[j];
    auto found = plan.buffer_of.find(tensor);
    // An output that no node defines or uses: a constant or a variable, returned unchanged.
    if (found == plan.buffer_of.end()) {
      const auto kind = tensor->kind == TensorKind::variable ? Buffer::Kind::variable : Buffer::Kind::constant;
      found = plan.buffer_of.emplace(tensor, external(kind, -1, tensor, tensor->spec.bytes())).first;
    }
    const Buffer buffer = plan.buffers[static_cast<size_t>(found->second)];
    OutputSource source;
    if (buffer.kind == Buffer::Kind::input) source = {OutputSource::Kind::input, buffer.index};
    const bool own = buffer.kind == Buffer::Kind::output && buffer.index == static_cast<int>(j);
    if (buffer.kind == Buffer::Kind::output && !own) source = {OutputSource::Kind::output, buffer.index};
    plan.sources.push_back(source);
    if (!own) {
      const int64_t bytes = tensor->spec.bytes();
      plan.exit_copies.push_back(
          {found->second, external(Buffer::Kind::output, static_cast<int>(j), tensor, bytes), bytes});
    }
  }
  plan.step_count += static_cast<int64_t>(plan.entry_copies.size() + plan.exit_copies.size());
  place_in_arena(plan);
  if (verification_enabled()) verify_storage(plan, nodes, outputs);
  if (options_.prints("plan")) write_err(print_plan(plan));
  return plan;
}

const Plan& Planner::plan(const Graph& graph, int last_op) {
  const auto found = plans_.find(&graph);
  if (found != plans_.end()) return *found->second;
  if (depth_ >= max_call_depth)
    throw Error(fmt::format("graphs call each other more than {} levels deep", max_call_depth),
                {"call the inner graphs side by side, or repeat one graph"})
        .as(codes::program);
  ++depth_;
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};
  Request request{graph, schedule_order(graph), {}, {}, callees_};
  std::erase_if(request.order, [&](const Op* op) { return op->id > last_op; });
  request.inputs.assign(graph.inputs().begin(), graph.inputs().end());
  request.outputs.assign(graph.outputs().begin(), graph.outputs().end());
  auto made = std::make_unique<Plan>(make(request));
  return *plans_.emplace(&graph, std::move(made)).first->second;
}

const Plan& Planner::plan_tensor(const Tensor& tensor) {
  const Graph& graph = *tensor.graph;
  callees_ = Keep::state;
  auto made = std::make_unique<Plan>(make({graph, schedule_order(tensor), {}, {&tensor}, Keep::results}));
  return *plans_.emplace(&graph, std::move(made)).first->second;
}

std::vector<const Plan*> Planner::plans() const {
  std::vector<const Plan*> all;
  for (const auto& [graph, plan] : plans_) all.push_back(plan.get());
  return all;
}

}  // namespace pxl
