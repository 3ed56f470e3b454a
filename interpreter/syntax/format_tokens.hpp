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

class FormatTokens {
 public:
  explicit FormatTokens(const TokenList& list);

  const TokenList& list;
  /// Comments on their own lines directly before a token, the comment after it on its line, and whether an empty line
  /// directly precedes the token (after those comments).
  const std::vector<FormatComment>& before(uint32_t i) const { return before_[i]; }
  const std::string& after(uint32_t i) const { return after_[i]; }
  bool blank_before(uint32_t i) const { return blank_[i]; }

  int type(uint32_t i) const { return list.tokens[i].type; }
  /// A sign, `~`, or the star of an unpacking, as opposed to a binary operator.
  bool is_prefix(uint32_t i) const;
  /// One past the end of what token i begins: a bracket with its contents, an f-string, or the token.
  uint32_t unit_end(uint32_t i) const;
  std::string_view unit_text(uint32_t i) const;
  /// Whether a space separates two adjacent tokens on one line.
  bool space_between(uint32_t a, uint32_t b) const;
  /// Tokens in [first, last) on one line.
  std::string flat(uint32_t first, uint32_t last) const;

 private:
  std::vector<std::vector<FormatComment>> before_;
  std::vector<std::string> after_;
  std::vector<bool> blank_;
};

}  // namespace pxl::syntax
