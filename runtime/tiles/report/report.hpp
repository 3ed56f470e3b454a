// Report of the tile model: one tree of plain values, which the page, the files and the summary show. Bytes are per
// tile and cycles are of the tile clock, unless stated otherwise. Ops, steps, graphs, tensors and candidates refer to
// each other by index in the report's vectors; -1 means none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tiles/machine/machine.hpp"

namespace pxl::tiles {

// ---- time

/// Phases of bulk-synchronous parallel execution (BSP), and a call's copies.
enum class BspPhaseKind : uint8_t { compute, exchange, sync, host, call, count };
std::string_view name(BspPhaseKind kind);  ///< "compute"

/// A step of the lowered program. All its runs share one entry.
struct ReportStep {
  BspPhaseKind kind = BspPhaseKind::compute;
  std::string what;         ///< vertex or purpose: "ConvPartial1x1Out", "operands to where they are used"
  int op = -1;              ///< index in Report::ops
  int64_t cycles = 0;       ///< per run, on the slowest tile
  int64_t mean_cycles = 0;  ///< mean over all tiles; the difference to `cycles` is idle time
  int64_t tiles = 0;        ///< tiles that take part
  int64_t bytes_in = 0;     ///< exchanges: received by the most loaded tile
  int64_t bytes_out = 0;    ///< sent by the most loaded tile
  int64_t bytes = 0;        ///< exchanges and host steps: whole chip
  int64_t fragments = 0;    ///< contiguous slices on the most loaded tile
  int64_t code_bytes = 0;   ///< exchange code on the most loaded tile
  int64_t times = 0;        ///< runs of the step in one run of the program
};

/// A span in the BSP timeline of one run. Spans are in order. Loop bodies appear once, with `repeats`.
struct ReportSpan {
  int step = -1;
  int64_t start = 0;   ///< cycles since the start of the run
  int64_t cycles = 0;  ///< all repeats together
  int64_t repeats = 1;
};

struct PhaseCycles {
  int64_t compute = 0, exchange = 0, sync = 0, host = 0;
  int64_t total() const { return compute + exchange + sync + host; }
  /// Cycles without the host link.
  int64_t device() const { return compute + exchange + sync; }
};

// ---- ops and candidates

/// A way to run an op: one point of the op's Pareto set.
struct ReportCandidate {
  std::string text;            ///< "amp, 23 x 64 blocks of [33, 64] x [64, 16], float32 partials"
  std::string variant;         ///< "gather all", "compute shift", "by rows"
  int64_t cycles = 0;          ///< without preceding rearrangements
  int64_t temp_bytes = 0;      ///< bytes while the op runs, besides operands and results
  int64_t resident_bytes = 0;  ///< operands and results in the candidate's mappings
  int64_t code_bytes = 0;      ///< exchange code and vertex state
  int64_t tiles = 0;           ///< tiles that compute
  bool chosen = false;
};

struct ReportOp {
  int id = 0;            ///< as in schedules; 0 for ops that the model adds
  std::string name;      ///< as in schedules: "MatMul"
  std::string scope;     ///< name scopes and name of the result: "encoder/0/fc1/matmul_out"
  std::string strategy;  ///< tile strategy: "product"
  std::string where;     ///< source location, "net.pxl:12:7"; may be empty
  int graph = 0;
  std::vector<std::string> operands, results;  ///< specs: "float16[8, 784]"
  PhaseCycles cycles;                          ///< per run of the op, rearrangements included
  int64_t rearrangement_cycles = 0;            ///< part of cycles: preceding rearrangements
  int64_t times = 0;                           ///< runs in one run of the program
  int64_t total_cycles = 0;                    ///< cycles times runs
  int64_t flops = 0;                           ///< of one run
  int64_t useful_permille = 0;                 ///< flops divided by the op's peak in its cycles on all tiles
  int64_t tiles = 0;                           ///< tiles that compute
  int64_t temp_bytes = 0, state_bytes = 0, exchange_code_bytes = 0, control_bytes = 0;
  /// Code that is specific to the op. All vertices of one kind share their vertex code.
  int64_t code_bytes() const { return exchange_code_bytes + control_bytes; }
  int64_t exchanged_bytes = 0;  ///< by one run, whole chip
  int64_t waiting_cycles = 0;   ///< all runs: mean over tiles of the time that they wait for the slowest tile
  std::string candidate;
  std::vector<ReportCandidate> alternatives;
  int first_step = -1, step_count = 0;  ///< in Report::steps
};

/// A graph of the lowered program; its code exists once.
struct ReportGraph {
  std::string name;              ///< "main", "Linear_subgraph(0)"
  int64_t calls = 0;             ///< call sites, including those inside other graphs
  int64_t runs = 0;              ///< in one run of the program
  int64_t cycles = 0;            ///< of one run
  int64_t code_bytes = 0;        ///< exchange code, control code and vertex state of its ops, on the most loaded tile
  int64_t saved_bytes = 0;       ///< code that inlining the other call sites would add
  int64_t copied_bytes = 0;      ///< arguments and results copied in one run of the program, whole chip
  int64_t copy_cycles = 0;       ///< cycles of these copies
  std::vector<int64_t> entries;  ///< points of Report::liveness at which its runs begin; a loop body counts once
};

/// Structure of the program. Outlined bodies appear once, as separate nodes.
struct ProgramNode {
  enum class Kind : uint8_t { sequence, op, call, loop, branch } kind = Kind::sequence;
  std::string label;
  int op = -1;          ///< index in Report::ops
  int graph = -1;       ///< sequence: its graph; call, loop, branch: the called graph
  int64_t repeats = 1;  ///< loops
  std::vector<ProgramNode> children;
};

// ---- memory

enum class MemoryCategory : uint8_t {
  weights,  ///< variables: weights, optimiser state
  constants,
  activations,  ///< results of ops
  temporaries,  ///< gathered operands, partial sums, rearranged slices
  vertex_code,
  exchange_code,
  control_code,
  vertex_state,
  vertex_lists,  ///< worklists and pointers of vertices
  runtime,       ///< stacks and runtime state
  gaps,          ///< alignment and element constraints
  count
};
std::string_view name(MemoryCategory category);  ///< "vertex code"
bool always_live(MemoryCategory category);
using CategoryBytes = std::array<int64_t, static_cast<size_t>(MemoryCategory::count)>;

struct TileMemory {
  CategoryBytes bytes{};  ///< at the tile's peak
  int64_t total = 0;
  int peak = -1;            ///< index of the peak in Report::liveness
  int64_t code() const;     ///< all kinds of code
  int64_t tensors() const;  ///< weights, constants, activations and temporaries
};

/// A tensor or temporary buffer of the schedule.
struct ReportTensor {
  std::string name;  ///< "fc1/weight"
  std::string spec;
  std::string mapping;
  MemoryCategory category = MemoryCategory::activations;
  int graph = 0;
  int64_t bytes = 0;       ///< whole chip
  int64_t tile_bytes = 0;  ///< on the tile with the largest share
  bool always_live = false;
  int first = -1, last = -1;  ///< first and last point of Report::liveness at which it is live, unless always
};

/// A point of the schedule, at which an op of the expanded program runs. Loop bodies appear once. The timeline has the
/// steps of the points' ops in order, each `repeats` times.
struct LivenessPoint {
  int op = -1;             ///< in Report::ops
  int64_t repeats = 1;     ///< 0 in the shorter side of a branch
  int64_t live_bytes = 0;  ///< bytes that are not always live, whole chip
  int64_t temp_bytes = 0;  ///< part of live_bytes: temporaries
  int64_t tile = 0;        ///< the fullest tile
  int64_t fullest = 0;     ///< bytes on the fullest tile
};

struct TensorOnTile {
  int tensor = -1;  ///< in Report::tensors
  int64_t bytes = 0;
};

/// Tensors on a tile whose names differ only in numbers: "gelu_out" of 24 layers.
struct TensorGroup {
  std::string name;  ///< without scopes; numbers are replaced by `*`
  std::string spec;
  int64_t count = 0;
  int64_t bytes = 0;  ///< on the tile, all tensors together
};

/// The reason why a program does not fit; one entry per kind of shortage.
struct Shortage {
  std::string what;  ///< "tile 17 needs 876060 bytes and has 638976"
  int64_t tile = -1;
  int64_t needed = 0, available = 0;
  int point = -1;                     ///< in Report::liveness; -1 for code, which is always live
  int op = -1;                        ///< the op that runs at the point; for code, the op with the most code
  std::vector<TensorOnTile> tensors;  ///< tensors on the tile at the point, largest first
};

/// A change that was tried for a program that does not fit, and the cost of the changed program's plan.
struct Remedy {
  std::string what;  ///< "outlined", "float16 partial sums"
  bool fits = false;
  int64_t cycles = 0;  ///< per run, without the host link; meaningful if `fits`
  int64_t bytes = 0;   ///< on the fullest tile
};

// ---- source

/// A line of the program. Cycles and bytes include the functions that the line calls.
struct SourceLine {
  std::string text;
  int64_t cycles = 0;    ///< cycles of the line's ops in one run of the program
  int64_t bytes = 0;     ///< bytes of their results and temporaries, whole chip
  std::vector<int> ops;  ///< in Report::ops
};
struct SourceListing {
  std::string name;  ///< of the file
  std::vector<SourceLine> lines;
};

// ---- report

struct ReportOptions {
  int64_t available_memory_permille = 600;  ///< of a tile, for an op's temporary memory
  std::string partials = "float32";         ///< for products of float16 operands
  std::string objective;                    ///< "fewest cycles that fit"
};

struct SearchReport {
  int64_t keys = 0;                     ///< distinct ops; equal ops share a candidate
  int64_t candidates = 0;               ///< enumerated
  int64_t rejected = 0;                 ///< part of candidates: those above the bound on temporary memory
  int64_t bytes_without_rejection = 0;  ///< tile memory, in bytes, at which no candidate is rejected
  int64_t kept = 0;                     ///< in the Pareto sets
  int64_t rounds = 0;                   ///< iterations of the search
  int64_t moves = 0;                    ///< choices that were changed to fit
  int64_t fastest_cycles = 0;           ///< cycles of the schedule before fitting
};

/// The fastest schedule of a program whose products use plans of these families only.
struct FamilyReport {
  std::string plans;       ///< "gather", "shift"
  int64_t cycles = 0;      ///< per run, without the host link
  int64_t tile_bytes = 0;  ///< on the tile with the highest memory use
  bool fits = false;
};

struct Report {
  std::string program;  ///< name
  std::string source;   ///< script and options; may be empty
  Machine machine;
  ReportOptions options;

