#include "interpreter/tools/help/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "interpreter/tools/lints/lints.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/source.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {

namespace {

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

// Fills a paragraph into lines of at most `width` columns.
void append_filled(std::string& out, std::string_view paragraph, int width) {
  int column = 0;
  for (size_t at = 0; at < paragraph.size();) {
    const size_t end = std::min(paragraph.find(' ', at), paragraph.size());
    const std::string_view word = paragraph.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const int length = display_width(word);
    if (column > 0 && column + 1 + length > width) out += '\n', column = 0;
    if (column > 0) out += ' ', ++column;
    out += word;
    column += length;
  }
  if (column > 0) out += '\n';
}

}  // namespace

std::optional<std::string_view> explanation(std::string_view code) {
  const std::string_view page = error_pages().front().text;
  const std::string heading = fmt::format("\n## {}\n", code);
  const size_t at = page.find(heading);
  if (at == page.npos) return std::nullopt;
  const size_t from = at + heading.size() + 1;
  const size_t end = page.find("\n## ", from);
  return page.substr(from, end == page.npos ? page.npos : end + 1 - from);
}

std::string explanation_text(std::string_view code, int width) {
  std::optional<std::string_view> left = explanation(code);
  if (!left) return {};
  std::string out = fmt::format("{}\n\n", code), paragraph;
  bool program = false;
  while (!left->empty()) {
    const std::string_view line = take_line(*left);
    if (line.starts_with("```")) {
      program = !program;
    } else if (program) {
      out += fmt::format("    {}\n", line);
    } else if (line.empty()) {
      append_filled(out, paragraph, width);
      paragraph.clear();
      if (!out.ends_with("\n\n")) out += '\n';
    } else if (!line.starts_with("<!--")) {
      paragraph += fmt::format("{} ", line);
    }
  }
  append_filled(out, paragraph, width);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::vector<std::string> explained_kinds() {
  std::vector<std::string> kinds(codes::all.begin(), codes::all.end());
  for (const LintKind& lint : lint_kinds()) kinds.emplace_back(lint.kind);
  return kinds;
}

std::string explanation_hint(std::string_view code) {
  const std::string hint = did_you_mean(std::string(code), explained_kinds());
  return hint.empty() ? hint : "; " + hint;
}

}  // namespace pxl
