// Converts nodes to the class that their kind names.
#pragma once

#include "interpreter/syntax/ast.hpp"

namespace pxl {

template <class T>
const T& as(const ast::Expr& e) {
  return static_cast<const T&>(e);
}
template <class T>
const T& as(const ast::Stmt& s) {
  return static_cast<const T&>(s);
}

}  // namespace pxl
