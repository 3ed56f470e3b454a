// Display of values at a prompt.
#pragma once

#include <string>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

/// An array is shown as its spec and elements, a tensor as its spec, a graph as its schedule (truncated if long), a
/// session and a run result as one line each, other values as by `repr`. No trailing newline; none is empty.
std::string display(Interpreter& in, const Value& value);

}  // namespace pxl
