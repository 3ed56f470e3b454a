// Operators on any values.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

Value apply_binary(Interpreter& in, ast::BinaryOp op, const Value& a, const Value& b);
Value apply_comparison(Interpreter& in, ast::CompareOp op, const Value& a, const Value& b);
Value apply_unary(Interpreter& in, ast::UnaryOp op, const Value& a);

}  // namespace pxl
