// Short texts of messages, and lines as they were typed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pxl {

/// "1 op", "3 ops".
inline std::string counted(int64_t n, std::string_view noun) {
  return std::to_string(n).append(" ").append(noun).append(n == 1 ? "" : "s");
}
inline std::string counted(size_t n, std::string_view noun) { return counted(static_cast<int64_t>(n), noun); }

/// Without white space at either end.
inline std::string_view trimmed(std::string_view s) {
  constexpr std::string_view white = " \t\n\r";
  const size_t from = s.find_first_not_of(white);
  return from == s.npos ? std::string_view() : s.substr(from, s.find_last_not_of(white) - from + 1);
}

}  // namespace pxl
