#include "runtime/tiles/machine/system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/graph/call_operands.hpp"
#include "runtime/op/op_ipus.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/tiles/costs/cost.hpp"
#include "runtime/tiles/estimate.hpp"
#include "runtime/transform/ipu_part.hpp"

namespace pxl::tiles {

namespace {

/// The graphs of transform/pipeline.cpp, by their titles.
constexpr std::string_view pipeline_title = "pipeline_graph", cycle_title = "pipeline_cycle";

struct PipelineSize {
  int64_t stages = 0, micro_batches = 0;
};

/// Sizes of a pipeline. The first graph that the pipeline calls is a part of the first stage. Each cycle that ramps up
/// calls this graph once.
PipelineSize size_of_pipeline(const Graph& graph) {
  PipelineSize size;
  const Graph* first = nullptr;
  for (const auto& op : graph.ops()) {
    if (op->called.empty()) continue;
    if (op->called[0]->title() == cycle_title) {
      size.micro_batches = repeat_count(*op) + size.stages;
      ++size.stages;
      return size;
    }
    if (!first) first = op->called[0];
    if (op->called[0] == first) ++size.stages;
  }
  return size;
}

/// The IPU that computes a tensor; nullopt for variables, constants and inputs of graphs.
std::optional<int> place_of(const Tensor& t, int around) {
  const Op* op = t.producer;
  if (!op) return std::nullopt;
  if (op_ipus(*op->row, op->attrs)) return t.ipu();
  if (op->ipu) return op->ipu;
  if (op->called.empty()) return around;
  return place_of(*op->called[0]->outputs()[static_cast<size_t>(t.output_index)], around);
}

/// Traffic of a run between IPUs, between replicas, and with remote memory.
class Traffics {
 public:
  explicit Traffics(SystemCost& cost, int64_t replicas) : cost_(cost), replicas_(replicas) {}

  void add(const Graph& graph, int around, int64_t times) {
    if (graph.title() == pipeline_title)
      if (const PipelineSize size = size_of_pipeline(graph); size.micro_batches > cost_.micro_batches) {
        cost_.stages = size.stages;
        cost_.micro_batches = size.micro_batches;
      }
    for (const auto& op : graph.ops()) {
      const int ipu = op->ipu.value_or(around);
      for (const Graph* callee : op->called) add(*callee, ipu, saturating_product(times, repeat_count(*op)));
      if (op->row->role == Role::remote_load) cost_.remote_bytes += moved(*op, times);
      if (op->row->role == Role::remote_store) cost_.remote_bytes += moved(*op, times);
      if (op_ipus(*op->row, op->attrs))
        add_reduction(*op, times);
      else if (op->called.empty() || op->ipu)
        add_copies(*op, ipu, around, times);
      if (op->row->exchange == Exchange::members) add_collective(*op, ipu, times);
    }
  }

  /// Copies to different IPUs use different links, so the largest count decides.
  int64_t max_copied_bytes() const {
    int64_t most = 0;
    for (const auto& [ipu, bytes] : copied_to_) most = std::max(most, bytes);
    return most;
  }
  /// Seconds that collectives between a replica's IPUs take.
  double reduction_seconds() const { return reduction_seconds_; }

 private:
  /// Adds a ring over the IPUs of an op, if the op's results are reductions.
  void add_reduction(const Op& op, int64_t times) {
    const auto& given = *op_ipus(*op.row, op.attrs);
    const auto members = static_cast<int64_t>(std::set<int64_t>(given.begin(), given.end()).size());
    if (members < 2 || op.row->schedule == "Identity") return;
    const CollectiveShape shape{op.inputs[0]->spec.bytes(), members, 1, 2};
    reduction_seconds_ += collective_seconds(cost_.links, shape) * static_cast<double>(times);
    cost_.copied_bytes += saturating_product(saturating_product(2 * (members - 1), shape.bytes), times);
  }

  /// Adds the operands that another IPU computed.
  void add_copies(const Op& op, int ipu, int around, int64_t times) {
    for (const Tensor* t : op.inputs)
      if (t && place_of(*t, around).value_or(ipu) != ipu) {
        const int64_t bytes = saturating_product(t->spec.bytes(), times);
        cost_.copied_bytes += bytes;
        copied_to_[ipu] += bytes;
      }
  }

  static int64_t moved(const Op& op, int64_t times) { return saturating_product(op.inputs[0]->spec.bytes(), times); }

  void add_collective(const Op& op, int ipu, int64_t times) {
    const ReplicaGroups& groups = replica_groups_of({*op.row, {}, op.attrs});
    const int64_t members = group_size(groups);
    CollectiveCost made;
    made.op = op.row->schedule;
    made.ipu = ipu;
    made.bytes = op.inputs[0]->spec.bytes();
    if (!op.outputs.empty()) made.bytes = std::max(made.bytes, op.outputs[0]->spec.bytes());
    made.members = members == replicas_ ? 0 : members;
    if (made.members > 1) {
      const std::vector<int64_t> group = group_members(groups)[0];
      made.stride = std::max<int64_t>(1, (group.back() - group.front()) / (members - 1));
    }
    made.passes = made.op.starts_with("ReplicatedAllReduce") ? 2 : 1;
    for (CollectiveCost& known : cost_.collectives)
      if (std::tie(known.op, known.ipu, known.bytes, known.members, known.stride) ==
          std::tie(made.op, made.ipu, made.bytes, made.members, made.stride)) {
        known.times += times;
        return;
      }
    made.times = times;
    cost_.collectives.push_back(std::move(made));
  }

