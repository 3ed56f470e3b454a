// Explains tensors' names in messages by the names to which the program binds the tensors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Messages use the names of tensors, which differ from the names that they are bound to: `x = variable(...)` makes a
/// tensor `t`. Puts the name that the program has in place of such a name.
class NamedTensors {
 public:
  /// Notes an operand: its expression, which must outlive this object, and its value.
  void note(const ast::Expr& written, const Value& value) {
    if (value.is_object() && written.kind == ast::ExprKind::name) note_object(written, value);
  }
  void tell(Error& e) const;

 private:
  void note_object(const ast::Expr& written, const Value& value);
  std::vector<std::pair<const std::string*, Value>> list_;
};

}  // namespace pxl
