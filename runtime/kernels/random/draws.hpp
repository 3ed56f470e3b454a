// The host's generator of random numbers, for `normal(...)`, `uniform(...)` and shuffles.
#pragma once

#include <optional>

#include "runtime/tensor/array.hpp"
#include "runtime/tensor/random.hpp"

namespace pxl {

/// A 64-bit seed determines all draws, whatever the threads. Not thread-safe.
class Random {
 public:
  explicit Random(uint64_t seed) { reseed(seed); }
  void reseed(uint64_t seed);
  bool operator==(const Random& other) const { return state() == other.state(); }  ///< the same draws follow
  uint64_t seed() const { return uint64_t{key_[1]} << 32U | key_[0]; }             ///< that of the last `reseed`
  /// The state of the draws that follow, as numbers that can be saved.
  using State = std::array<uint64_t, 5>;
  State state() const;
  void resume(const State& state);  ///< throws Error for numbers that are no state

  uint32_t bits();           ///< 32 uniform bits
  double uniform();          ///< [0, 1), 53 bits
  int64_t below(int64_t n);  ///< uniform on 0..n-1, unbiased. Throws Error unless n > 0
  double normal();           ///< mean 0, deviation 1 (Box-Muller)

  // An array has the elements that as many single draws would return. Large arrays are lazy: their elements are drawn
  // when they are first needed, with the values that this draw would have returned. A program that is only planned
  // needs no elements.
  Array uniform(DType dtype, const Shape& shape, double low, double high);
  Array normal(DType dtype, const Shape& shape, double mean, double std);
  /// Normal numbers, redrawn until they are within `bound` standard deviations of the mean.
  Array truncated_normal(DType dtype, const Shape& shape, double mean, double std, double bound = 2.0);
  /// Fisher-Yates: a permutation of 0..n-1, as int64 or int32; int32 holds n up to 2^31.
  Array permutation(int64_t n, DType dtype = DType::int64);

 private:
  Array normal_now(DType dtype, const Shape& shape, double mean, double std);
  Array uniform_now(DType dtype, const Shape& shape, double low, double high);
  void skip_bits(int64_t words);    ///< skips that many calls of bits()
  void skip_normal(int64_t count);  ///< skips that many calls of normal(), at a block's end
  /// The numbers of n blocks from block `first`, two per block, in order.
  void uniform_pairs(uint64_t first, int64_t n, double* numbers) const;
  void normal_pairs(uint64_t first, int64_t n, double* numbers) const;

  std::array<uint32_t, 2> key_{};
  uint64_t counter_ = 0;  ///< the next block
  std::array<uint32_t, 4> block_{};
  int used_ = 4;                 ///< words of the last block
  std::optional<double> spare_;  ///< the second number of a normal pair
};

}  // namespace pxl
