#include "runtime/tensor/block_cache.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>

#include "runtime/base/threads/fork.hpp"

namespace pxl {

namespace {

// Blocks in the order in which they were freed. The sizes allow a few results of a script's ops.
constexpr size_t max_blocks = 32, max_block_bytes = size_t{64} << 20, max_bytes = size_t{128} << 20;

struct Block {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

struct Cache {
  std::mutex mutex;
  std::array<Block, max_blocks> blocks;
  size_t count = 0, bytes = 0;

  Block remove(size_t i) {
    const Block block = blocks[i];
    std::move(blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1, blocks.begin() + static_cast<std::ptrdiff_t>(count),
              blocks.begin() + static_cast<std::ptrdiff_t>(i));
    --count;
    bytes -= block.bytes;
    return block;
  }
};

// Never destroyed: arrays in static storage are freed after it would be.
Cache& cache() {
  static Cache& all = []() -> Cache& {
    auto* made = new Cache;
    hold_during_fork(made->mutex);
    return *made;
  }();
  return all;
}

// A sanitizer would not see uses of a block that was freed and taken again.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_enabled = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool is_enabled = false;
#else
constexpr bool is_enabled = true;
#endif
#else
constexpr bool is_enabled = true;
#endif

}  // namespace

std::byte* take_cached_block(size_t bytes) noexcept {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  for (size_t i = c.count; i-- > 0;)
    if (c.blocks[i].bytes == bytes) return c.remove(i).data;  // the last one: it may still be in a processor's cache
  return nullptr;
}

void free_or_cache_block(std::byte* block, size_t bytes) noexcept {
  if (!is_enabled || bytes > max_block_bytes) return std::free(block);
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  while (c.count == max_blocks || c.bytes + bytes > max_bytes) std::free(c.remove(0).data);
  c.blocks[c.count++] = {block, bytes};
  c.bytes += bytes;
}

void release_cached_blocks() noexcept {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  while (c.count > 0) std::free(c.remove(c.count - 1).data);
}

}  // namespace pxl
