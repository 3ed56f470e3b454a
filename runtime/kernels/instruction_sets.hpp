// The instruction sets for which kernels are compiled: some or all of the architecture's (PXL_INSTRUCTION_SETS of
// cmake/kernels.cmake).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace pxl {

/// The sets that were built, ascending.
std::span<const std::string_view> instruction_sets();

/// The sets of `built` below the number `count` of the architecture's sets. Throws Error if there are none.
std::vector<std::string_view> usable_of(std::span<const std::string_view> built, size_t count);

/// The built sets that this processor has and PXL_ISA in the environment permits, ascending. Throws Error if there are
/// none, or if PXL_ISA names a set that was not built.
std::vector<std::string_view> usable_instruction_sets();

/// The last usable set. It is fixed when the first kernel is made (block.hpp: instruction_set).
std::string_view supported_instruction_set();

}  // namespace pxl
