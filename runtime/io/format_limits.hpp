// How much one file may become, and errors of files.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/input_file.hpp"

namespace pxl {

/// Maximum size of a text, image or sound file, and of its decoded contents, in bytes.
constexpr int64_t max_decoded_bytes = int64_t{2} << 30;

/// Maximum number of bytes that a look reads of one file.
constexpr int64_t max_header_bytes = int64_t{1} << 20;

inline Error cannot_read(const std::string& path, std::string_view why) {
  return Error(fmt::format("cannot read {}: {}", path, why), {}, Fault::unreadable);
}

/// The bytes of a regular file; throws `cannot_read`.
inline std::string read_whole_file(const std::string& path, int64_t max_bytes = max_decoded_bytes) {
  require_effect(Effect::reads_files);
  std::string why;
  std::optional<std::string> bytes = read_file(path, max_bytes, why);
  if (!bytes) throw cannot_read(path, why);
  return *std::move(bytes);
}

}  // namespace pxl
