// Inlining, the inverse of outlining.
#pragma once

#include <functional>

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// The program with the calls of chosen graphs replaced by what they call, level by level. Results keep their bits. A
/// call stays where its copies matter: its graph changes an input that is not by reference, or gives out memory of one.
/// Loops and conditionals stay; calls inside their graphs are inlined. Graphs that have lost all their calls are
/// dropped.
Rewritten inline_calls(const Ir& ir, const std::function<bool(const Graph&)>& chosen);

}  // namespace pxl
