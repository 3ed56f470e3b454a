// The old parts of variables that a run changes in part, as an update at an index does: a run that fails gets them
// back. Variables of which a step may write the whole are not here (VariableSnapshot copies them).
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/execute/program.hpp"

namespace pxl {

class PartLog {
 public:
  /// Whether a step changes nothing, as a variable's update by itself does.
  static bool changes_nothing(const RunStep& step);
  /// Whether a step writes a window of its first operand alone, in the operand's memory.
  static bool writes_a_part(const RunStep& step);

  /// Adds such a step, and returns its number.
  int add(const RunStep& step);
  /// Forgets the parts of the last run.
  void begin() { used_ = 0; }
  /// Keeps the part that a step is about to write.
  void keep(const RunStep& step);
  /// Writes all kept parts back.
  void restore();

 private:
  struct Writer {
    Kernel read, write;
    TensorSpec index, part;
  };
  struct Kept {
    int writer = -1;
    Array index, part;
    std::byte* whole = nullptr;
  };
  std::vector<Writer> writers_;
  std::vector<Kept> kept_;  ///< the first `used_` are of this run; the others' memory is used again
  size_t used_ = 0;
};

}  // namespace pxl
