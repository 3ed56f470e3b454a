// Writes the report of a mapped program and its memory.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/tiles/memory.hpp"
#include "runtime/tiles/report/report.hpp"

namespace pxl::tiles {

inline void add_times(PhaseCycles& sum, const PhaseCycles& one, int64_t times) {
  sum.compute += saturating_product(one.compute, times);
  sum.exchange += saturating_product(one.exchange, times);
  sum.sync += saturating_product(one.sync, times);
  sum.host += saturating_product(one.host, times);
}

/// Work as a proportion, in thousandths, of `rate` times `cycles`.
inline int64_t permille_of(int64_t work, int64_t cycles, int64_t rate) {
  const double could = static_cast<double>(cycles) * static_cast<double>(rate);
  return could > 0 ? static_cast<int64_t>(1000.0 * static_cast<double>(work) / could) : 0;
}

class Writer {
 public:
  Writer(const MappedProgram& program, const Memory& memory, Report& report)
      : m_(program), memory_(memory), r_(report) {}

  void write() {
    for (const GraphInstance& instance : m_.graphs()) write_ops(instance);
    graph_cycles();
    write_bodies();
    begin_memory();
    expand(0, 1);
    totals();
    write_memory();
    write_sources();
  }

 private:
  // writer_ops.cpp
  int64_t peak_rate(const Op& op) const;
  void step(ReportOp& op, BspPhaseKind kind, std::string_view what, int64_t cycles, int64_t mean, int64_t tiles,
            const Traffic& t);
  void rearrangement_steps(ReportOp& op, const std::string& what, const Rearrangement& change, int32_t to);
  void rearrangement_steps(ReportOp& op, const Tensor* t, int32_t to);
  void call_copies(ReportOp& out, const Op& op);
  /// Cycles that an op's vertex takes beyond its candidate's steps if it writes over its operand.
  int64_t in_place_cycles(const Op& op) const;
  void write_ops(const GraphInstance& instance);
  void graph_cycles();
  void write_bodies();
  // writer_schedule.cpp
  int64_t cycles_of(const Graph* g) const;
  void begin_memory();
  void hold(const Lifetime& l, int64_t sign);
  LivenessPoint point(const Op& op, int64_t repeats) const;
  /// The point of a call: arguments are copied on entry, or results on exit, whichever takes more. `begins` has the
  /// lifetimes that begin at the call, and `ends` those that end there.
  LivenessPoint call_point(const Op& op, int64_t repeats, const std::vector<const Lifetime*>& begins,
                           const std::vector<const Lifetime*>& ends);
  void expand(int graph, int64_t repeats);
  // writer_source.cpp
  void write_sources();
  // writer_memory.cpp
  void totals();
  void write_memory();
  void peak();
  void shortages(const std::unordered_map<const Tensor*, int>& tensors);

  const MappedProgram& m_;
  const Memory& memory_;
  Report& r_;
  std::unordered_map<const Op*, int> index_of_;
  std::vector<PhaseCycles> once_;
  std::vector<int64_t> held_;  // by tile, at the current point
  int copied_into_ = 0;
  int64_t clock_ = 0, live_ = 0;
};

}  // namespace pxl::tiles
