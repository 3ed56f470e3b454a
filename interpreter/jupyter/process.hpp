// The process of the kernel: `pxl kernel -f FILE` becomes this process, so that the pxl command loads no network
// libraries.
#pragma once

namespace pxl::jupyter {

/// The kernel's main function: serves the connection whose file follows `-f`. Returns the exit status.
int run_process(int argc, char** argv);

}  // namespace pxl::jupyter
