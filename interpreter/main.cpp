// The pxl command: dispatch only.
#include "interpreter/cli/command.hpp"

int main(int argc, char** argv) { return pxl::cli::run_command_line({argv + 1, argv + argc}); }
