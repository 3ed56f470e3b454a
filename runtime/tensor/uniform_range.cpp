#include "runtime/tensor/uniform_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest number of a dtype below one that it holds. Skips numbers that are subnormal in the compute dtype: runs
/// treat these as 0.
double below(DType dtype, double x) {
  const double least = row(dtype).min;
  const bool has_subnormals = row(compute_dtype(dtype)).min < least;
  if (!has_subnormals && x > -least && x <= least) return x > 0 ? 0.0 : -least;
  return with_type(dtype, [x]<class T>(type_tag<T>) {
    if constexpr (is_narrow_v<T>) {
      T h(static_cast<float>(x));
      h.bits = static_cast<uint16_t>(x == 0 ? 0x8001 : x < 0 ? h.bits + 1 : h.bits - 1);
      return static_cast<double>(static_cast<float>(h));
    } else if constexpr (std::is_same_v<T, float>) {
      return static_cast<double>(std::nextafterf(static_cast<float>(x), -std::numeric_limits<float>::infinity()));
    } else {
      return std::nextafter(x, -infinity);
    }
  });
}

}  // namespace

UniformRange::UniformRange(DType dtype, double from, double to)
    : low(from), range(to - from), least(-infinity), most(infinity) {
  if (!std::isfinite(from) || !std::isfinite(to))
    throw Error(fmt::format("uniform numbers are between finite bounds, not between {} and {}", from, to));
  const double greatest = row(compute_dtype(dtype)).max;
  if (std::fabs(range) > greatest) low = from / 2, range = to / 2 - from / 2, factor = 2;
  if (!(from < to)) return;
  const auto held = [dtype](double x) { return Array::full(dtype, {}, x).number(0); };
  least = held(from);
  most = std::max(least, below(dtype, held(to)));
}

}  // namespace pxl
