// The page of `pxl graph -o FILE.html`: a program's graphs, folded by modules and calls, which the reader can open,
// search and move.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpreter/tools/module_view.hpp"
#include "interpreter/tools/pass_stages.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tiles/report/report.hpp"

namespace pxl {

struct GraphPageFile {
  std::string_view name;  ///< "draw.js"
  std::string_view text;
};
/// The page's own files, and the layout library with its licence. The binary embeds them.
std::span<const GraphPageFile> graph_page_files();

/// Values of variables, such as those of a checkpoint. Other variables have their initial values, if these are known.
using GivenWeights = std::unordered_map<const Tensor*, Array>;

/// The page's data as JSON: programs with their graphs, each class of equal graphs once, and the sources that define
/// ops. `<` is escaped, so that a script element may contain the text. `reports`, one per program or empty, give each
/// op its plan on tiles. `passes`, one per program or empty, are those of its main graph.
std::string graph_data(const std::vector<const Ir*>& programs, const Graph* first = nullptr,
                       std::span<const tiles::Report> reports = {}, std::span<const std::vector<PassStage>> passes = {},
                       const GivenWeights& given = {});
/// A self-contained page, which loads nothing. The page begins with the main graph, or with `first`.
std::string graph_page(const std::vector<const Ir*>& programs, const Graph* first = nullptr,
                       std::span<const tiles::Report> reports = {}, std::span<const std::vector<PassStage>> passes = {},
                       const GivenWeights& given = {});
/// A page of the modules that texts declare, one picture for each.
std::string module_page(const std::vector<std::pair<std::string, ModulePicture>>& pictures);
/// The source texts that define the programs' ops, by name.
std::map<std::string, std::string> source_texts(const std::vector<const Ir*>& programs);

}  // namespace pxl
