// Models programs for `pxl profile`: those for which a script creates sessions, with the options of a command line.
#pragma once

#include <string>
#include <vector>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/profiles/script_words.hpp"
#include "runtime/tiles/estimate.hpp"
#include "runtime/tiles/machine/system.hpp"
#include "runtime/tiles/report/report_json.hpp"

namespace pxl::cli {

constexpr Flag machine_flag{
    "--machine", "NAME,KEY=VALUE,...",
    "a machine of the model (bow), or a description ./my.machine, with changed constants: mk2,tiles=736", "",
    machine_words};
constexpr Flag proportion_flag{"--available-memory-proportion", "P",
                               "of a tile's memory for temporaries, 0 to 1: 0.6, or for some ops MatMul=0.2"};
constexpr Flag partials_flag{"--partials", "float16|float32", "dtype of partial sums of float16 matrix products"};
constexpr Flag plans_flag{
    "--plans", "gather,shift",
    "families of plans of matrix products; compares both if both are named; or separately: each op's own best plan"};
/// The values of these flags. Throws a usage Error.
tiles::EstimateOptions estimate_options_of(const Invocation& call);

/// The value of an option on a script's command line; else `value`, its default as written.
std::string value_of_option(const Script& script, const std::string& name, std::string value);

/// Costs of programs on several IPUs, or with replicas.
struct Systems {
  tiles::Links links;
  bool all = false;  ///< include programs on one IPU
  std::vector<tiles::SystemCost> costs;
};

struct ProfileRequest {
  Invocation call;                    ///< --program selects a program, or builds it; --run evaluates the script
  bool answers = false;               ///< try remedies for programs that do not fit, and float16 partial sums
  bool quiet = false;                 ///< print nothing about programs that were not built
  tiles::PageExtras* page = nullptr;  ///< gets the page of the graphs and the texts of the programs
  Systems* systems = nullptr;         ///< gets the costs of programs on several IPUs
};

/// Evaluates a script without running it, and models each program for which the script creates a session, or the one
/// that --program builds. Throws the errors of the script, a usage Error if no program has the name, and an Error if
/// there is no program.
std::vector<tiles::Report> profile_script(const CommonFlags& common, const Script& script,
                                          const ProfileRequest& request, const tiles::EstimateOptions& estimating);

}  // namespace pxl::cli
