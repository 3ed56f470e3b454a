// Lints: warnings about code that runs and probably does not do what is meant. Each has a kind, which can be turned
// off.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

inline constexpr std::string_view unused_import = "unused-import", unused_variable = "unused-variable",
                                  unused_value = "unused-value", unreachable = "unreachable",
                                  redefinition = "redefinition", unloaded_stream = "unloaded-stream",
                                  unread_param = "unread-param", softmax_twice = "softmax-twice",
                                  shadowed_builtin = "shadowed-builtin", untrained_variable = "untrained-variable",
                                  unwritten_state = "unwritten-state", fixed_seed = "fixed-seed";

struct LintKind {
  std::string_view kind;  ///< "unused-import"
  std::string_view doc;   ///< one line
};
/// All kinds, in the order of docs/errors.md.
std::span<const LintKind> lint_kinds();

/// Warnings about a file: from its tree, from the programs built of it, and from the look that built them.
/// `prelude` has the language's functions. `off` has kinds that are not wanted; a comment `# allow: KIND, KIND` of the
/// text adds to them.
std::vector<Diagnostic> lints(const ast::Tree& tree, const Scope& prelude, const std::vector<std::shared_ptr<Ir>>& irs,
                              std::vector<Diagnostic> warnings, const std::set<std::string, std::less<>>& off = {});

/// Errors about the value none get the places where functions lose their last value, and the edit.
void relate_missing_returns(std::vector<Diagnostic>& errors, const std::vector<Diagnostic>& warnings);

}  // namespace pxl
