// Names of Python, NumPy and PyTorch that are unknown here, with what is written in their place.
#pragma once

#include <span>
#include <string_view>

namespace pxl {

struct ForeignName {
  std::string_view name;     ///< "clamp"
  std::string_view way_out;  ///< a note of the error; in backticks what the language has
};
std::span<const ForeignName> foreign_names();
/// The way out of an unknown name of the table; empty for others.
std::string_view way_out_of(std::string_view name);

/// Methods of tensors and modules that are unknown here.
std::span<const ForeignName> foreign_methods();
/// The way out of an unknown method: of those, or of the names. Empty for others.
std::string_view way_out_of_method(std::string_view name);

}  // namespace pxl
