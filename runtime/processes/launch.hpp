// Joining the job of a launcher (mpirun, srun), and starting one.
#pragma once

#include <string>
#include <vector>

#include "runtime/processes/watchdog.hpp"

namespace pxl {

/// Whether a launcher has started this process, alone or with other processes.
bool started_by_launcher();

class Processes;

/// Divides the threads of the pool among the processes that share the cores of this one. The pool does not exist yet.
/// PXL_THREADS overrides the division.
void divide_cores(const Processes& job);

/// Joins the job: opens the plug-in (base/files/installation.hpp), and replaces processes(). `timeout`: seconds that a
/// process waits for another. After this call only process 0 writes to the standard streams and writes files. Divides
/// the cores. Throws Error if there is no plug-in. `end` ends the process if the start or the end of MPI waits for
/// longer.
void join_job(double timeout, Watchdog::End end);

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> hosts = {};  ///< empty: this machine
};
/// The command that starts `program` as this number of processes. Throws Error if there is no mpirun in PATH; the error
/// names the package to install. Throws Error if mpirun would take an argument for an option or a program of its own.
std::vector<std::string> launch_command(const LaunchOptions& options, const std::vector<std::string>& program);

}  // namespace pxl
