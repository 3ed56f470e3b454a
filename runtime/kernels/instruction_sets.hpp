// The instruction sets for which kernels are compiled.
#pragma once

#include <array>
#include <string_view>

namespace pxl {

/// Ascending: a processor with one has those before it.
#if defined(__x86_64__)
inline constexpr std::array<std::string_view, 3> instruction_sets = {"baseline", "avx2", "avx512"};
#elif defined(__aarch64__)
inline constexpr std::array<std::string_view, 2> instruction_sets = {"baseline", "neon"};
#else
inline constexpr std::array<std::string_view, 1> instruction_sets = {"baseline"};
#endif

/// The last one that this processor has, and that PXL_ISA in the environment permits. The first kernel that is made
/// decides which one runs (block.hpp: instruction_set).
std::string_view supported_instruction_set();

}  // namespace pxl
