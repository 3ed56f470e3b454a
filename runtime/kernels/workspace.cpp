#include "runtime/kernels/workspace.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace pxl {
namespace {

// An allocation below two huge pages need not contain a whole one.
constexpr size_t workspace_huge_page = size_t{2} << 20, min_huge_bytes = 2 * workspace_huge_page;

}  // namespace

WorkspaceMemory::WorkspaceMemory(size_t bytes) {
  if (bytes == 0) return;
  const bool huge = bytes >= min_huge_bytes;
  const size_t alignment = huge ? workspace_huge_page : workspace_alignment;
  block_.reset(new std::byte[bytes + alignment - 1]);  // the heap that budgets count
  const auto address = reinterpret_cast<uintptr_t>(block_.get());
  data_ = block_.get() + (alignment - address % alignment) % alignment;
#if defined(MADV_HUGEPAGE)
  // Transforms write to many places, each on a separate page. Advisory: may fail.
  if (huge) ::madvise(data_, bytes / workspace_huge_page * workspace_huge_page, MADV_HUGEPAGE);
#endif
}

}  // namespace pxl
