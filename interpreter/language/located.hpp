// The innermost expression that fails gives an error its place.
#pragma once

#include "interpreter/values/interpreter.hpp"

namespace pxl {

/// Runs one operation with its place noted; an error without a place gets it.
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
