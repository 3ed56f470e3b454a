// Line-based text differences.
#pragma once

#include <string>
#include <string_view>

namespace pxl::cli {

/// Returns a unified diff with three lines of context, empty for equal texts. Uses the greedy algorithm of E. Myers,
/// "An O(ND) difference algorithm and its variations" (1986); texts that differ in more than a few thousand lines are
/// shown as one replacement.
std::string unified_diff(std::string_view before, std::string_view after, const std::string& before_name,
                         const std::string& after_name);
/// A unified diff with ANSI colours: bold headings, cyan positions, red for removed lines and green for added lines.
std::string coloured_diff(std::string_view diff);

}  // namespace pxl::cli
