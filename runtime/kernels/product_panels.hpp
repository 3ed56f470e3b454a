// The panels in which threads compute a large product: which rows and columns of the result a call of the library
// computes.
#pragma once

#include <cstdint>

namespace pxl {

/// Panels of each matrix of a product: `down` rows of panels, `across` columns of them.
struct PanelGrid {
  int64_t down = 1, across = 1;
  friend bool operator==(const PanelGrid&, const PanelGrid&) = default;
};

/// The grid of op(a)[m, k] @ op(b)[k, n] for a batch of `matrices`, with op(b) a transpose if `tb`. All extents are at
/// least 1. It depends on nothing else, so that results have the same bits for any number of threads.
///
/// Of all grids whose panels fit L2 and end soon enough for Ctrl-C, the one with the shortest expected time. A panel
/// takes the time of its multiply-accumulates and of packing its rows of a and columns of b; cores that have no panel
/// wait for those that have one more. Machines have 1, 2, 4, ... cores, each kind a third as often as the one before,
/// up to what the product can keep busy.
PanelGrid panel_grid(int64_t m, int64_t n, int64_t k, int64_t matrices, bool tb);

/// The largest panel of a grid, in elements of the result.
int64_t max_panel_elements(int64_t m, int64_t n, const PanelGrid& grid);

}  // namespace pxl
