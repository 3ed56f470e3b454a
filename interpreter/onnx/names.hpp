// Names of models as names of programs, and back.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace pxl::onnx {

/// Whether a text is a name, not a literal.
bool is_name(std::string_view text);
/// "ReduceSumSquare" as "reduce_sum_square".
std::string snake(std::string_view op);

/// Names that a text has used: none is given twice, none hides a word of the language or a function that rows name.
class UniqueNames {
 public:
  UniqueNames();
  /// The wanted name with other characters as `_`, and a number where it is taken.
  std::string fresh(std::string_view wanted);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace pxl::onnx
