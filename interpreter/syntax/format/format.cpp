// Formats statements and blocks: lines, indentation, empty lines, comments on their own lines.
#include "interpreter/syntax/format/format.hpp"

#include "interpreter/syntax/format/format_shape.hpp"
#include "interpreter/syntax/parse.hpp"

namespace pxl {
namespace {

using namespace syntax;

constexpr int block_indent = 2;
constexpr int continuation = 4;  ///< indentation of the further lines of a statement

// Multi-line `module`, `program`, `def` and `test` at the top level are surrounded by empty lines.
bool declares(int type) {
  return type == ids::MODULE || type == ids::PROGRAM || type == ids::DEF || type == ids::TEST || type == ids::OUTLINED;
}

class Formatter {
 public:
  explicit Formatter(const TokenList& list)
      : list_(list), tokens_(list), shaper_(tokens_, documents_), out_(documents_) {}

  std::string run() {
    const auto end = static_cast<uint32_t>(list_.tokens.size() - 1);
    statements(0, end, 0);
    comments(end, 0);
    return out_.finish();
  }

 private:
  // Formats the tokens in [first, last): the inside of a block, or the file.
  void statements(uint32_t first, uint32_t last, int indent) {
    bool declared_above = false;
    for (uint32_t i = first; i < last;) {
      if (list_.tokens[i].type == ids::NEWLINE) {
        ++i;
        continue;
      }
      const uint32_t end = statement_end(i, last);
      const bool declaration = indent == 0 && declares(list_.tokens[i].type) && !on_one_line(i, end);
      const bool apart = (declaration || (declared_above && tokens_.before(i).empty())) && i != first;
      leading(i, indent, i == first, apart);
      statement(i, end, indent);
      declared_above = declaration;
      i = end;
    }
  }

  uint32_t statement_end(uint32_t i, uint32_t last) const {
    while (i < last && list_.tokens[i].type != ids::NEWLINE) i = tokens_.unit_end(i);
    return i;
  }

  // Prints the comments above a statement and the empty lines between them. `apart`: requires an empty line above the
  // comments that belong to the statement.
  void leading(uint32_t i, int indent, bool first, bool apart) {
    const auto& above = tokens_.before(i);
    size_t own = above.size();
    if (!tokens_.blank_before(i))
      while (own > 0 && !above[own - 1].blank_before) --own;
    if (own > 0 && own < above.size()) --own;  // the empty line already exists
    for (size_t k = 0; k < above.size(); ++k) {
      if ((above[k].blank_before && (k > 0 || !first)) || (apart && k == own)) out_.blank();
      out_.comment(above[k].text, true, indent);
    }
    if ((tokens_.blank_before(i) && !(first && above.empty())) || (apart && above.empty())) out_.blank();
    out_.line(indent);
  }

  void comments(uint32_t i, int indent, bool first = false) {
    for (size_t k = 0; k < tokens_.before(i).size(); ++k) {
      if (tokens_.before(i)[k].blank_before && (k > 0 || !first)) out_.blank();
      out_.comment(tokens_.before(i)[k].text, true, indent);
    }
  }

  void trailing(uint32_t i, int indent) {
    if (!tokens_.after(i).empty()) out_.comment(tokens_.after(i), false, indent);
  }

  // Whether each block of the statement was written on one line, and the whole fits on one.
  bool on_one_line(uint32_t first, uint32_t last) const {
    const std::string_view text = list_.source->text();
    int width = 0;
    for (uint32_t i = first; i < last; ++i) {
      const Token& t = list_.tokens[i];
      if (t.type == ids::NEWLINE || (i > first && !tokens_.before(i).empty()) ||
          (i + 1 < last && !tokens_.after(i).empty()) || tokens_.puts_items_on_lines(i))
        return false;
      if (t.type == ids::BLOCK_OPEN) {
        const uint32_t end = list_.tokens[t.partner].begin;
        if (text.substr(t.begin, end - t.begin).find_first_of("\r\n") != text.npos && t.partner != i + 1) return false;
      }
      width += static_cast<int>(t.end - t.begin);
      if (width > 4 * format_width) return false;  // UTF-8: at most four bytes per column
    }
    const std::string flat = tokens_.flat(first, last);
    return flat.find('\n') == flat.npos && out_.column() + display_width(flat) <= format_width;
  }

