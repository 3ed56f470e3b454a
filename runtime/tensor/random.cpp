// Philox4x32-10.
#include "runtime/tensor/random.hpp"

namespace pxl {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  // Multipliers and Weyl increments, from table 2 in the paper.
  constexpr uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57;
  constexpr uint32_t w0 = 0x9E3779B9, w1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = m0 * c[0], p1 = m1 * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += w0, k[1] += w1;
  }
  return c;
}

std::array<uint32_t, 4> random_words(std::array<uint32_t, 2> key, RandomStream stream, uint64_t block) {
  return philox4x32(
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(stream), 0}, key);
}

}  // namespace pxl
