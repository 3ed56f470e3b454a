#include "interpreter/lsp/position.hpp"

#include <algorithm>

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

Place Lines::place(size_t offset) const {
  offset = std::min(offset, text_.size());
  const size_t line =
      static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
  size_t units = 0;
  for (size_t i = starts_[line]; i < offset;) {
    const size_t bytes = std::min(length_of(text_[i]), text_.size() - i);
    units += units_of(bytes, encoding_);
    i += bytes;
  }
  return {line, units};
}

Json Lines::position(size_t offset) const {
  const Place at = place(offset);
  return {{"line", at.line}, {"character", at.character}};
}

size_t Lines::offset(Place place) const {
  const auto [line, character] = place;
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

}  // namespace pxl::lsp