  void statement(uint32_t first, uint32_t last, int indent) {
    bool has_block = false;
    for (uint32_t i = first; i < last; i = tokens_.unit_end(i)) has_block |= list_.tokens[i].type == ids::BLOCK_OPEN;
    if (!has_block) {
      out_.print(shaper_.statement(first, last), indent + continuation, 0);
    } else if (on_one_line(first, last)) {
      out_.write(tokens_.flat(first, last));
    } else {
      with_blocks(first, last, indent);
    }
    trailing(last - 1, indent);
  }

  void with_blocks(uint32_t first, uint32_t last, int indent) {
    for (uint32_t head = first; head < last;) {
      uint32_t open = head;
      while (list_.tokens[open].type != ids::BLOCK_OPEN) open = tokens_.unit_end(open);
      if (head != first) {
        comments(head, indent);
        out_.after_comment() ? out_.line(indent) : out_.space();
      }
      out_.print(shaper_.statement(head, open), indent + continuation, 2);
      comments(open, indent + continuation);
      if (out_.after_comment()) out_.line(indent);
      out_.space();
      out_.write("{");
      trailing(open, indent);
      const uint32_t close = list_.tokens[open].partner;
      const bool empty = close == open + 1 && tokens_.before(close).empty() && tokens_.after(open).empty();
      if (empty) {
        out_.write(" }");
      } else {
        statements(open + 1, close, indent + block_indent);
        comments(close, indent + block_indent, close == open + 1);
        out_.line(indent);
        out_.write("}");
      }
      head = close + 1;
      if (head < last) trailing(close, indent);
    }
  }

  const TokenList& list_;
  FormatTokens tokens_;
  Documents documents_;
  FormatShaper shaper_;
  LineWriter out_;
};

/// Returns what formatting must preserve: the tokens, and the comments' texts with the number of tokens before each. A
/// token that stays on the line before it is not counted, since comments may move past it.
std::vector<std::string> substance(const TokenList& list) {
  std::vector<std::string> out;
  size_t comment = 0, counted = 0;
  for (uint32_t i = 0; i < list.tokens.size(); ++i) {
    const Token& t = list.tokens[i];
    for (; comment < list.comments.size() && list.comments[comment].begin < t.begin; ++comment) {
      const Comment& c = list.comments[comment];
      out.push_back(std::to_string(counted) + tidy_comment(list.source->text().substr(c.begin, c.end - c.begin)));
    }
    counted += !follows_line(t.type);
  }
  for (uint32_t i = 0; i < list.tokens.size(); ++i) {
    const Token& t = list.tokens[i];
    out.push_back(std::to_string(t.type) + (t.type == ids::NEWLINE ? "" : std::string(list.text(i))));
  }
  return out;
}

}  // namespace

namespace {

std::string format_once(const SourceFile& source) {
  TokenList list = resolve_newlines(source);
  assign_roles(list);
  std::string text = Formatter(list).run();
  const SourceFile result(source.name(), text);
  TokenList after = resolve_newlines(result);
  assign_roles(after);
  if (substance(list) != substance(after) || list.docs != after.docs)
    throw Error("fmt: internal error: formatting would change the program", {}, Fault::internal);
  return text;
}

}  // namespace

std::string format_source(const SourceFile& source) {
  parse_or_throw(source);
  std::string text = format_once(source);
  // After filling, a list may look as if it had been written in rows. Repeat until the result is stable, so that
  // formatting is idempotent.
  constexpr int max_passes = 4;
  for (int pass = 1; pass < max_passes; ++pass) {
    std::string again = format_once(SourceFile(source.name(), text));
    if (again == text) break;
    text = std::move(again);
  }
  return text;
}

}  // namespace pxl
