// Treatment of subnormal numbers (below 1.2e-38 in float32, 2.2e-308 in float64). They can slow an operation down a
// hundredfold, and the moments of weights without a gradient decay into them. While ops run, subnormal operands and
// results are flushed to 0, as on most accelerators.
#pragma once

#if defined(__SSE__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace pxl {

/// The floating-point mode of a thread, as the processor's control register has it.
class FloatMode {
 public:
  static FloatMode now() { return FloatMode(read()); }
  /// The mode in which ops run, whatever the caller's mode: rounding to nearest, no traps, subnormal numbers as 0.
  static FloatMode of_runs() { return FloatMode(usual | flush); }
  void set() const {
    if (read() != bits_) write(bits_);
  }

 private:
  explicit FloatMode(uint64_t bits) : bits_(bits) {}
#if defined(__SSE__)
  static constexpr uint64_t usual = 0x1f80;
  static constexpr uint64_t flush = 0x8040;                 // results and operands
  static uint64_t read() { return _mm_getcsr() & ~0x3fu; }  // without the flags of exceptions that have been
  static void write(uint64_t bits) { _mm_setcsr(static_cast<unsigned>(bits)); }
#elif defined(__aarch64__)
  static constexpr uint64_t usual = 0;
  static constexpr uint64_t flush = uint64_t{1} << 24;
  static uint64_t read() {
    uint64_t bits = 0;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void write(uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }
#else
  static constexpr uint64_t usual = 0, flush = 0;
  static uint64_t read() { return 0; }
  static void write(uint64_t) {}
#endif
  uint64_t bits_;
};

/// RAII: this thread, and what the thread pool runs for it, is in the mode of runs: subnormal numbers are treated as 0.
class FlushSubnormals {
 public:
  FlushSubnormals() : before_(FloatMode::now()) { FloatMode::of_runs().set(); }
  ~FlushSubnormals() { before_.set(); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  FloatMode before_;
};

}  // namespace pxl
