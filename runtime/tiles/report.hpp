// What the tile model found out about a program, as one tree of plain values: all that a page, a file or a summary
// shows. Bytes are of one tile unless said otherwise, cycles are the tile clock's. Ops, steps, graphs, tensors and
// plans refer to each other by index in the report's own vectors; -1 is none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tiles/machine.hpp"

namespace pxl::tiles {

// ---- time

/// What all tiles do between two synchronisations, or a synchronisation.
enum class StepKind : uint8_t { compute, exchange, sync, host, call, count };
std::string_view name(StepKind kind);  ///< "compute"

/// A step of the lowered program, once however often it runs.
struct ReportStep {
  StepKind kind = StepKind::compute;
  std::string what;         ///< vertex or purpose: "ConvPartial1x1Out", "operands to where they are used"
  int op = -1;              ///< index in Report::ops
  int64_t cycles = 0;       ///< of one run: of the slowest tile
  int64_t mean_cycles = 0;  ///< over all tiles; the rest is waiting
  int64_t tiles = 0;        ///< that take part
  int64_t bytes_in = 0;     ///< exchanges: received by the busiest tile
  int64_t bytes_out = 0;    ///< sent by it
  int64_t bytes = 0;        ///< exchanges and host steps: moved on the whole chip
  int64_t fragments = 0;    ///< contiguous pieces of the busiest tile
  int64_t code_bytes = 0;   ///< exchange code of the busiest tile
  int64_t times = 0;        ///< runs of the step in one run of the program
};

/// A stretch of the program's run, in order: the bulk-synchronous timeline. Loop bodies stand once, with `repeats`.
struct ReportSpan {
  int step = -1;
  int64_t start = 0;   ///< cycles from the beginning of the run
  int64_t cycles = 0;  ///< with repeats
  int64_t repeats = 1;
};

struct PhaseCycles {
  int64_t compute = 0, exchange = 0, sync = 0, host = 0;
  int64_t total() const { return compute + exchange + sync + host; }
  /// Total without what the host link takes.
  int64_t device() const { return compute + exchange + sync; }
};

// ---- ops and plans

/// A way to run an op: one point of its Pareto set.
struct ReportPlan {
  std::string text;            ///< "amp, 23 x 64 blocks of [33, 64] x [64, 16], float32 partials"
  std::string family;          ///< "gather all", "compute shift", "by rows"
  int64_t cycles = 0;          ///< without changes of layout before it
  int64_t temp_bytes = 0;      ///< besides operands and results, while it runs
  int64_t resident_bytes = 0;  ///< operands and results in the plan's layouts
  int64_t code_bytes = 0;      ///< exchange code and vertex state
  int64_t tiles = 0;           ///< that compute
  bool chosen = false;
};

struct ReportOp {
  int id = 0;          ///< op id, as schedules print it; 0 for what the model adds
  std::string name;    ///< as schedules print it: "MatMul"
  std::string scope;   ///< name scopes and names of the result: "encoder/0/fc1/matmul_out"
  std::string family;  ///< of the tile model: "product"
  std::string where;   ///< place in the program, "net.pxl:12:7"; may be empty
  int graph = 0;
  std::vector<std::string> operands, results;  ///< specs: "float16[8, 784]"
  PhaseCycles cycles;                          ///< of one run of the op, changes of layout included
  int64_t relayout_cycles = 0;                 ///< of those, for changes of layout before it
  int64_t times = 0;                           ///< runs in one run of the program
  int64_t total_cycles = 0;                    ///< cycles times runs
  int64_t flops = 0;                           ///< of one run
  int64_t useful_permille = 0;  ///< flops against what all tiles could do at the op's peak rate in its cycles
  int64_t tiles = 0;            ///< that compute
  int64_t temp_bytes = 0, state_bytes = 0, exchange_code_bytes = 0, control_bytes = 0;
  /// That stands once for the op, besides the code of its kinds of vertices.
  int64_t code_bytes() const { return exchange_code_bytes + control_bytes; }
  int64_t exchanged_bytes = 0;  ///< by one run on the whole chip
  std::string plan;
  std::vector<ReportPlan> alternatives;
  int first_step = -1, step_count = 0;  ///< in Report::steps
};

/// A graph as the lowered program holds it: its code stands once.
struct ReportGraph {
  std::string name;              ///< "main", "Linear_subgraph(0)"
  int64_t calls = 0;             ///< call sites, also inside other graphs
  int64_t runs = 0;              ///< in one run of the program
  int64_t cycles = 0;            ///< of one run
  int64_t code_bytes = 0;        ///< exchange code, control code and vertex state of its ops, busiest tile, summed
  int64_t saved_bytes = 0;       ///< of that, which more call sites would need if they were not calls
  int64_t copied_bytes = 0;      ///< arguments and results copied in one run of the program, whole chip
  int64_t copy_cycles = 0;       ///< the time of it
  std::vector<int64_t> entries;  ///< points of Report::liveness at which its runs begin, loop bodies once
};

/// The program's structure; outlined bodies stand once, in `graphs`' own nodes.
struct ProgramNode {
  enum class Kind : uint8_t { sequence, op, call, loop, branch } kind = Kind::sequence;
  std::string label;
  int op = -1;          ///< index in Report::ops
  int graph = -1;       ///< sequence: whose body; call, loop, branch: the called one
  int64_t repeats = 1;  ///< loops
  std::vector<ProgramNode> children;
};

// ---- memory

enum class MemoryCategory : uint8_t {
  weights,  ///< variables: weights, optimiser state
  constants,
  activations,  ///< results of ops
  temporaries,  ///< gathered operands, partial sums, rearranged pieces
  vertex_code,
  exchange_code,
  control_code,
  vertex_state,
  runtime,  ///< stacks and the runtime's own state
  gaps,     ///< alignment and element constraints
  count
};
std::string_view name(MemoryCategory category);  ///< "vertex code"
bool always_live(MemoryCategory category);
using CategoryBytes = std::array<int64_t, static_cast<size_t>(MemoryCategory::count)>;

struct TileMemory {
  CategoryBytes bytes{};  ///< at the step at which the tile is fullest
  int64_t total = 0;
  int peak = -1;         ///< that step's index in Report::liveness
  int64_t code() const;  ///< of all kinds
};

/// A tensor, or temporary memory, of the schedule.
struct ReportTensor {
  std::string name;  ///< "fc1/weight"
  std::string spec;
  std::string layout;
  MemoryCategory category = MemoryCategory::activations;
  int graph = 0;
  int64_t bytes = 0;       ///< on the whole chip
  int64_t tile_bytes = 0;  ///< on the tile that has most of it
  bool always_live = false;
  int first = -1, last = -1;  ///< points of Report::liveness at which it is first and last live, if not always
};

/// A point of the schedule: an op of the expanded program runs. Loop bodies stand once. The program's timeline is the
/// steps of the points' ops in order, each `repeats` times.
struct LivenessPoint {
  int op = -1;             ///< in Report::ops
  int64_t repeats = 1;     ///< 0 in the shorter side of a branch
  int64_t live_bytes = 0;  ///< not always live, on the whole chip
  int64_t temp_bytes = 0;  ///< of those, temporaries
  int64_t tile = 0;        ///< the fullest
  int64_t fullest = 0;     ///< all that it holds
};

struct TensorOnTile {
  int tensor = -1;  ///< in Report::tensors
  int64_t bytes = 0;
};

/// Why a program does not fit; one for each kind of shortage.
struct Shortage {
  std::string what;  ///< "tile 17 needs 876060 bytes and has 638976"
  int64_t tile = -1;
  int64_t needed = 0, available = 0;
  int point = -1;                     ///< in Report::liveness; -1 of code, which is always there
  int op = -1;                        ///< the op that runs then; of code, the op that has most of it
  std::vector<TensorOnTile> tensors;  ///< on that tile then, largest first
};

// ---- all of it

struct ReportOptions {
  int64_t available_memory_permille = 600;  ///< of a tile, for an op's temporary memory
  std::string partials = "float32";         ///< of products of float16 operands
  std::string objective;                    ///< "fewest cycles that fit"
};

struct SearchReport {
  int64_t keys = 0;            ///< distinct ops: those that share a plan
  int64_t plans = 0;           ///< candidates looked at
  int64_t refused = 0;         ///< of those, above the bound on an op's temporary memory
  int64_t unrefused = 0;       ///< bytes that a tile must have for none to be
  int64_t kept = 0;            ///< in the Pareto sets
  int64_t rounds = 0;          ///< sweeps of the search
  int64_t moves = 0;           ///< plans given up to fit
  int64_t fastest_cycles = 0;  ///< of the schedule before it had to fit
};

struct Report {
  std::string program;  ///< name
  std::string source;   ///< script and options that made it; may be empty
  Machine machine;
  ReportOptions options;

