// Library calls as other frameworks write them, and their forms in pxl: one table (habits.inc).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "interpreter/values/value.hpp"

namespace pxl {

struct Habit {
  std::string_view callable, told_by, framework, example, here, reason;
};
std::span<const Habit> habits();

/// The arguments of a call as the program writes them. A call from C++ has none.
struct Written {
  std::string arguments;            ///< separated by commas
  std::vector<std::string> values;  ///< each one, without its name
};
Written written(const Arguments& args);
/// "pxl infers the size of the input, so PyTorch's `LSTM(32, 64)` is `LSTM(64)`"; empty if no row fits.
std::string habit_of(std::string_view callable, std::string_view told_by, const Written& call);

}  // namespace pxl
