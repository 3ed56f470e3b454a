// Turns a model's names into names for a program.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "interpreter/syntax/program_text.hpp"

namespace pxl::onnx {

/// "ReduceSumSquare" as "reduce_sum_square".
std::string snake(std::string_view op);

/// Names that a text has used. No name is returned twice, and none hides a keyword or a function that rows call.
class UniqueNames {
 public:
  UniqueNames();
  /// The wanted name, with `_` for other characters, and with a number if the name is taken.
  ProgramText fresh(std::string_view wanted);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace pxl::onnx
