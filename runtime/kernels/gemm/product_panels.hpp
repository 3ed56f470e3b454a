// The panels in which threads compute a large product: the rows and columns of the result that each call of the library
// computes.
#pragma once

#include <cstdint>

namespace pxl {

/// The panels of each matrix in a product: `down` rows of panels, `across` columns of them.
struct PanelGrid {
  int64_t down = 1, across = 1;
  friend bool operator==(const PanelGrid&, const PanelGrid&) = default;
};

/// The grid for op(a)[m, k] @ op(b)[k, n] in a batch of `matrices`, with op(b) a transpose if `tb`. All extents are at
/// least 1. The grid depends on nothing else, so that results have the same bits for any number of threads.
///
/// The grid has the shortest expected time among grids whose panels fit L2 and end soon enough for Ctrl-C. A panel
/// takes the time to multiply, and to pack its rows from a and its columns from b. Cores without a panel wait for cores
/// that have one more. Machines have 1, 2, 4, ... cores, up to the number that the product can keep busy. The weight
/// falls to a third from each number to the next.
PanelGrid panel_grid(int64_t m, int64_t n, int64_t k, int64_t matrices, bool tb);

/// The number of elements in the largest panel of a grid.
int64_t max_panel_elements(int64_t m, int64_t n, const PanelGrid& grid);

}  // namespace pxl
