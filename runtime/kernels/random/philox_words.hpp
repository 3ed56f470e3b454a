// Words from generator blocks (tensor/random.hpp) that are computed together, to be made into numbers.
#pragma once

#include <array>

#include "runtime/kernels/block/block.hpp"

namespace pxl {

/// Number of blocks whose words, and the numbers made from them, stay in L1.
inline constexpr int64_t philox_batch = 128;

struct PhiloxWords {
  uint32_t at[4][philox_batch];  ///< the words of a block are apart

  /// Draws the words of n blocks, n <= philox_batch, beginning at block `first`. `tag` is the third word of their
  /// counters.
  void draw(std::array<uint32_t, 2> key, uint32_t tag, uint64_t first, int64_t n) {
    uint32_t* const to[] = {at[0], at[1], at[2], at[3]};
    bulk().philox(key.data(), tag, first, to, n);
  }
};

}  // namespace pxl
