// Measurements of a session: time by kernel, line and module, the timeline of its threads, and memory. Text,
// JSON and trace events are made of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pxl {

class Profile;
struct Plan;
struct RunStep;

/// The fastest that this machine was measured to be, by float32 products and copies of all threads.
struct Roofline {
  double flops = 0, bytes = 0;  ///< a second
  /// The part of it that work reaches which does so many operations and moves so many bytes in a second.
  double share(double flops_a_second, double bytes_a_second) const;
};
/// Measured at the first call, in some 0.1 s.
const Roofline& roofline();

struct MeasuredKernel {
  std::string name;                                ///< "MatMul"
  std::string fused;                               ///< the ops of a fused kernel: "matmul+add+gelu"
  std::string path;                                ///< modules: "blocks.0.mlp"
  std::string place;                               ///< line of the program, "char_gpt.pxl:36"; may be empty
  std::string library;                             ///< line of the library that it calls, "nn.pxl:12"; may be empty
  std::vector<std::pair<std::string, int>> lines;  ///< all of these lines
  std::string result;                              ///< "float32[8, 784]"
  int id = 0;                                      ///< of the op; 0 for ops that the planner made
  int64_t runs = 0;
  double seconds = 0;            ///< of all runs
  int64_t flops = 0, bytes = 0;  ///< of one run
  bool divided = false;          ///< among threads
};

struct MeasuredTensor {
  std::string name, spec;
  int64_t bytes = 0;
};

struct Measurement {
  std::string program;
  int64_t runs = 0;
  double making = 0;      ///< seconds to plan the program and make the session
  double in_runs = 0;     ///< seconds in session.run
  double in_kernels = 0;  ///< part of these
  double loop = 0;        ///< seconds from the first run's beginning to the last one's end
  std::vector<MeasuredKernel> kernels;
  struct Part {
    int kernel, thread;
    int64_t begin_ns, ns;
  };
  std::vector<Part> timeline;                           ///< of the first runs
  std::vector<std::pair<int64_t, int64_t>> timed_runs;  ///< begin and length in ns
  int64_t variables = 0, constants = 0, arena = 0;      ///< bytes, as planned
  int64_t resident = 0;                 ///< most bytes that the process had more than before the session was made
  std::vector<int64_t> live;            ///< planned bytes of the arena in use, at each node of the main graph
  std::vector<MeasuredTensor> at_peak;  ///< what is in the arena where most of it is in use, most bytes first
  std::vector<std::pair<std::string, std::string>> sources;  ///< texts of the files with lines, by name
  std::string more;  ///< expected times on more cores, or counters of the engine
};

/// Fills in what steps, profile and plan say.
Measurement measured(const std::string& program, std::span<const RunStep> steps, const Profile& profile,
                     const Plan& plan);

/// The table of one session: a row for each line and op, most expensive first, then totals. `width`: columns, 0 for
/// any.
std::string table_text(const Measurement& m, int width = 0);

/// The measurement of a whole script.
struct ScriptMeasurement {
  std::string file;    ///< with its options
  double seconds = 0;  ///< from its beginning to its end
  std::vector<Measurement> sessions;
  int64_t resident_peak = 0;  ///< bytes of the process
};
/// The parts of the script's time, which add up to it.
std::vector<std::pair<std::string_view, double>> parts_of(const ScriptMeasurement& m);
std::string summary_text(const ScriptMeasurement& m, int width = 0);
/// The object of docs/profile-json.md ("pxl-measurement/1").
std::string measurement_json(const ScriptMeasurement& m);
/// Trace events in Chrome's Trace Event Format: a process for each session, a lane for each thread.
std::string measurement_trace(const ScriptMeasurement& m);

}  // namespace pxl
