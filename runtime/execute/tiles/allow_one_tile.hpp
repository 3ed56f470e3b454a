// How the tiles engine runs an op that it cannot divide as planned.
#pragma once

namespace pxl {

/// Ops that the tiles engine cannot divide as planned run on one tile from now on; else they are errors.
void allow_one_tile();

}  // namespace pxl
