// Displays values at a prompt.
#pragma once

#include <string>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

/// Displays an array as its spec and elements, a tensor as its spec, and a graph as its schedule (truncated if long).
/// Sessions and run results are one line each, other values as by `repr`. The text has no trailing newline, and is
/// empty for none.
std::string display(Interpreter& in, const Value& value);

}  // namespace pxl
