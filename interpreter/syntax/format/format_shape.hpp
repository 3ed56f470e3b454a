// Converts an expression's tokens, or those of a statement's head, to a document.
#pragma once

#include <unordered_map>

#include "interpreter/syntax/format/format_document.hpp"
#include "interpreter/syntax/format/format_tokens.hpp"

namespace pxl::syntax {

class FormatShaper {
 public:
  FormatShaper(const FormatTokens& tokens, Documents& documents) : tokens_(tokens), documents_(documents) {}

  /// Converts the tokens in [first, last): the head of a statement or a whole simple statement, without blocks. The
  /// caller handles comments before the first and after the last token.
  DocId statement(uint32_t first, uint32_t last);

 private:
  /// One token, or a bracket with its contents.
  struct Unit {
    uint32_t first, last;  ///< `last` is its last token
  };
  using Units = std::vector<Unit>;
  using Range = std::pair<size_t, size_t>;

  Units units(uint32_t first, uint32_t last) const;
  void shape_brackets(uint32_t first, uint32_t last);
  /// The beginnings of a level's items; one item if the level has no operator here.
  std::vector<size_t> split_at(const Units& all, Range range, int number) const;
  DocId level(const Units& all, Range range, int number);
  DocId unit(Unit u);
  DocId bracket(Unit u);
  DocId token(uint32_t i);
  DocId joined(const Units& all, Range range);
  bool splits(const Units& all, Range range, size_t i, int number) const;
  bool space_before(const Units& all, size_t i) const;
  bool written_in_rows(const Units& inside) const;
  bool at_statement_level(const Units& all) const;

  const FormatTokens& tokens_;
  Documents& documents_;
  uint32_t first_ = 0, last_ = 0;                 ///< token range of the statement
  std::unordered_map<uint32_t, DocId> brackets_;  ///< brackets in the statement, by opening token
};

}  // namespace pxl::syntax
