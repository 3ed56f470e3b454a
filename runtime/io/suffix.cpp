#include "runtime/io/suffix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

void require_suffix(std::string_view function, const std::string& path, std::string_view suffix,
                    std::string_view what) {
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    return text;
  };
  std::filesystem::path wanted = path;
  const std::string given = lower(wanted.extension().string());
  if (given == suffix) return;
  wanted.replace_extension();
  if (lower(wanted.extension().string()) != suffix) wanted += suffix;
  throw Error(given.size() < 2
                  ? fmt::format("{}: `{}` has no suffix, and {} are written as {}", function, path, what, suffix)
                  : fmt::format("{}: {} are written as {}, not as {}", function, what, suffix, given),
              {fmt::format("write `{}`", wanted.string())})
      .as(codes::value);
}

}  // namespace pxl
