// Makes interpreters for tools, with the built-ins for debugging.
#pragma once

#include <memory>

#include "interpreter/values/host.hpp"

namespace pxl {

class Interpreter;

struct InterpreterDeleter {
  void operator()(Interpreter* in) const;
};
using InterpreterPtr = std::unique_ptr<Interpreter, InterpreterDeleter>;

/// Creates an interpreter with the built-ins of debug.hpp (nancheck, watch, unwatch, check_grad). All code that runs,
/// checks or analyses programs creates interpreters here, so that all programs see the same names. PXL_NANCHECK=on in
/// the environment turns nancheck on.
InterpreterPtr make_interpreter(InterpreterOptions options);

}  // namespace pxl
