// The heap of this project's programs counts for the thread's budget (budget.hpp). The heap of libpxl does not count:
// other programs free the library's results by their operator delete.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "runtime/base/limits/budget.hpp"

namespace {

// Blocks from this size on are refused when they are requested. Small blocks are noticed at the next charge, where an
// exception harms nothing.
constexpr size_t refused_bytes = size_t{1} << 20;

}  // namespace

// Not inlined: the compiler takes malloc and free of inlined ones for a mismatch. The cost is a look at the block's
// size with a budget, and a comparison without one. NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (pxl::Budget* budget = pxl::current_budget(); budget && size >= refused_bytes) {
    if (!budget->affords(static_cast<int64_t>(std::min<std::size_t>(size, PTRDIFF_MAX / 4))))
      throw pxl::OverBudget{pxl::OverBudget::Resource::memory};
  }
  for (;;) {
    if (void* block = std::malloc(size == 0 ? 1 : size)) {
      if (pxl::current_budget()) pxl::count_taken(static_cast<int64_t>(malloc_usable_size(block)));
      return block;
    }
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}
// All forms are replaced, so that none is paired with a form from another library.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (...) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t& none) noexcept {
  return operator new(size, none);
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  if (pxl::current_budget() && block) pxl::count_freed(static_cast<int64_t>(malloc_usable_size(block)));
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete(void* block, const std::nothrow_t&) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete[](void* block, const std::nothrow_t&) noexcept { operator delete(block); }
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
