// Finds the steps that cannot fail once a run has ended: their indices are the same in every run. Examples are
// constants and the counters of loops.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "runtime/execute/program.hpp"

namespace pxl {

/// Memory whose content is the same in every run.
class RepeatedMemory {
 public:
  void keep(const std::byte* at, int64_t bytes);
  void drop(const std::byte* at, int64_t bytes);
  /// Whether all of these bytes are kept.
  bool holds(const std::byte* at, int64_t bytes) const;
  /// Drops the bytes that `other` does not hold; returns whether there were any.
  bool intersect(const RepeatedMemory& other);

 private:
  std::map<const std::byte*, const std::byte*> ends_;  ///< of disjoint intervals, by their beginnings
};

/// A program as it is built.
struct BuiltSteps {
  std::vector<RunStep>& steps;
  std::span<const Plan* const> plans;    ///< of kernels and collectives, by step
  std::span<std::byte* const> pointers;  ///< RunStep::target, RunStep::outputs
  std::span<const StreamPort> ports;     ///< whose operands are in the host's memory
  std::span<const Array> constants;      ///< at whose addresses steps read them
};

/// Sets RunStep::proven_by_run of the steps that may fail. A value is the same in every run if it is a constant, or if
/// a kernel of one op outside branches computes it from such values only. The time is proportional to n log n for n
/// steps, at each level of nested loops; if that bound is too small, no step is proven.
void mark_proven_steps(const BuiltSteps& built);

}  // namespace pxl
