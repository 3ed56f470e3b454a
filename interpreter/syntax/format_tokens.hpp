// What the formatter knows of single tokens: their comments, the empty lines above them, the space between two.
#pragma once

#include <string>
#include <vector>

#include "interpreter/syntax/tokens.hpp"

namespace pxl::syntax {

struct FormatComment {
  std::string text;           ///< with a space after the `#`, none at its end
  bool blank_before = false;  ///< an empty line stands above it
};

class FormatTokens {
 public:
  explicit FormatTokens(const TokenList& list);

  const TokenList& list;
  /// Comments on lines of their own right before a token, the one behind it on its line, and whether an empty line
  /// stands right above the token (below those comments).
  const std::vector<FormatComment>& before(uint32_t i) const { return before_[i]; }
  const std::string& after(uint32_t i) const { return after_[i]; }
  bool blank_before(uint32_t i) const { return blank_[i]; }

  int type(uint32_t i) const { return list.tokens[i].type; }
  /// A sign, `~`, or the star of a spread, as opposed to a binary operator.
  bool is_prefix(uint32_t i) const;
  /// One past the end of what begins with token i: a bracket with all that it holds, an f-string, or the token.
  uint32_t unit_end(uint32_t i) const;
  std::string_view unit_text(uint32_t i) const;
  /// Whether a space stands between two neighbouring tokens on one line.
  bool space_between(uint32_t a, uint32_t b) const;
  /// Tokens from first to before last on one line.
  std::string flat(uint32_t first, uint32_t last) const;

 private:
  std::vector<std::vector<FormatComment>> before_;
  std::vector<std::string> after_;
  std::vector<bool> blank_;
};

}  // namespace pxl::syntax
