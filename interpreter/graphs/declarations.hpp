// Functions shared by the declarations of streams, variables, constants and params.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {

struct Activation;

/// 64-bit host data becomes 32-bit, as every framework of this kind does.
DType narrowed(DType dtype);
Array narrowed(Array a, std::string_view what);
/// Refuses a second declaration of a name. A program's streams need different names, since runs pass data by name.
/// Variables and constants need different names within one body. A later input of the REPL may declare a variable
/// again.
void declare_once(Interpreter& in, const std::shared_ptr<Ir>& ir, const ast::Stmt& s, const std::string& name,
                  Span place, bool stream, const char* what);
/// The beginning of a span: "mnist.pxl:31:11"; empty for a null span.
std::string place_text(Span span);

/// The argument nan_on_overflow of conversions to float8.
Float8Overflow float8_overflow(const ArgReader& a);

/// The spec that a declaration has; an error is at its text.
TensorSpec declared_spec(Interpreter& in, const ast::Expr& written, Activation& a, const char* what);
/// The same for a place that allows a tree of specs: `{"s": float32[n, 4], "a": int32[n]}`.
Value declared_specs(Interpreter& in, const ast::Expr& written, Activation& a, const char* what);

}  // namespace pxl
