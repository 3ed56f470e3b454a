#include "runtime/kernels/libraries.hpp"

#include <malloc.h>

// OpenBLAS has these, other BLAS libraries do not. The last, which fork() calls too (memory.c, openblas_fork_handler),
// is in that for POSIX threads only.
extern "C" {
int openblas_get_num_threads() __attribute__((weak));
void openblas_set_num_threads(int) __attribute__((weak));
int blas_thread_shutdown_() __attribute__((weak));
}

namespace pxl {

void use_one_blas_thread() {
  static const bool one = [] {
    // Setting the number starts threads that were ended anew.
    if (openblas_get_num_threads && openblas_set_num_threads && openblas_get_num_threads() != 1)
      openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(one);
}

void prepare_libraries() {
  use_one_blas_thread();
  if (blas_thread_shutdown_) blas_thread_shutdown_();
  // Stating one of the limits fixes the other, which would otherwise rise to the largest that was freed: 32 MiB at
  // most.
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

}  // namespace pxl
