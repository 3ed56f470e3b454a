// Fitting a program into tile memory, by trading cycles for bytes.
#pragma once

#include <memory>

#include "runtime/tiles/memory.hpp"

namespace pxl::tiles {

/// Changes the choices of `program` until no tile exceeds its memory, and returns the memory that results. Two methods
/// are tried, and the cheaper result is taken. Local search: changes the single choices that free most bytes per cycle
/// at the peak of the fullest tile (candidates with smaller temporaries or less code, other mappings of live tensors),
/// and rolls back what increases the shortfall. Lagrangian relaxation: solves the problem again with a multiplier on
/// bytes, the smallest at which the program fits. Both then restore choices of the fastest schedule while the program
/// still fits. If it does not fit at the largest multiplier, the choices with the smallest shortfall are taken. Counts
/// the changes in MappedProgram::search.
std::unique_ptr<Memory> fit(MappedProgram& program);

}  // namespace pxl::tiles
