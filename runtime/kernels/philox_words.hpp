// Words of blocks of the generator (tensor/random.hpp) that are computed together, for what makes numbers of them.
#pragma once

#include <array>

#include "runtime/kernels/block.hpp"

namespace pxl {

/// Blocks whose words, and the numbers made of them, stay in L1. Not measured.
inline constexpr int64_t philox_batch = 128;

struct PhiloxWords {
  uint32_t at[4][philox_batch];  ///< words of a block lie apart

  /// Those of n blocks from `first` on, n <= philox_batch. `tag` is the third word of their counters.
  void draw(std::array<uint32_t, 2> key, uint32_t tag, uint64_t first, int64_t n) {
    uint32_t* const to[] = {at[0], at[1], at[2], at[3]};
    bulk().philox(key.data(), tag, first, to, n);
  }
};

}  // namespace pxl
