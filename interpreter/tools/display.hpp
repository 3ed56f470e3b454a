// Values as a prompt shows them.
#pragma once

#include <string>

#include "interpreter/values/interpreter.hpp"

namespace pxl {

/// An array shows its spec and its numbers, a tensor its spec, a graph its schedule (long ones their beginning), a
/// session and a run result a line each; everything else what `repr` gives. No trailing newline; none is empty.
std::string display(Interpreter& in, const Value& value);

}  // namespace pxl
