// Names of models as names of programs.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "interpreter/syntax/program_text.hpp"

namespace pxl::onnx {

/// "ReduceSumSquare" as "reduce_sum_square".
std::string snake(std::string_view op);

/// Names that a text has used: none is given twice, none hides a word of the language or a function that rows name.
class UniqueNames {
 public:
  UniqueNames();
  /// The wanted name with other characters as `_`, and a number where it is taken.
  ProgramText fresh(std::string_view wanted);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace pxl::onnx
