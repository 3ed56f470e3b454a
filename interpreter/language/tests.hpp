// `test` blocks, `assert`, and the context of `expect_error`.
#pragma once

#include <functional>
#include <string>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"

namespace pxl {

/// Runs a file's tests in order, and the other statements on which a test depends (test_slice.hpp). Tests of imported
/// files do not run. `began` is called before each test, `ended` after it. Throws Interrupted, and the errors of the
/// other statements.
void run_tests(Interpreter& in, const ast::TreePtr& tree, const std::function<void(const std::string& title)>& began,
               const std::function<void(const TestOutcome&)>& ended);
void run_assert(Interpreter& in, const ast::AssertStmt& s, Activation& a);
/// The context `with expect_error("text") { }`.
Value expect_error_context(std::string text);
/// The text of `expect_error` if the value is its context, otherwise null.
const std::string* expected_error(const Value& v);

}  // namespace pxl
