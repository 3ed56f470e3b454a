// Plans that give way where the fastest ones do not fit.
#pragma once

#include <memory>

#include "runtime/tiles/memory.hpp"

namespace pxl::tiles {

/// The memory of the mapping, whose choices are changed until every tile has what it needs or nothing more can be
/// had. It is done in two ways, of which the one that costs less is taken: single choices are changed that free most
/// bytes, at the moment at which the fullest tile is fullest, for the cycles they cost: plans with smaller temporaries
/// or less code, layouts of what is live then, and what makes the shortage greater is taken back; and the search runs
/// anew with a price on every byte, the least at which the program fits. In both, choices of the fastest schedule come
/// back where there is room for them. Where the highest price does not do, the choices that lack least are taken.
/// Counts what was changed in Mapping::search.
std::unique_ptr<Memory> fit(Mapping& mapping);

}  // namespace pxl::tiles
