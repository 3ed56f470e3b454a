// Locates errors at the innermost failing expression.
#pragma once

#include "interpreter/values/call_chain.hpp"
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

}  // namespace pxl
