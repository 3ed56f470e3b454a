#include "runtime/base/threads/parallel_copy.hpp"

#include <cstring>

#include "runtime/base/threads/thread_pool.hpp"

namespace pxl {

namespace {
// Parts begin at pages, which have one node each.
constexpr int64_t page_bytes = 4096;
}  // namespace

void parallel_copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes <= 0) return;
  if (bytes < min_parallel_copy_bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  thread_pool().run(
      [&](int chunk, int chunks) {
        const ChunkRange part = chunk_range(bytes, chunk, chunks, page_bytes);
        if (part.end > part.begin)
          std::memcpy(to + part.begin, from + part.begin, static_cast<size_t>(part.end - part.begin));
      },
      copy_ns_per_byte * static_cast<double>(bytes));
}

}  // namespace pxl
