// Parse tree and syntax errors without ANTLR's types and without messages. parser.cpp produces them from a TokenList.
#pragma once

#include <deque>
#include <vector>

#include "interpreter/syntax/tokens.hpp"

namespace pxl::syntax {

/// A rule with its parts, or a token. Parts are a linked list in order.
struct Node {
  int id = 0;  ///< rule index, or token type
  bool is_token = false;
  uint32_t first = 0, last = 0;  ///< indices of its first and last tokens
  const Node* child = nullptr;
  const Node* next = nullptr;

  bool is_rule(int rule) const { return !is_token && id == rule; }
  bool is(int type) const { return is_token && id == type; }
  /// The next part of this rule, from this node's children or after `from`.
  const Node* rule(int rule, const Node* from = nullptr) const;
  const Node* token(int type, const Node* from = nullptr) const;
};

struct SyntaxError {
  uint32_t token = 0;             ///< the unexpected token
  uint32_t statement = no_token;  ///< the beginning of the innermost statement
  std::vector<int> expected;      ///< expected token types
};

struct ParseTree {
  std::deque<Node> nodes;
  const Node* root = nullptr;
  std::vector<SyntaxError> errors;  ///< the tree is valid only if there are no errors
};

ParseTree parse_tokens(const TokenList& list);

}  // namespace pxl::syntax
