// Errors are located at the innermost expression that fails.
#pragma once

#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Runs one operation at `span`; an error without a location gets that of `span`.
template <class F>
Value located(Interpreter& in, const Span& span, F&& operation) {
  in.here = span;
  try {
    return operation();
  } catch (Error& e) {
    e.locate(span, in.frames);
    throw;
  }
}

}  // namespace pxl
