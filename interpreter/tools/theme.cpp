#include "interpreter/tools/theme.hpp"

#include <cctype>

#include "runtime/base/text/utf8.hpp"

namespace pxl {
namespace {

std::string_view style_of(TokenClass kind) {
  switch (kind) {
    case TokenClass::keyword:
    case TokenClass::declarer: return "35";
    case TokenClass::constant:
    case TokenClass::number: return "36";
    case TokenClass::string: return "32";
    case TokenClass::comment: return "2";
    case TokenClass::documentation: return "2;32";
    case TokenClass::argument: return "33";
    case TokenClass::unknown: return "31";
    default: return {};
  }
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::string styled(std::string_view text, std::string_view style) {
  if (style.empty() || text.empty()) return cleaned(text);
  return "\x1b[" + std::string(style) + "m" + cleaned(text) + "\x1b[0m";
}

std::string colour_source(std::string_view text) {
  const SourceFile source("<text>", std::string(text));
  std::string out;
  size_t at = 0;
  for (const ClassifiedToken& t : classify_tokens(source)) {
    out += cleaned(text.substr(at, t.begin - at));
    out += styled(text.substr(t.begin, t.end - t.begin), style_of(t.kind));
    at = t.end;
  }
  return out + cleaned(text.substr(at));
}

std::string colour_schedule(std::string_view given) {
  const std::string text_cleaned = cleaned(given);
  const std::string_view text = text_cleaned;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool line_start = i == 0 || text[i - 1] == '\n';
    if (line_start && text.substr(i).starts_with("Graph : ")) {
      const size_t end = std::min(text.find('\n', i), text.size());
      out += styled(text.substr(i, end - i), "1");
      i = end;
    } else if (text[i] == '%') {
      size_t end = i + 1;
      while (end < text.size() && in_word(text[end])) ++end;
      out += styled(text.substr(i, end - i), "36");
      i = end;
    } else if (text[i] == '[') {
      const size_t end = std::min(text.find(']', i), text.size() - 1) + 1;
      out += styled(text.substr(i, end - i), "2");
      i = end;
    } else if (in_word(text[i])) {
      size_t end = i;
      while (end < text.size() && (in_word(text[end]) || text[end] == '.')) ++end;
      // This is a name with a number after its dot, "MatMul.100".
      const std::string_view word = text.substr(i, end - i);
      const size_t dot = word.rfind('.');
      const bool op =
          dot != word.npos && dot + 1 < word.size() && std::isdigit(static_cast<unsigned char>(word[dot + 1]));
      out += op ? styled(word.substr(0, dot), "33") + std::string(word.substr(dot)) : std::string(word);
      i = end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace pxl
