#include "interpreter/lsp/position.hpp"

#include <algorithm>
#include <cctype>

namespace pxl::lsp {

namespace {

// Length of the UTF-8 character that begins with `c`; 1 if invalid.
size_t length_of(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u >= 0xF0 ? 4 : u >= 0xE0 ? 3 : u >= 0xC0 ? 2 : 1;
}

size_t units_of(size_t bytes, Encoding encoding) { return encoding == Encoding::utf8 ? bytes : bytes == 4 ? 2 : 1; }

}  // namespace

Lines::Lines(std::string_view text, Encoding encoding) : text_(text), encoding_(encoding), starts_{0} {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) starts_.push_back(i + 1);
  }
}

Json Lines::position(size_t offset) const {
  offset = std::min(offset, text_.size());
  const size_t line =
      static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
  size_t units = 0;
  for (size_t i = starts_[line]; i < offset;) {
    const size_t bytes = std::min(length_of(text_[i]), text_.size() - i);
    units += units_of(bytes, encoding_);
    i += bytes;
  }
  return {{"line", line}, {"character", units}};
}

size_t Lines::offset(const Json& position) const {
  const size_t line = number_at(position, "line"), character = number_at(position, "character");
  if (line >= starts_.size()) return text_.size();
  size_t end = line + 1 < starts_.size() ? starts_[line + 1] : text_.size();
  while (end > starts_[line] && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  size_t at = starts_[line], units = 0;
  while (at < end) {
    const size_t bytes = std::min(length_of(text_[at]), end - at);
    units += units_of(bytes, encoding_);
    if (units > character) break;
    at += bytes;
  }
  return at;
}

size_t number_at(const Json& object, const char* name) {
  if (!object.is_object()) return 0;
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return 0;
  const auto value = it->get<int64_t>();
  return value > 0 ? static_cast<size_t>(value) : 0;
}

std::string path_of_uri(std::string_view uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) return {};
  uri.remove_prefix(scheme.size());
  if (const size_t slash = uri.find('/'); slash != std::string_view::npos) uri.remove_prefix(slash);
  std::string path;
  const auto digit = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 0x20) - 'a' + 10;
  };
  for (size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] == '%' && i + 2 < uri.size() && std::isxdigit(static_cast<unsigned char>(uri[i + 1])) &&
        std::isxdigit(static_cast<unsigned char>(uri[i + 2]))) {
      path += static_cast<char>(digit(uri[i + 1]) * 16 + digit(uri[i + 2]));
      i += 2;
    } else {
      path += uri[i];
    }
  }
  return path;
}

std::string uri_of_path(std::string_view path) {
  constexpr std::string_view plain = "/-._~";
  std::string uri = "file://";
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) || plain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      constexpr char digits[] = "0123456789ABCDEF";
      uri += '%';
      uri += digits[static_cast<unsigned char>(c) >> 4];
      uri += digits[static_cast<unsigned char>(c) & 15];
    }
  }
  return uri;
}

}  // namespace pxl::lsp
