// Words and symbols of other languages that pxl spells otherwise: two tables, with the message, the remedy and the
// edit.
#pragma once

#include <string_view>

#include "interpreter/syntax/tokens.hpp"

namespace pxl::syntax {

struct ForeignWord {
  std::string_view word, message, way_out;
  /// Adds the fix; null if the text does not say what to write.
  void (*mend)(const TokenList& list, uint32_t at, Diagnostic& d) = nullptr;
};

/// A reserved word or symbol that pxl does not use; null if there is none.
const ForeignWord* foreign_symbol(std::string_view word);
/// An ordinary name that begins a statement in other languages; null if there is none.
const ForeignWord* foreign_starter(std::string_view word);

}  // namespace pxl::syntax
