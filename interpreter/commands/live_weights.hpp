// The values of a program's variables, as a session of the user has them.
#pragma once

#include "interpreter/tools/engine.hpp"
#include "interpreter/tools/graph_page.hpp"

namespace pxl {

/// The session that the user bound last has them, if it is one of this program; none where there is no such session.
GivenWeights live_weights(const Engine& engine, const Ir& ir);

}  // namespace pxl
