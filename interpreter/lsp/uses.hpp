// All uses of a declaration: in its file, in the files that import it, and where a value has it as a member, a keyword
// or a key. A place whose meaning depends on values that the text does not determine is a doubt.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "interpreter/lsp/meaning.hpp"

namespace pxl::lsp {

/// The declaration that the word at a cursor names, and the word; imports under their own name lead to the file that
/// declares the name.
struct Target {
  Declared declared;
  Span word;
};
std::optional<Target> target_at(Meanings& meanings, const Document& d, size_t cursor);

struct Uses {
  struct Place {
    Span span;
    bool binding = false;
    bool import = false;  ///< the word of an import without `as`, which declares the target
  };
  /// In order of position, by path. No two places are equal.
  std::map<const Document*, std::vector<Place>> places;
  struct Doubt {
    const Document* file;
    Span span;
  };
  std::vector<Doubt> doubts;
  std::vector<const Document*> broken;  ///< files with syntax errors, which may use the name
  bool all = true;                      ///< false if there are more files than a request reads
};
/// In all files that values can pass between, or in `only` one.
Uses uses_of(Meanings& meanings, Declared target, const Document* only = nullptr);

}  // namespace pxl::lsp
