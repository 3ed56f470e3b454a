// Inlining, the inverse of outlining.
#pragma once

#include <functional>

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// Replaces calls of chosen graphs by the ops of the called graph, level by level. Results keep their bits. A call
/// remains if its copies matter: its graph modifies an input that is not by reference, or returns memory of one. Loops
/// and conditionals remain; calls inside their graphs are inlined. Graphs without remaining calls are dropped.
Rewritten inline_calls(const Ir& ir, const std::function<bool(const Graph&)>& chosen);

}  // namespace pxl
