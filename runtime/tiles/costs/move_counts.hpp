// Counts the moves of a schedule by lowering each op, without running it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tiles/mapped_program.hpp"

namespace pxl::tiles {

struct MoveCounts {
  int64_t exchanges = 0, moves = 0;
  int64_t sent_bytes = 0;      ///< a multicast counts once
  int64_t received_bytes = 0;  ///< by all tiles together
  int64_t vertices = 0;
  int64_t ops_not_counted = 0;  ///< ops with more elements than `max_elements`
};
/// Counts one run of the program; a graph counts once per run. Leaves out ops with more than `max_elements` elements in
/// one operand or result, since lowering enumerates the elements. Throws Interrupted.
MoveCounts count_moves(const MappedProgram& program, int64_t max_elements = int64_t{1} << 20);

/// "12 exchanges of 345 moves: 6,789 bytes sent, 9,876 received; 54 vertices".
std::string text(const MoveCounts& counts);

}  // namespace pxl::tiles
