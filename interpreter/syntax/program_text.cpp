#include "interpreter/syntax/program_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "interpreter/syntax/format/format.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl {

/// The functions of this file make program text from other text.
class ProgramTextMaker {
 public:
  static ProgramText made(std::string text) {
    ProgramText made;
    made.text_ = std::move(text);
    return made;
  }
};

namespace {

/// Characters that a reader does not see: controls, line and paragraph separators, marks of direction.
bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || (c >= 0x200E && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

ProgramText assemble(FixedText pattern, std::initializer_list<ProgramText> pieces) {
  std::string out;
  const std::string_view text = pattern.view();
  const auto* piece = pieces.begin();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') {
      out += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == text[i]) {
      out += text[i++];
    } else {
      if (text.substr(i, 2) != "{}" || piece == pieces.end())
        throw std::logic_error("assemble: pieces and pattern differ");
      out += (piece++)->text();
      ++i;
    }
  }
  if (piece != pieces.end()) throw std::logic_error("assemble: pieces and pattern differ");
  return ProgramTextMaker::made(std::move(out));
}

ProgramText joined(const std::vector<ProgramText>& pieces, FixedText separator) {
  ProgramText out;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) out += separator;
    out += pieces[i];
  }
  return out;
}

bool is_identifier(std::string_view text) {
  const auto& reserved = reserved_words();
  return !text.empty() && !is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); }) &&
         std::find(reserved.begin(), reserved.end(), text) == reserved.end();
}

ProgramText identifier(std::string_view name) {
  if (!is_identifier(name)) throw Error(fmt::format("`{}` is not a name of a program", name)).as(codes::value);
  return ProgramTextMaker::made(std::string(name));
}

ProgramText string_literal(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text, i);
    if (c == '"' || c == '\\')
      out.append({'\\', static_cast<char>(c)});
    else if (c == '\n' || c == '\t' || c == '\r')
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else if (is_hidden(c))
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    else
      append_utf8(out, c);
  }
  return ProgramTextMaker::made(out + "\"");
}

ProgramText number_literal(int64_t value) { return ProgramTextMaker::made(std::to_string(value)); }

ProgramText number_literal(double value, bool narrow) {
  if (std::isnan(value)) return FixedText("float(\"nan\")");
  if (std::isinf(value)) return value < 0 ? FixedText("float(\"-inf\")") : FixedText("float(\"inf\")");
  std::string text = narrow ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return ProgramTextMaker::made(std::move(text));
}

ProgramText comment_line(std::string_view text) {
  std::string out = "# ";
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text, i);
    append_utf8(out, is_hidden(c) ? U' ' : c);
  }
  return ProgramTextMaker::made(out + "\n");
}

const SourceFile& add_source(std::string name, const ProgramText& text) {
  return add_source(std::move(name), std::string(text.text()));
}

ProgramText formatted(const ProgramText& text) {
  return ProgramTextMaker::made(format_source(add_source("<program text>", text)));
}

}  // namespace pxl
