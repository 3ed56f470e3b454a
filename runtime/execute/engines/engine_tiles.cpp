// The engine that carries out the schedule of the tile model: the tiles of an IPU run each op in parts, and each tile
// has its own memory.
#include "runtime/execute/engines/engines.hpp"
#include "runtime/execute/tiles/tiles_store.hpp"

namespace pxl {

// Plans the program for the machine, lowers each op to moves and vertices, and carries these out.
std::unique_ptr<ExecutionEngine> make_tiles_engine(const EngineTask& task) {
  check_planned(task);
  return std::make_unique<TilesEngine>(task);
}

}  // namespace pxl
