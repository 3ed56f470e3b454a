// Joining the job of a launcher (mpirun, srun), and starting one.
#pragma once

#include <string>
#include <vector>

#include "runtime/processes/watchdog.hpp"

namespace pxl {

/// Whether a launcher has started this process, as one of several or of one.
bool started_by_launcher();

class Processes;

/// Divides the threads of the pool, which does not exist yet, among the processes that share the cores of this one,
/// unless PXL_THREADS says how many there are.
void divide_cores(const Processes& job);

/// Joins the job: opens the plug-in (base/installation.hpp), and replaces processes(). `timeout`: seconds that a
/// process waits for another. From then on process 0 alone writes to the standard streams, and writes files.
/// Divides the cores. Throws Error where there is no plug-in. `end` ends the process where the start or the end of MPI
/// waits for longer.
void join_job(double timeout, Watchdog::End end);

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> hosts = {};  ///< empty: this machine
};
/// The command that starts `program` as this number of processes. Throws Error that names the package to install where
/// there is no mpirun in PATH, and for what mpirun would take for options or programs of its own.
std::vector<std::string> launch_command(const LaunchOptions& options, const std::vector<std::string>& program);

}  // namespace pxl
