// Additions to errors about unknown names and members: where the name is, its replacement, and the edit that writes the
// replacement, in the user's own words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

/// `known` are the names that are visible at the place. A diagnostic without a place gets notes only.
void explain_unknown_name(Diagnostic& d, std::string_view name, const std::vector<std::string>& known);

/// A member that a value lacks. `is_function` says whether a function of that name is visible.
void explain_unknown_member(Diagnostic& d, const Value& base, const std::string& name, bool is_function);

/// A name that an imported module lacks, and the library or the file has elsewhere.
void explain_unknown_import(Diagnostic& d, const std::string& module, const std::string& name);

/// `"%s: %d" % (name, count)` as an f-string; empty if the text is no such expression.
std::string percent_as_fstring(std::string_view expression);

}  // namespace pxl
