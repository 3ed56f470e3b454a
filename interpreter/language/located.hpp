// Locates errors at the innermost failing expression.
#pragma once

#include <new>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/error_of_part.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Runs one operation. An error without a location gets `span`.
template <class F>
auto located(CodePosition& code, const Span& span, F&& operation) -> decltype(operation()) {
  code.here = span;
  try {
    return operation();
  } catch (Error& e) {
    e.locate(span, code.frames);
    throw;
  }
}

[[noreturn]] void refuse_memory(CodePosition& code);

/// Runs a body whose code locates its errors, each at the innermost failing expression. A call in between takes no
/// error, since each place that takes one and throws it again costs microseconds.
template <class F>
PXL_INLINE auto in_memory(CodePosition& code, F&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    refuse_memory(code);
  }
}

/// Runs a body from outside. An error without a location gets the place that the body noted last.
template <class F>
PXL_INLINE auto located_here(CodePosition& code, F&& body) -> decltype(body()) {
  try {
    return in_memory(code, body);
  } catch (Error& e) {
    e.locate(code.here, code.frames);
    throw;
  }
}

/// Locates an error of one part of a value.
inline void locate_part(const CodePosition& code, const std::vector<ast::Expr*>& parts, Error& e) {
  const auto* of_part = dynamic_cast<const ErrorOfPart*>(&e);
  if (of_part && of_part->part < parts.size()) e.locate(parts[of_part->part]->span, code.frames);
}

}  // namespace pxl
