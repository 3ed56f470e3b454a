// Operands as the program writes them: an error names them so, and says what was meant by one that cannot be used.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

/// The member for which an object stands where a tensor or a number is needed: the array of a run with one output.
/// Empty if there is none.
std::string meant_member(const Value& v);

/// Messages use the names of tensors, which differ from the names that they are bound to: `x = variable(...)` makes a
/// tensor `t`. Puts the name that the program has in place of such a name. Messages call arrays by the parameters of an
/// op: an operator's operands get their own text. An operand that stands for one of its
/// members, as the result of a run does for its array, gets a note and the edit.
class WrittenOperands {
 public:
  struct One {
    const Span& written;
    const Value& value;
    std::string_view parameter = {};  ///< of the op, if the operand is one of an operator
  };
  WrittenOperands() = default;
  WrittenOperands(std::initializer_list<One> operands) {
    for (const One& o : operands) note(o.written, o.value), note_array(o);
  }
  void note(const Span& written, const Value& value) {
    if (value.is_object() && is_explained(value)) list_.emplace_back(written, value);
  }
  void tell(Error& e) const;

 private:
  static bool is_explained(const Value& value);
  void note_array(const One& operand);
  std::vector<std::pair<Span, Value>> list_;
  std::vector<std::pair<std::string_view, std::string>> arrays_;  ///< parameters of an op, and the texts of arrays
};

/// Runs an operation; an error names its operands as they are written.
template <class F>
auto told(std::initializer_list<WrittenOperands::One> operands, F&& operation) {
  try {
    return operation();
  } catch (Error& e) {
    WrittenOperands(operands).tell(e);
    throw;
  }
}

}  // namespace pxl
