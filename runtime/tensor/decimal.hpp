// Decimal digits of floats, cut into the parts that printing aligns.
#pragma once

#include <string>

#include "runtime/tensor/dtype.hpp"

namespace pxl {

struct Decimal {
  std::string whole;     ///< with the sign: "-12"
  std::string fraction;  ///< without trailing zeros, may be empty
  std::string exponent;  ///< "e-05", empty in positional form
};

/// The shortest digits that read back as the same value of T, cut to `most` fractional digits by correct rounding
/// (ties to even). For finite values. In exponent form further correct digits fill up to `least`; in positional form
/// the whole part is exact.
template <class T>
Decimal positional_digits(T value, int most);
template <class T>
Decimal scientific_digits(T value, int least, int most);

}  // namespace pxl
