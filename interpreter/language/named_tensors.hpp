// Explains operands in messages by the program's own words.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Messages use the names of tensors, which differ from the names that they are bound to: `x = variable(...)` makes a
/// tensor `t`. Puts the name that the program has in place of such a name. Messages call arrays by the parameters of an
/// op: an operator's operands get their own text.
class NamedTensors {
 public:
  /// Notes an operand: its expression, which must outlive this object, and its value.
  void note(const ast::Expr& written, const Value& value) {
    if (value.is_object() && written.kind == ast::ExprKind::name) note_object(written, value);
  }
  /// Notes the left or the right operand of an operator.
  void note_operand(const ast::Expr& written, const Value& value, std::string_view parameter) {
    note(written, value);
    if (value.is_object() && value.as_array()) note_array(written, parameter);
  }
  void tell(Error& e) const;

 private:
  void note_array(const ast::Expr& written, std::string_view parameter);
  void note_object(const ast::Expr& written, const Value& value);
  std::vector<std::pair<const std::string*, Value>> list_;
  std::vector<std::pair<std::string_view, std::string>> arrays_;  ///< parameters of an op, and the texts of arrays
};

}  // namespace pxl
