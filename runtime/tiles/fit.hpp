// Plans that give way where the fastest ones do not fit.
#pragma once

#include <memory>

#include "runtime/tiles/memory.hpp"

namespace pxl::tiles {

/// The memory of the mapping, whose choices are changed until every tile has what it needs or nothing more can be
/// had. First single choices are changed that free most bytes, at the moment at which the fullest tile is fullest, for
/// the cycles they cost: plans with smaller temporaries or less code, layouts of what is live then. What makes the
/// shortage greater is taken back. Where that does not do, the search runs anew with a price on every byte, which rises
/// until the program fits. Where the highest one does not do, the fastest plans stay. Counts what was changed in
/// Mapping::search.
std::unique_ptr<Memory> fit(Mapping& mapping);

}  // namespace pxl::tiles