  SystemCost& cost_;
  int64_t replicas_;
  std::map<int, int64_t> copied_to_;
  double reduction_seconds_ = 0;
};

/// Cycles of a run in a report's pipelines and in the graphs that these call, without host transfers.
int64_t cycles_in_pipelines(const Report& r) {
  std::vector<bool> inside(r.graphs.size());
  for (size_t g = 0; g < r.graphs.size(); ++g) inside[g] = r.graphs[g].name.starts_with(pipeline_title);
  const auto mark = [&](const ProgramNode& node, const auto& self) -> void {
    if (node.kind != ProgramNode::Kind::sequence && node.graph >= 0) inside[static_cast<size_t>(node.graph)] = true;
    for (const ProgramNode& child : node.children) self(child, self);
  };
  // A graph may be listed before or after the graphs that it calls, so marking repeats until nothing changes.
  for (size_t marked = 0, before = ~size_t{0}; marked != before;) {
    before = marked;
    for (size_t g = 0; g < r.bodies.size(); ++g)
      if (inside[g]) mark(r.bodies[g], mark);
    marked = static_cast<size_t>(std::count(inside.begin(), inside.end(), true));
  }
  int64_t cycles = 0;
  for (const ReportOp& op : r.ops)
    if (inside[static_cast<size_t>(op.graph)]) cycles += saturating_product(op.cycles.device(), op.times);
  return cycles;
}

}  // namespace

SystemCost system_cost(const Ir& ir, const EstimateOptions& options, const Links& links) {
  SystemCost cost;
  cost.program = ir.name();
  cost.links = links;
  cost.replicas = ir.replication_factor;
  Traffics traffics(cost, ir.replication_factor);
  traffics.add(ir.main(), 0, 1);
  const std::vector<int> ipus = ipus_of(ir.main());
  for (const int ipu : ipus) {
    const auto part = ipus.size() > 1 ? part_on_ipu(ir, ipu) : nullptr;
    Report report = estimate(part ? part->main() : ir.main(), options);
    if (part) report.program = fmt::format("{}, IPU {}", ir.name(), ipu);
    const int64_t pipelined = cycles_in_pipelines(report);
    cost.ipus.push_back({ipu, std::move(report), pipelined});
  }
  // Outside pipelines, values go from IPU to IPU, so each IPU waits for the others.
  int64_t others = 0, busiest = 0;
  for (const IpuCost& i : cost.ipus) {
    others += i.report.cycles.device() - i.pipelined_cycles;
    busiest = std::max(busiest, i.pipelined_cycles);
  }
  int64_t cycles = others + busiest;
  if (cost.micro_batches > 0) cycles += (busiest / cost.micro_batches) * (cost.stages - 1);
  cost.compute_seconds = options.machine.microseconds(cycles) * 1e-6;
  cost.copy_seconds = static_cast<double>(traffics.max_copied_bytes()) / static_cast<double>(links.link_bytes) +
                      traffics.reduction_seconds();
  if (links.remote_bytes > 0)
    cost.remote_seconds = static_cast<double>(cost.remote_bytes) / static_cast<double>(links.remote_bytes);
  return cost;
}

Prediction predict(const SystemCost& cost, int64_t replicas) {
  Prediction out;
  out.replicas = replicas;
  const auto ipus = static_cast<int64_t>(std::max<size_t>(1, cost.ipus.size()));
  out.chips = saturating_product(replicas, ipus);
  bool leaves = false;
  std::map<int, double> by_ipu;  // IPUs of one replica exchange at the same time
  for (const CollectiveCost& c : cost.collectives) {
    const CollectiveShape shape{c.bytes, c.members > 0 ? std::min(c.members, replicas) : replicas,
                                saturating_product(ipus, c.stride), c.passes};
    leaves = leaves || (shape.members > 1 && leaves_rack(cost.links, shape));
    by_ipu[c.ipu] += collective_seconds(cost.links, shape) * static_cast<double>(c.times);
  }
  for (const auto& [ipu, seconds] : by_ipu) out.collective_seconds = std::max(out.collective_seconds, seconds);
  if (leaves) out.collective_seconds += static_cast<double>(cost.links.rack_time) * 1e-9;
  out.seconds = cost.seconds() + out.collective_seconds;
  out.throughput = out.seconds > 0 ? static_cast<double>(replicas) / out.seconds : 0;
  out.efficiency = out.seconds > 0 ? cost.seconds() / out.seconds : 1;
  return out;
}

}  // namespace pxl::tiles
