// Divides the planes of a batch into work units. The division depends on the shapes only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/div_up.hpp"

namespace pxl {

/// Divides the planes into units of about `wanted` places (windows, or tiles of windows): some rows of one sample, or
/// several samples. A row has `across` places.
struct PlaneUnits {
  int64_t batch = 1, rows = 1, across = 1;  ///< rows of a sample
  int64_t samples_per_unit = 1, rows_per_unit = 1, per_sample = 1;
  int64_t units = 1;

  PlaneUnits(int64_t samples, int64_t rows_of_sample, int64_t places_of_row, int64_t wanted)
      : batch(samples), rows(rows_of_sample), across(places_of_row) {
    if (rows * across >= wanted) {
      rows_per_unit = std::clamp<int64_t>(wanted / across, 1, rows);
      per_sample = div_up(rows, rows_per_unit);
      units = batch * per_sample;
    } else {
      rows_per_unit = rows;
      samples_per_unit = std::clamp<int64_t>(wanted / (rows * across), 1, batch);
      units = div_up(batch, samples_per_unit);
    }
  }

  int64_t max_places() const { return samples_per_unit * rows_per_unit * across; }
  /// Number of places in the units before unit u.
  int64_t places_before(int64_t u) const {
    return (std::min(u / per_sample * samples_per_unit, batch) * rows + u % per_sample * rows_per_unit) * across;
  }

  struct Unit {
    int64_t sample = 0, samples = 1, row = 0, rows = 1, places = 1;
  };
  Unit at(int64_t u) const {
    Unit unit;
    unit.sample = u / per_sample * samples_per_unit;
    unit.samples = std::min(samples_per_unit, batch - unit.sample);
    unit.row = u % per_sample * rows_per_unit;
    unit.rows = std::min(rows_per_unit, rows - unit.row);
    unit.places = unit.samples * unit.rows * across;
    return unit;
  }
};

/// Number of equal parts into which outputs may be divided: a power of two, at most `wanted`. A part has at least 64
/// outputs, and whole panels of packed products (packed.hpp) with the widest vectors.
inline int64_t output_parts(int64_t outputs, int64_t wanted) {
  constexpr int64_t min_outputs = 64, widest_panel = 32;
  int64_t parts = 1;
  while (parts < wanted && outputs % (2 * parts * widest_panel) == 0 && outputs / (2 * parts) >= min_outputs)
    parts *= 2;
  return parts;
}

/// Channels rounded up to whole vectors for every instruction set.
inline int64_t padded_channels(int64_t channels) { return div_up(channels, int64_t{16}) * 16; }

}  // namespace pxl
