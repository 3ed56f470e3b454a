// An error of one part of a value that a program writes as several: an extent of a shape.
#pragma once

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

/// Code that knows the expressions of the parts locates it at that of `part`.
struct ErrorOfPart final : Error {
  size_t part;
  ErrorOfPart(Error e, size_t p) : Error(std::move(e)), part(p) {}
};

/// Runs what reads the part with a number; its error is of that part.
template <class F>
auto of_part(size_t part, F&& read) {
  try {
    return read();
  } catch (const ErrorOfPart&) {
    throw;
  } catch (Error& e) {
    throw ErrorOfPart(std::move(e), part);
  }
}

}  // namespace pxl
