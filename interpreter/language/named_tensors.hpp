// Names of tensors in messages about operands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Messages use the names of tensors, which differ from the names that they are bound to: `x = variable(...)` makes a
/// tensor `t`. Adds a note with both names if a message mentions such a tensor.
class NamedTensors {
 public:
  void note(const ast::Expr& written, const Value& value);
  void tell(Error& e) const;

 private:
  std::vector<std::pair<const std::string*, Value>> list_;
};

}  // namespace pxl
