// The kinds of errors: the names that `pxl explain` knows, that `catch` takes, that `--json` writes and that editors
// show beside messages. codes.inc lists them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pxl::codes {

#define PXL_ERROR_KIND(name, text, sort) inline constexpr std::string_view name = text;
#include "runtime/base/diagnostics/codes.inc"
#undef PXL_ERROR_KIND

/// Errors of the world come from files, data, and the machine: a correct program may meet them. Errors of the program
/// are mistakes in its text.
enum class Sort : uint8_t { world, program };

struct Kind {
  std::string_view text;
  Sort sort;
};
inline constexpr Kind kind_table[] = {
#define PXL_ERROR_KIND(name, text, sort) {text, Sort::sort},
#include "runtime/base/diagnostics/codes.inc"
#undef PXL_ERROR_KIND
};

inline constexpr auto all = [] {
  std::array<std::string_view, std::size(kind_table)> texts{};
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = kind_table[i].text;
  return texts;
}();

}  // namespace pxl::codes
