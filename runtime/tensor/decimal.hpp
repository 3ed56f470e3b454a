// Decimal digits of floats, split into the parts that printing aligns.
#pragma once

#include <string>

#include "runtime/tensor/dtype.hpp"

namespace pxl {

struct Decimal {
  std::string whole;     ///< with the sign: "-12"
  std::string fraction;  ///< without trailing zeros; may be empty
  std::string exponent;  ///< "e-05"; empty in positional form
};

/// Shortest digits that round-trip to the same value of T, cut to `most` fractional digits with correct rounding (ties
/// to even). Finite values only. Exponent form pads with further correct digits up to `least`; positional form has an
/// exact whole part.
template <class T>
Decimal positional_digits(T value, int most);
template <class T>
Decimal scientific_digits(T value, int least, int most);

}  // namespace pxl
