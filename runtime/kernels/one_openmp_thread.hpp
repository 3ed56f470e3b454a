// Calls libraries that parallelise with OpenMP from a thread of pxl's own pool.
#pragma once

// Functions of the OpenMP runtime that oneDNN depends on. They apply to the calling thread.
extern "C" void omp_set_num_threads(int) __attribute__((weak));
extern "C" int omp_get_max_threads() __attribute__((weak));

namespace pxl {

/// Limits OpenMP regions of this thread to one thread. Restores the number at the end: other users of OpenMP in the
/// process may call from this thread.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads ? omp_get_max_threads() : 1) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  const int before_;
};

}  // namespace pxl
