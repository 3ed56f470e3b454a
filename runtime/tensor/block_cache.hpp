// Keeps freed blocks of 64 KiB to 64 MiB for the next arrays with their size. The system would take the blocks back and
// return zeroed pages. That costs several times what most ops do with the pages.
#pragma once

#include <cstddef>

namespace pxl {

/// All functions are thread-safe. `bytes` are of the allocation: equal for blocks that replace each other.
/// A block from the cache, with any contents, or null.
std::byte* take_cached_block(size_t bytes) noexcept;
/// Frees a block from std::aligned_alloc, or keeps it. Keeps at most 128 MiB and 32 blocks: the ones freed last.
void free_or_cache_block(std::byte* block, size_t bytes) noexcept;
/// Frees all kept blocks: memory has run out.
void release_cached_blocks() noexcept;

}  // namespace pxl
