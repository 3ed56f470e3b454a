#include "runtime/kernels/library_threads.hpp"

// Exported by OpenBLAS, which has fork() call it too (memory.c, openblas_fork_handler). Other BLAS libraries, and
// OpenBLAS for OpenMP or one thread, lack it and such threads.
extern "C" int blas_thread_shutdown_() __attribute__((weak));

namespace pxl {

void end_idle_library_threads() {
  if (blas_thread_shutdown_) blas_thread_shutdown_();
}

}  // namespace pxl
