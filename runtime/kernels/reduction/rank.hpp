// Maps numbers of any dtype to unsigned numbers with the same order, for sorting and selection.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/tensor/dtype.hpp"

namespace pxl {

template <size_t bytes>
using unsigned_of =
    std::conditional_t<bytes == 1, uint8_t,
                       std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

/// An unsigned number with the order of x: -0 equals 0, NaNs are equal and last. Always inlined, so that code compiled
/// for one instruction set is never linked into another.
template <class T>
[[gnu::always_inline]] inline unsigned_of<sizeof(T)> rank_of(T x) {
  using Bits = unsigned_of<sizeof(T)>;
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? static_cast<Bits>(static_cast<Bits>(x) ^ sign) : static_cast<Bits>(x);
  } else {
    constexpr int exponent_bits = static_cast<int>(8 * sizeof(T)) - row(dtype_of<T>()).digits;
    constexpr Bits infinity =
        static_cast<Bits>(((Bits{1} << exponent_bits) - 1) << (8 * sizeof(T) - 1 - exponent_bits));
    const Bits bits = std::bit_cast<Bits>(x), magnitude = static_cast<Bits>(bits & ~sign);
    // Only selections, so that the compiler makes vector code.
    const Bits ordered = static_cast<Bits>((bits & sign) != 0 ? ~bits : bits | sign);
    const Bits of_number = magnitude == 0 ? sign : ordered;
    return magnitude > infinity ? static_cast<Bits>(~Bits{0}) : of_number;
  }
}

}  // namespace pxl
