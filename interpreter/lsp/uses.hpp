// Finds all uses of a declaration: names in its file and in importing files, and members, keywords and keys of values.
// If the meaning of a place depends on values that the text does not determine, the place is a doubt.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "interpreter/lsp/meaning.hpp"

namespace pxl::lsp {

/// The declaration that the word at a cursor names, and the word. An import without `as` leads to the file that
/// declares the name.
struct Target {
  Declared declared;
  Span word;
};
std::optional<Target> target_at(Meanings& meanings, const Document& d, size_t cursor);

/// The order of paths. Addresses would give another order in each process.
struct DocumentOrder {
  bool operator()(const Document* a, const Document* b) const {
    return a->path() != b->path() ? a->path() < b->path() : a < b;
  }
};

struct Uses {
  struct Place {
    Span span;
    bool binding = false;
    bool import = false;  ///< the word of an import without `as`, which declares the target
  };
  /// The places in each file, in order of position. No two places are equal.
  std::map<const Document*, std::vector<Place>, DocumentOrder> places;
  struct Doubt {
    const Document* file;
    Span span;
  };
  std::vector<Doubt> doubts;
  std::vector<const Document*> broken;  ///< files with syntax errors, which may use the name
  bool all = true;                      ///< false if there are more files than a request reads
};
/// Searches all files between which values can pass, or `only` one file.
Uses uses_of(Meanings& meanings, Declared target, const Document* only = nullptr);

}  // namespace pxl::lsp
