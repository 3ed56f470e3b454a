// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
// value i of a stream depends on key and i only, not on threads or order.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Four 32-bit outputs for a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Streams of one seed, distinguished by a tag in the counter.
enum class RandomStream : uint32_t { uniform = 1, normal = 2, mask = 3, seed = 4 };
/// The four words of a block of a stream; element i of a random op is word i % 4 of block i / 4.
std::array<uint32_t, 4> random_words(std::array<uint32_t, 2> key, RandomStream stream, uint64_t block);

/// The host's generator, for `normal(...)`, `uniform(...)` and shuffles. A 64-bit seed determines all draws. Not
/// thread-safe.
class Random {
 public:
  explicit Random(uint64_t seed) { reseed(seed); }
  void reseed(uint64_t seed);

  uint32_t bits();           ///< 32 uniform bits
  double uniform();          ///< [0, 1), 53 bits
  int64_t below(int64_t n);  ///< uniform on 0..n-1, unbiased
  double normal();           ///< mean 0, deviation 1 (Box-Muller)

  // Large arrays are lazy: their elements are drawn when they are first needed, and have the values that this draw
  // would have given. A program that is only planned needs none.
  Array uniform(DType dtype, const Shape& shape, double low, double high);
  Array normal(DType dtype, const Shape& shape, double mean, double std);
  /// Normal, redrawn until within `bound` standard deviations of the mean.
  Array truncated_normal(DType dtype, const Shape& shape, double mean, double std, double bound = 2.0);
  /// Fisher-Yates: a permutation of 0..n-1, as int64 or int32; int32 holds n up to 2^31.
  Array permutation(int64_t n, DType dtype = DType::int64);

 private:
  Array normal_now(DType dtype, const Shape& shape, double mean, double std);
  Array uniform_now(DType dtype, const Shape& shape, double low, double high);
  void skip_bits(int64_t words);    ///< as that many calls of bits()
  void skip_normal(int64_t count);  ///< as that many calls of normal(), at the end of a block

  std::array<uint32_t, 2> key_{};
  uint64_t counter_ = 0;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
  bool have_spare_ = false;
  double spare_ = 0;
};

}  // namespace pxl
