// Descriptions of machines. In: text. Out: constants. A line is `KEY = VALUE UNIT [SOURCE]`; docs/ipu-model.md has the
// format.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/tiles/machine/machine.hpp"

namespace pxl::tiles {

/// A description that is embedded in the binary (runtime/tiles/machines).
struct MachineFile {
  std::string_view name;  ///< "bow"
  std::string_view text;
};
std::span<const MachineFile> machine_files();

/// Reads a description, after the description that it extends: a built-in name, or a path relative to the folder of
/// `name`. The machine's name is the file's without folder and suffix. Throws an Error with the place of the invalid
/// line.
Machine read_machine(const std::string& name, std::string_view text);
/// The same for a regular file. Throws an Error of the kind `file` if it cannot be read, and Unevaluated in looks.
Machine read_machine_file(const std::string& path);

/// Limits `executable` and `runtime_bytes` to `memory`. Returns the problem, such as "mesh_columns needs link_bytes",
/// or an empty text.
std::string complete_machine(Machine& machine);

}  // namespace pxl::tiles
