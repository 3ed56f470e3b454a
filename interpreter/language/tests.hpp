// `test` blocks, `assert`, and the context of `expect_error`.
#pragma once

#include <string>

#include "interpreter/language/activation.hpp"

namespace pxl {

void run_test(Interpreter& in, const ast::TestStmt& s, Activation& a);
void run_assert(Interpreter& in, const ast::AssertStmt& s, Activation& a);
/// `with expect_error("text") { }`.
Value expect_error_context(std::string text);
/// The text of `expect_error` if the value is its context, else null.
const std::string* expected_error(const Value& v);

}  // namespace pxl
