// The kernel's process: `pxl kernel -f FILE` becomes it, so that the pxl command itself loads no network libraries.
#pragma once

namespace pxl::jupyter {

/// What the program's main does: serves the connection of the file that follows `-f`. Gives the exit status.
int run_process(int argc, char** argv);

}  // namespace pxl::jupyter
