// Newline resolution, from raw tokens to a TokenList: which newlines end a statement, which braces are blocks, which
// brackets are unbalanced. docs/language.md ("Text") has the rules.
#pragma once

#include <optional>

#include "interpreter/syntax/raw_lexer.hpp"
#include "interpreter/syntax/tokens.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl::syntax {

class NewlineResolver {
 public:
  NewlineResolver(const SourceFile& source, int64_t token_ns);
  TokenList run();

 private:
  enum Kind : uint8_t { parenthesis, bracket, dict, block, interpolation, fstring };
  struct Open {
    Kind kind;
    uint32_t token;
    bool in_format = false;
  };

  void visible(RawToken raw);
  bool special(RawToken raw);
  void place_newline(int next_type);
  void comment(RawToken raw);
  void newline(RawToken raw);
  void open(RawToken raw, int type, Kind kind);
  void close(RawToken raw);
  void close_mismatched(RawToken raw, Kind wanted);
  void broken_string(RawToken raw);
  void broken_fstring(RawToken raw);
  void doubled(RawToken raw);
  void end(RawToken raw);

  uint32_t push(int type, uint32_t begin, uint32_t end);
  void pop(uint32_t begin, uint32_t end, bool synthetic);
  void unwind(size_t size, uint32_t at);
  bool opens_block() const;
  /// Whether a token begins a statement.
  bool starts_line(size_t token) const;
  /// Whether the next token is where a `catch` names a kind.
  bool in_catch_head() const;
  /// Whether a line begins a statement, though a bracket above it is open: it follows a whole value, and is indented no
  /// more than the statement of the bracket.
  bool leaves_bracket(RawToken raw) const;
  /// Notes a `}` at the beginning of a line that is indented otherwise than the line of its `{`.
  void compare_indentation(const Open& o, uint32_t closer);
  /// The `{` that is not closed, by indentation, of those that are open at the end.
  Open unclosed_block() const;
  bool starts_statement(RawToken raw) const;
  int previous() const { return out_.tokens.empty() ? ids::NEWLINE : out_.tokens.back().type; }
  bool at_block_level() const { return stack_.empty() || stack_.back().kind == block; }
  void problem(std::string message, uint32_t begin, uint32_t end, std::vector<std::string> notes = {},
               std::string_view code = codes::syntax);
  void unclosed(const Open& o, std::vector<std::string> notes = {});
  std::string_view text(RawToken raw) const { return source_.text().substr(raw.begin, raw.end - raw.begin); }

  const SourceFile& source_;
  RawLexer lexer_;
  int64_t token_ns_;
  TokenList out_;
  std::vector<Open> stack_;
  bool first_on_line_ = true;
  bool too_deep_ = false;
  bool pending_ = false;  ///< a newline whose meaning depends on the next token
  uint32_t pending_at_ = 0;
  int line_ = 1;
  std::string doc_;
  bool has_doc_ = false;
  /// The first `{` whose `}` is indented less than its line, and the first `}` that is indented more than that of its
  /// `{`: where a brace is missing, or one is too many.
  struct Indented {
    Open opening;
    uint32_t closer;
  };
  std::optional<Indented> closed_below_, closed_above_;
  bool after_arrow_ =
      false;          ///< whether the last `{` that was not closed came after `=>`, as a block of other languages
  int doc_line_ = 0;  ///< end of the last comment line, if the doc comment is still attached
};

}  // namespace pxl::syntax
