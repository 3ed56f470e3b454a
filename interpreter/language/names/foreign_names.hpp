// Names of Python, NumPy, PyTorch, JAX and others that are unknown here, with what is written in their place.
#pragma once

#include <span>
#include <string_view>

namespace pxl {

struct ForeignName {
  std::string_view name;     ///< "clamp"
  std::string_view way_out;  ///< a note of the error; in backticks what the language has
  /// The replacement of the use (filled_form in written_use.hpp): a name, or a form of the whole call. The first that
  /// fits is taken, if `|` separates several. `.` removes the name and its dot. Empty: the text does not say.
  std::string_view edit = {};
};
struct ForeignMember {
  std::string_view type;  ///< type_name() of the value; empty for any
  ForeignName row;
};
std::span<const ForeignName> foreign_names();
/// Methods of tensors and modules that are unknown here.
std::span<const ForeignName> foreign_methods();

/// Whether a name is a module of another framework, whose members are visible here by their names.
bool is_framework(std::string_view name);
/// The row for a path such as "json.loads", a name, or a member of a value; null if there is none.
const ForeignName* foreign_path(std::string_view path);
const ForeignName* foreign_name(std::string_view name);
const ForeignName* foreign_member(std::string_view name, std::string_view type);

}  // namespace pxl
