#include "runtime/kernels/libraries.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>

#include "runtime/base/threads/thread_pool.hpp"

// OpenBLAS has these functions; other BLAS libraries do not.
extern "C" {
int openblas_get_num_threads() __attribute__((weak));
void openblas_set_num_threads(int) __attribute__((weak));
}

namespace pxl {

void use_one_blas_thread() {
  static const bool one = [] {
    // Setting the number restarts threads that have ended, so it is set only if it differs.
    if (openblas_get_num_threads && openblas_set_num_threads && openblas_get_num_threads() != 1)
      openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(one);
}

bool is_blas_usable() {
  static const bool usable = [] {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    // OpenBLAS has a buffer for each thread, and retries forever to allocate it.
    constexpr size_t buffer = size_t{144} << 20;
    const size_t all = buffer * static_cast<size_t>(thread_pool().size());
    void* const room = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    ::munmap(room, all);
    return true;
  }();
  return usable;
}

void prepare_libraries() {
  use_one_blas_thread();
  // Setting one limit also fixes the other. Otherwise that limit would rise to the size of the largest freed block, at
  // most 32 MiB.
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

}  // namespace pxl
