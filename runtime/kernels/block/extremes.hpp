// The larger and the smaller of two numbers, as IEEE 754-2019 defines maximum and minimum: NaN if either is NaN, and -0
// is less than +0. Neither the operand order nor the instruction set changes a bit. The functions have no branches, so
// that loops over them become vector code. They have no linkage, as they are compiled once per instruction set.
#pragma once

#include <cstdint>

namespace pxl {

#define PXL_EXTREMES(T, BITS)                                                      \
  static inline __attribute__((always_inline)) T larger(T a, T b) {                \
    constexpr BITS sign = BITS{1} << (8 * sizeof(T) - 1);                          \
    const T more = a > b ? a : b; /* b where they are equal, or one is NaN */      \
    const BITS x = __builtin_bit_cast(BITS, a), y = __builtin_bit_cast(BITS, b);   \
    const T equal = __builtin_bit_cast(T, y & (x | ~sign)); /* + where one is + */ \
    const T of_numbers = a == b ? equal : more;                                    \
    return a != a ? a : of_numbers;                                                \
  }                                                                                \
  static inline __attribute__((always_inline)) T smaller(T a, T b) {               \
    constexpr BITS sign = BITS{1} << (8 * sizeof(T) - 1);                          \
    const T less = a < b ? a : b;                                                  \
    const BITS x = __builtin_bit_cast(BITS, a), y = __builtin_bit_cast(BITS, b);   \
    const T equal = __builtin_bit_cast(T, y | (x & sign));                         \
    const T of_numbers = a == b ? equal : less;                                    \
    return a != a ? a : of_numbers;                                                \
  }
PXL_EXTREMES(float, uint32_t)
PXL_EXTREMES(double, uint64_t)
#undef PXL_EXTREMES

/// The same for integers and bools.
template <class T>
static inline __attribute__((always_inline)) T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
static inline __attribute__((always_inline)) T smaller(T a, T b) {
  return a < b ? a : b;
}

}  // namespace pxl
