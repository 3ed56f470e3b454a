// `pxl schedule --machine`: how the ops of programs are divided over the tiles of a machine, as text.
#pragma once

#include "interpreter/cli/profiles/profile_reports.hpp"
#include "interpreter/cli/program.hpp"

namespace pxl::cli {

constexpr Flag from_flag{"--from", "CUTS", "take the cuts of a file; one that does not match or fit is an error"};
constexpr Flag start_flag{"--start", "CUTS",
                          "take the cuts of another run where names and shapes match; search the others"};
constexpr Flag compare_flag{"--compare", "", "with --from or --start: the plan beside the one that the search finds"};
constexpr Flag execute_flag{"--execute", "", "run the script with its sessions on these tiles"};

/// Whether a flag asks for the schedule on tiles.
bool is_on_tiles(const Invocation& call);
/// Prints, compares or executes the schedules on tiles of a script's programs. Returns the exit status.
int run_on_tiles(const CommonFlags& common, const Script& script, const Invocation& call, const Programs& programs,
                 bool json);

}  // namespace pxl::cli