  PhaseCycles cycles;          ///< of one run
  int64_t waiting_cycles = 0;  ///< of compute: mean over tiles of waiting for the slowest
  double microseconds = 0;     ///< of one run at the machine's clock, device only
  double runs_per_second = 0;
  int64_t flops = 0;  ///< of one run
  int64_t useful_permille = 0;
  int64_t exchanged_bytes = 0;  ///< of one run, whole chip
  int64_t host_bytes = 0;
  int64_t parameter_bytes = 0;  ///< variables, whole chip
  int64_t tiles_used = 0;       ///< that ever compute

  std::vector<ReportStep> steps;
  std::vector<ReportSpan> timeline;
  bool timeline_complete = true;  ///< false: the run has more spans than are kept
  std::vector<ReportOp> ops;
  std::vector<ReportGraph> graphs;
  std::vector<ProgramNode> bodies;  ///< by graph; bodies[0] is the main graph's

  std::vector<TileMemory> tiles;  ///< by tile
  CategoryBytes memory{};         ///< sum over tiles
  int64_t fullest_tile = 0;
  int64_t always_live_bytes = 0;  ///< whole chip
  std::vector<LivenessPoint> liveness;
  bool liveness_complete = true;
  std::vector<ReportTensor> tensors;

  bool fits = true;
  std::vector<Shortage> shortages;
  SearchReport search;
};

/// The text of `pxl profile`: totals, the most expensive ops, the fullest tile, cycles by phase.
std::string summary_text(const Report& report, size_t top = 10);

/// "1,234,567"
std::string grouped(int64_t n);

}  // namespace pxl::tiles
