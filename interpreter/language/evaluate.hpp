// Evaluates expressions and executes statements.
#pragma once

#include <string>
#include <vector>

#include "interpreter/language/activation.hpp"
#include "interpreter/syntax/node_as.hpp"

namespace pxl {

/// How a statement ends. `returned` and `failed` leave the body, which then has the result or the error. Outside
/// compiled code an error is always thrown.
enum class Flow : uint8_t { normal, break_loop, continue_loop, returned, failed };
constexpr bool leaves_body(Flow flow) { return flow >= Flow::returned; }

Value evaluate(Interpreter& in, const ast::Expr& e, Activation& a);
/// Adds to the error about an unknown member what the code may have meant: a function with that name (`[1, 2].sum()`),
/// or the replacement for another library's method (`x.view(3, 2)`).
void note_member(Interpreter& in, const Value& base, const std::string& name, Error& error);
Flow execute(Interpreter& in, const ast::Block& block, Activation& a);
Flow execute(Interpreter& in, const ast::Stmt& s, Activation& a);
void assign(Interpreter& in, const ast::Expr& target, Value value, Activation& a);
/// Enters contexts in order, runs `body`, and leaves the contexts in reverse order, also if an exception passes.
void with_contexts(Interpreter& in, const std::vector<ast::WithItem>& items, Activation& a,
                   const std::function<void()>& body);

}  // namespace pxl
