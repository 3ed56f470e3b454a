// The parse tree without ANTLR, and the syntax errors without words: what parser.cpp makes of a TokenList.
#pragma once

#include <deque>
#include <vector>

#include "interpreter/syntax/tokens.hpp"

namespace pxl::syntax {

/// A rule with its parts, or a token. Parts are linked in order.
struct Node {
  int id = 0;  ///< rule index, or token type
  bool is_token = false;
  uint32_t first = 0, last = 0;  ///< indexes of its tokens
  const Node* child = nullptr;
  const Node* next = nullptr;

  bool is_rule(int rule) const { return !is_token && id == rule; }
  bool is(int type) const { return is_token && id == type; }
  /// The next part that is this rule, from this node's children or after `from`.
  const Node* rule(int rule, const Node* from = nullptr) const;
  const Node* token(int type, const Node* from = nullptr) const;
};

struct SyntaxError {
  uint32_t token = 0;             ///< the one that does not fit
  uint32_t statement = no_token;  ///< where the innermost statement begins
  std::vector<int> expected;      ///< token types
};

struct ParseTree {
  std::deque<Node> nodes;
  const Node* root = nullptr;
  std::vector<SyntaxError> errors;  ///< the tree is to be used only where there are none
};

ParseTree parse_tokens(const TokenList& list);

}  // namespace pxl::syntax
