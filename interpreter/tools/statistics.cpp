#include "interpreter/tools/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pxl {

Statistics statistics_of(const Array& a) {
  Statistics s;
  s.count = a.size();
  int64_t finite = 0;
  double squares = 0;  // Welford's sum of squared differences from the running mean
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.number(i);
    if (std::isnan(x)) {
      ++s.nan;
    } else if (std::isinf(x)) {
      ++s.infinite;
    } else {
      s.least = finite == 0 ? x : std::min(s.least, x);
      s.most = finite == 0 ? x : std::max(s.most, x);
      const double apart = x - s.mean;
      s.mean += apart / static_cast<double>(++finite);
      squares += apart * (x - s.mean);
    }
  }
  if (finite > 0) s.deviation = std::sqrt(squares / static_cast<double>(finite));
  return s;
}

std::string text(const Statistics& s) {
  if (s.count == 0) return "empty";
  const std::string range = fmt::format("from {:.6g} to {:.6g}", s.least, s.most);
  if (s.finite())
    return s.count == 1 ? fmt::format("{:.6g}", s.mean)
                        : fmt::format("{}, mean {:.6g}, deviation {:.6g}", range, s.mean, s.deviation);
  std::string out;
  if (s.nan) out = fmt::format("{} of {} elements NaN", s.nan, s.count);
  if (s.infinite)
    out += out.empty() ? fmt::format("{} of {} elements infinite", s.infinite, s.count)
                       : fmt::format(", {} infinite", s.infinite);
  return s.nan + s.infinite < s.count ? out + ", the rest " + range : out;
}

}  // namespace pxl
