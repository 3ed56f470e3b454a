// Errors are located at the innermost expression that fails.
#pragma once

#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Runs one operation at `span`; an error without a location gets that of `span`.
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