  PhaseCycles cycles;          ///< of one run
  int64_t waiting_cycles = 0;  ///< compute: mean over tiles of the time that they wait for the slowest tile
  double microseconds = 0;     ///< of one run, without the host link
  double runs_per_second = 0;
  int64_t flops = 0;  ///< of one run
  int64_t useful_permille = 0;
  int64_t exchanged_bytes = 0;  ///< of one run, whole chip
  int64_t host_bytes = 0;
  int64_t parameter_bytes = 0;  ///< variables, whole chip
  int64_t tiles_used = 0;       ///< tiles that compute at least once

  std::vector<ReportStep> steps;
  std::vector<ReportSpan> timeline;
  bool timeline_complete = true;  ///< false: truncated
  std::vector<ReportOp> ops;
  std::vector<ReportGraph> graphs;
  std::vector<ProgramNode> bodies;  ///< by graph; bodies[0] is the main graph

  std::vector<TileMemory> tiles;  ///< by tile
  CategoryBytes memory{};         ///< sum over tiles
  int64_t fullest_tile = 0;
  int64_t always_live_bytes = 0;  ///< whole chip
  std::vector<LivenessPoint> liveness;
  bool liveness_complete = true;
  std::vector<ReportTensor> tensors;

  int peak_op = -1;                       ///< the op that runs at the peak of the fullest tile
  std::vector<TensorGroup> peak_tensors;  ///< tensors on that tile at the peak, most bytes first

  bool fits = true;
  std::vector<Shortage> shortages;
  std::vector<Remedy> remedies;         ///< for a program that does not fit; empty: none were tried
  int64_t float16_partials_cycles = 0;  ///< per run with float16 partial sums; 0: not tried, or not faster
  std::vector<SourceListing> sources;   ///< files with ops, in order of use
  SearchReport search;
  std::vector<FamilyReport> families;  ///< if EstimateOptions::compare_families
};

/// Text of `pxl profile`: totals, cycles by phase, waiting, the most expensive ops, the fullest tile. A program that
/// does not fit has remedies instead of cycles.
std::string summary_text(const Report& report, size_t top = 10);
/// The program's lines with their cycles and bytes.
std::string listing_text(const Report& report);

/// "1,234,567"
std::string grouped(int64_t n);

}  // namespace pxl::tiles
