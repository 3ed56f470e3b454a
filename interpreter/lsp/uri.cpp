#include "interpreter/lsp/uri.hpp"

#include <strings.h>

#include <cctype>
#include <filesystem>

namespace pxl::lsp {

namespace {

std::string decoded(std::string_view text) {
  std::string out;
  const auto is_hex = [&](size_t i) { return i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])); };
  const auto digit = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 0x20) - 'a' + 10;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && is_hex(i + 1) && is_hex(i + 2)) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// The path in a file's URI, still encoded: "/a" for "file:///a", "file:/a" and "file://host/a". Empty for other
/// schemes.
std::string_view encoded_path(std::string_view uri) {
  constexpr std::string_view scheme = "file:";
  if (uri.size() < scheme.size() || strncasecmp(uri.data(), scheme.data(), scheme.size()) != 0) return {};
  uri.remove_prefix(scheme.size());
  if (uri.starts_with("//")) uri.remove_prefix(std::min(uri.find('/', 2), uri.size()));
  return uri.starts_with('/') ? uri : std::string_view{};
}

}  // namespace

DocumentUri DocumentUri::of_text(std::string text) {
  std::string path = decoded(encoded_path(text));
  // The system ends a path at a zero byte, so a URI with one names no file.
  if (path.empty() || path.find('\0') != path.npos) return {text, decoded(text)};
  return {std::move(text), std::filesystem::path(path).lexically_normal().string()};
}

DocumentUri DocumentUri::of_path(std::string_view path) {
  constexpr std::string_view plain = "/-._~";
  constexpr char digits[] = "0123456789ABCDEF";
  std::string uri = "file://";
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) || plain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += '%';
      uri += digits[static_cast<unsigned char>(c) >> 4];
      uri += digits[static_cast<unsigned char>(c) & 15];
    }
  }
  return {std::move(uri), std::filesystem::path(path).lexically_normal().string()};
}

}  // namespace pxl::lsp
