// Edits that mend diagnostics: those that their messages imply, and their application to a text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

/// Adds a fix to each diagnostic without one whose words imply it: "did you mean `x`?", an import from the library, the
/// call of a habit (habits.hpp).
void add_implied_fixes(std::vector<Diagnostic>& found);

/// The text of a file with the first fix of each diagnostic; a fix that overlaps an earlier one is left out. Nullopt if
/// there is no fix. `made` gets their titles.
std::optional<std::string> fixed_text(const SourceFile& source, const std::vector<Diagnostic>& found,
                                      std::vector<std::string>* made = nullptr);

/// The place for an import: a new line before the first statement and its documentation comment.
uint32_t place_of_imports(const SourceFile& source);
/// The edit that imports a name from the library: "from nn import Linear".
Edit import_edit(const SourceFile& source, const std::string& import);

}  // namespace pxl
