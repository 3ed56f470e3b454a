// Where the parts of pxl are, in a build tree and in an installation at any prefix.
#pragma once

#include <string>
#include <string_view>

namespace pxl {

/// The file of this program, symbolic links resolved; empty if the system does not tell.
std::string own_program();

/// The path of a part that a program of pxl opens or starts by itself ("pxl-mpi.so", "pxl-kernel"). Build trees have it
/// beside the program, installations in the private library folder, whose place relative to the program is fixed when
/// pxl is configured (cmake/install.cmake). The path beside the program if neither exists.
std::string companion_file(std::string_view name);

}  // namespace pxl
