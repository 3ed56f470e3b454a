// The instruction sets for which kernels are compiled: some or all of the architecture's (PXL_INSTRUCTION_SETS of
// cmake/kernels.cmake).
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace pxl {

/// Those that were built, ascending. The first is "baseline".
std::span<const std::string_view> instruction_sets();

/// Those of them that this processor has and PXL_ISA in the environment permits, ascending. Throws Error if PXL_ISA
/// names one that was not built.
std::vector<std::string_view> usable_instruction_sets();

/// The last of these. The first kernel that is made decides which one runs (block.hpp: instruction_set).
std::string_view supported_instruction_set();

}  // namespace pxl
