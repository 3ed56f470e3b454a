// Finds the parts of pxl, in a build tree and in an installation at any prefix.
#pragma once

#include <string>
#include <string_view>

namespace pxl {

/// The file of this program, symbolic links resolved; empty if the system does not tell.
std::string own_program();

/// The path of a part that a program of pxl opens or starts by itself ("pxl-mpi.so", "pxl-kernel"). A build tree has
/// the part beside the program. An installation has it in the private library folder, at a place relative to the
/// program that is fixed when pxl is configured (cmake/install.cmake). The path beside the program if neither exists.
std::string companion_file(std::string_view name);

}  // namespace pxl
