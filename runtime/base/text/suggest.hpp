// "did you mean": the nearest of a set of names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pxl {

/// The candidate nearest to `name` by edit distance (transpositions count one), if it is plausible as a typing error.
/// The distance must be at most a third of the length, at least one. If there is none, the candidate that contains
/// `name`, or is contained in it, as whole words (`hidden` and `hidden_size`), with the fewest further letters. Ties go
/// to the earlier candidate.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean `x`?" or an empty string.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// The x of a message that holds "did you mean `x`?".
std::optional<std::string> meant_name(std::string_view message);

}  // namespace pxl
