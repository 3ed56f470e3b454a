// Subnormal numbers as they are, within runs that treat them as 0 (subnormals.hpp): for conversions, whose operands may
// only be data.
#pragma once

#include "runtime/base/threads/subnormals.hpp"

namespace pxl {

/// The mode of the process when it starts, which has subnormal numbers.
inline const FloatMode starting_mode = FloatMode::now();

/// RAII: subnormal numbers are no longer treated as 0 in this thread.
class KeepSubnormals {
 public:
  KeepSubnormals() : before_(FloatMode::now()) { starting_mode.set(); }
  ~KeepSubnormals() { before_.set(); }
  KeepSubnormals(const KeepSubnormals&) = delete;
  KeepSubnormals& operator=(const KeepSubnormals&) = delete;

 private:
  FloatMode before_;
};

}  // namespace pxl
