// The name of a variable in checkpoints.
#pragma once

#include <string>

namespace pxl {

/// The name of a variable's tree, and the variable's path in it: "d" and "layers.0.weight". The prefix is empty if no
/// name is known. The path alone is a name that the variable itself was given.
struct VariablePath {
  std::string prefix, path;

  bool known() const { return !prefix.empty(); }
  std::string text() const { return path.empty() ? prefix : prefix + "." + path; }
  friend bool operator==(const VariablePath&, const VariablePath&) = default;
};

}  // namespace pxl
