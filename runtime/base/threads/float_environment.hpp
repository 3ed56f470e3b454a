// The floating-point environment of a host program, put aside while the library computes: rounding, traps, subnormal
// numbers, and the flags of exceptions that have been.
#pragma once

#include <cfenv>
#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace pxl {

/// RAII: this thread computes in the environment that a process begins with; then it has the former one again.
class OwnFloatEnvironment {
 public:
  OwnFloatEnvironment() noexcept {
#if defined(__SSE__)
    flags_and_mode_ = _mm_getcsr();
    usual_ = (flags_and_mode_ & ~flags) == usual_mode && x87_mode() == usual_x87_mode;
    if (usual_) return;
#endif
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~OwnFloatEnvironment() {
#if defined(__SSE__)
    if (usual_) {
      _mm_setcsr(flags_and_mode_);
      return;
    }
#endif
    std::fesetenv(&before_);
  }
  OwnFloatEnvironment(const OwnFloatEnvironment&) = delete;
  OwnFloatEnvironment& operator=(const OwnFloatEnvironment&) = delete;

 private:
#if defined(__SSE__)
  // Saving all of the environment takes a hundred times as long as reading the two registers.
  static constexpr unsigned flags = 0x3f, usual_mode = 0x1f80;
  static constexpr unsigned short usual_x87_mode = 0x37f;
  static unsigned short x87_mode() {
    unsigned short mode = 0;
    asm volatile("fnstcw %0" : "=m"(mode));
    return mode;
  }
  unsigned flags_and_mode_ = usual_mode;
  bool usual_ = false;
#endif
  std::fenv_t before_;
};

}  // namespace pxl
