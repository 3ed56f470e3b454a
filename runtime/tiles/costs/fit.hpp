// Fitting a program into tile memory, by trading cycles for bytes.
#pragma once

#include <memory>

#include "runtime/tiles/memory.hpp"

namespace pxl::tiles {

/// Changes the choices of `program` until no tile exceeds its memory, and returns the resulting memory. Two methods are
/// tried, and the cheaper result is taken. Local search changes the single choices that free most bytes per cycle at
/// the peak of the fullest tile. Such choices are candidates with smaller temporaries or less code, and other mappings
/// of live tensors. Changes that increase the shortfall are rolled back. Lagrangian relaxation solves the problem again
/// with a multiplier on bytes: the smallest multiplier at which the program fits. Both methods then restore choices of
/// the fastest schedule while the program still fits. If the program does not fit at the largest multiplier, the
/// choices with the smallest shortfall are taken. MappedProgram::search counts the changes.
std::unique_ptr<Memory> fit(MappedProgram& program);

}  // namespace pxl::tiles
