// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// Value i of a stream depends on key and i only, not on threads or order.
#pragma once

#include <array>
#include <cstdint>

namespace pxl {

/// Four 32-bit outputs for a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Streams of one seed, distinguished by a tag in the counter.
enum class RandomStream : uint32_t { uniform = 1, normal = 2, mask = 3, seed = 4 };
/// The four words in one block of a stream; element i of a random op is word i % 4 of block i / 4.
std::array<uint32_t, 4> random_words(std::array<uint32_t, 2> key, RandomStream stream, uint64_t block);

}  // namespace pxl
