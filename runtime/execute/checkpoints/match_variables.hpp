// Matches variables between a program and another program or a checkpoint: by their names in checkpoints, and else by
// the names of tensors, as old checkpoints have them, where that is unambiguous.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/variable_path.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

struct NamedVariable {
  std::string name;
  TensorSpec spec;
  VariablePath path = {};
  bool by_name_only = false;  ///< the caller has said which variable this is

  /// The name in checkpoints.
  std::string checkpoint_name() const {
    if (path.known()) return path.text();
    return path.path.empty() ? name : path.path;
  }
};

/// A name without the numbers that make it differ from others.
std::string base_name(std::string_view name);

struct VariableMatches {
  static constexpr size_t none = SIZE_MAX;
  std::vector<size_t> source;  ///< for each variable here the one there, or none
  std::vector<std::string>
      by_order;  ///< here: the order of calls alone tells them apart, as the names of both sides have it
  std::vector<std::string> undecided;  ///< "g.weight may be a.weight or b.weight": here, there
};
/// 1. The caller's choices. 2. Equal names in checkpoints. 3. Names that one variable of each side has, numbers aside,
/// except those that a checkpoint made of prefix and path. 4. A prefix
/// that only one side has, where exactly one prefix of the other side has its paths and specs. 5. Equal names, if a
/// side has no paths. The rest has no match; a variable that could have several matches is undecided.
VariableMatches match_variables(const std::vector<NamedVariable>& here, const std::vector<NamedVariable>& there);

/// Paths as JSON text for the metadata of a checkpoint, by name there, and back; a text that is no such JSON has none.
std::string paths_text(const std::vector<NamedVariable>& variables);
void read_paths(std::string_view text, std::vector<NamedVariable>& variables);

}  // namespace pxl
