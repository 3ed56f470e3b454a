// Models programs for `pxl profile`: those for which a script creates sessions, with the options of a command line.
#pragma once

#include <string>
#include <vector>

#include "interpreter/cli/command.hpp"
#include "interpreter/syntax/ast.hpp"
#include "runtime/tiles/estimate.hpp"
#include "runtime/tiles/report_json.hpp"
#include "runtime/tiles/system.hpp"

namespace pxl::cli {

/// A script, its text, and its options.
struct ProfiledScript {
  std::string file;
  ast::TreePtr tree;
  std::vector<std::string> options;
};

/// Costs of programs on several IPUs, or with replicas.
struct Systems {
  tiles::Links links;
  bool all = false;  ///< include programs on one IPU
  std::vector<tiles::SystemCost> costs;
};

struct ProfileRequest {
  std::string program;                ///< only the program of this name; empty: all
  bool answers = false;               ///< try remedies for programs that do not fit, and float16 partial sums
  bool quiet = false;                 ///< print nothing about programs that were not built
  tiles::PageExtras* page = nullptr;  ///< gets the page of the graphs and the texts of the programs
  Systems* systems = nullptr;         ///< gets the costs of programs on several IPUs
};

/// Evaluates a script without running it, and models each program for which the script creates a session. Throws the
/// errors of the script, and a usage Error if no program has the name.
std::vector<tiles::Report> profile_script(const CommonFlags& common, const ProfiledScript& script,
                                          const ProfileRequest& request, const tiles::EstimateOptions& estimating);

}  // namespace pxl::cli
