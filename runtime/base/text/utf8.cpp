// UTF-8 decoding and terminal widths. The width ranges follow Unicode's East Asian Width (W and F) and
// general category Mn; whole blocks are used, which is accurate enough to place a caret.
#include "runtime/base/text/utf8.hpp"

#include <algorithm>
#include <iterator>

namespace pxl {
namespace {

struct Range {
  char32_t first, last;
};

constexpr Range zero_width[] = {
    {0x0300, 0x036F},   {0x0483, 0x0489},   {0x0591, 0x05BD},  {0x0610, 0x061A}, {0x064B, 0x065F}, {0x06D6, 0x06DC},
    {0x0900, 0x0902},   {0x093C, 0x093C},   {0x0941, 0x0948},  {0x094D, 0x094D}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},
    {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF},  {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},
    {0x20D0, 0x20F0},   {0x302A, 0x302D},   {0x3099, 0x309A},  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
    {0x1F3FB, 0x1F3FF}, {0xE0001, 0xE007F}, {0xE0100, 0xE01EF}};

constexpr Range double_width[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x26A1, 0x26A1},   {0x26BD, 0x26BE},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x17000, 0x18CFF}, {0x1B000, 0x1B2FF},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <size_t N>
bool among(const Range (&ranges)[N], char32_t c) {
  auto after = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                [](char32_t value, const Range& r) { return value < r.first; });
  return after != std::begin(ranges) && c <= std::prev(after)->last;
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& i) {
  auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char lead = byte(i);
  size_t length = lead < 0x80                   ? 1
                  : lead >= 0xC2 && lead < 0xE0 ? 2
                  : (lead & 0xF0) == 0xE0       ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
  if (length == 0 || i + length > text.size()) return ++i, U'\uFFFD';
  if (length == 1) return ++i, lead;
  char32_t c = lead & (0x7Fu >> length);
  for (size_t k = 1; k < length; ++k) {
    if (!is_continuation(text[i + k])) return ++i, U'\uFFFD';
    c = c << 6 | (byte(i + k) & 0x3Fu);
  }
  bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  if (overlong || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return ++i, U'\uFFFD';
  i += length;
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  auto put = [&](char32_t v) { out += static_cast<char>(v); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  if (c < 0x10000) return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
}

int code_point_width(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return 0;
  if (c < 0x300) return 1;
  if (among(zero_width, c)) return 0;
  return among(double_width, c) ? 2 : 1;
}

bool is_control(char32_t c) { return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0); }

bool is_clean(std::string_view text) {
  const auto printable = [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t'; };
  size_t i = 0;
  while (i < text.size() && printable(text[i])) ++i;
  while (i < text.size()) {
    const size_t from = i;
    const char32_t c = next_code_point(text, i);
    if (is_control(c) || (c == 0xFFFD && text.substr(from, 3) != "\xEF\xBF\xBD")) return false;
  }
  return true;
}

std::string cleaned(std::string_view text) {
  if (is_clean(text)) return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text, i);
    append_utf8(out, is_control(c) ? U'\uFFFD' : c);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t from = i;
    const char32_t c = next_code_point(text, i);
    // A malformed sequence is decoded as U+FFFD, which may also be in the text.
    if (c == 0xFFFD && text.substr(from, 3) != "\xEF\xBF\xBD") return false;
  }
  return true;
}

}  // namespace pxl
