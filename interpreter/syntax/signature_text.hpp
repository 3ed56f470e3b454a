// Formats signatures for help, completion and editors.
#pragma once

#include <string>
#include <string_view>

#include "interpreter/syntax/ast.hpp"

namespace pxl {

/// Formats program text on one line.
std::string one_line(std::string_view text);
/// "(x: float, *, eps: float = 1e-5)"
std::string parameters_text(const std::vector<ast::Parameter>& parameters);
/// " -> float32[n], int32[n]"; empty if the function declares no results.
std::string results_text(const ast::Function& f);

}  // namespace pxl
