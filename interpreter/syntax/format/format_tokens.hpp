// Properties of single tokens for the formatter: their comments, preceding empty lines, and spacing.
#pragma once

#include <string>
#include <vector>

#include "interpreter/syntax/tokens.hpp"

namespace pxl::syntax {

struct FormatComment {
  std::string text;           ///< with a space after the `#`, without trailing space
  bool blank_before = false;  ///< preceded by an empty line
};

/// Normalises a comment: one space after its marks, no spaces at its end.
std::string tidy_comment(std::string_view text);

/// Whether the token is printed on the line of the token before it: commas, and the `{` of a block. Comments before
/// such a token are moved after it.
bool follows_line(int type);

class FormatTokens {
 public:
  explicit FormatTokens(const TokenList& list);

  const TokenList& list;
  /// The comments between two tokens, in order. The first token has at most one on its line. The others are on lines of
  /// their own before the second token.
  const std::vector<FormatComment>& before(uint32_t i) const { return before_[i]; }
  const std::string& after(uint32_t i) const { return after_[i]; }
  /// Whether an empty line directly precedes the token, after its comments.
  bool blank_before(uint32_t i) const { return blank_[i]; }

  int type(uint32_t i) const { return list.tokens[i].type; }
  /// Whether the token is a sign, `~`, or the star of an unpacking, rather than a binary operator.
  bool is_prefix(uint32_t i) const;
  /// The index after the unit that token i begins: a bracket with its contents, an f-string, or the token.
  uint32_t unit_end(uint32_t i) const;
  std::string_view unit_text(uint32_t i) const;
  /// Whether token i is a trailing comma that puts each item of its bracket on its own line. The comma in `(1,)` or
  /// `x[1,]` makes a tuple instead.
  bool puts_items_on_lines(uint32_t i) const;
  /// Whether a space separates two adjacent tokens on one line.
  bool space_between(uint32_t a, uint32_t b) const;
  /// Prints the tokens in [first, last) on one line.
  std::string flat(uint32_t first, uint32_t last) const;

 private:
  std::vector<std::vector<FormatComment>> before_;
  std::vector<std::string> after_;
  std::vector<bool> blank_;
};

}  // namespace pxl::syntax
