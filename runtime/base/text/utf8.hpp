// UTF-8 for diagnostics: decoding of arbitrary bytes, and terminal widths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pxl {

inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Decodes the code point at byte `i` and advances `i`. A byte that starts no valid sequence decodes to U+FFFD.
char32_t next_code_point(std::string_view text, size_t& i);

void append_utf8(std::string& out, char32_t code_point);

/// Terminal columns: 0 for combining marks and control characters, 2 for East Asian wide and emoji, otherwise 1.
int code_point_width(char32_t code_point);

/// Whether a text is well-formed.
bool is_utf8(std::string_view text);

/// C0 but for the line feed and the tab, DEL, and C1.
bool is_control(char32_t code_point);
/// A text that is safe to show on a terminal. U+FFFD replaces control characters, which would move the cursor, recolour
/// the terminal or ring, and bytes that are no UTF-8. Line feeds and tabs stay.
std::string cleaned(std::string_view text);
bool is_clean(std::string_view text);

}  // namespace pxl
