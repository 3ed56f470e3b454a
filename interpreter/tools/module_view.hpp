// The modules that a text declares, and which of them each one uses: the picture of a file that builds no program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/graph_view.hpp"

namespace pxl {

struct ModuleBox {
  std::string title;                                         ///< "Linear(out: int)"; "nn.Linear" if it is imported
  std::vector<std::pair<std::string, std::string>> members;  ///< params, then build: "weight", "float32[in, out]"
  Span at;                                                   ///< null for an imported module
};
struct ModuleUse {
  size_t user, used;   ///< boxes
  std::string member;  ///< of the user; empty if the use has no name
};
struct ModulePicture {
  std::vector<ModuleBox> boxes;
  std::vector<ModuleUse> uses;
};

/// The modules of a text in its order, then imported ones that they make. Empty if the text declares none.
ModulePicture modules_of(const ast::Tree& tree);
/// The same as a graph to draw.
DrawnGraph view_of(const ModulePicture& picture, const std::string& title);

}  // namespace pxl
