#include "runtime/base/text/size_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "runtime/base/text/text.hpp"

namespace pxl {

std::string size_text(int64_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr double step = 1024;
  if (bytes < static_cast<int64_t>(step)) return counted(bytes, "byte");
  double size = static_cast<double>(bytes) / step;
  size_t unit = 0;
  while (size >= step && unit + 1 < std::size(units)) size /= step, ++unit;
  return fmt::format("{:.1f} {}", size, units[unit]);
}

}  // namespace pxl
