// The instruction sets of this architecture, and those that this processor has. Included by instruction_sets.cpp, and
// by cmake/best_set.cpp while a build is configured, so that both agree.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace pxl {

struct ProcessorSet {
  std::string_view name;
  bool (*present)();
};

inline bool always_present() { return true; }
#if defined(__x86_64__)
/// All processors with AVX2 have F16C too.
inline bool has_x86_64_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
inline bool has_x86_64_v4() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

/// Ascending: a processor with one set also has the preceding sets.

// clang-format off
inline constexpr auto processor_sets = std::to_array<ProcessorSet>({
    {"baseline", always_present},
#if defined(__x86_64__)
    {"avx2", has_x86_64_v3},
    {"avx512", has_x86_64_v4},
#elif defined(__aarch64__)
    {"neon", always_present},
#endif
});
// clang-format on

/// Number of leading list entries that this processor supports.
inline std::size_t sets_of_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  std::size_t count = 0;
  while (count < processor_sets.size() && processor_sets[count].present()) ++count;
  return count;
}

}  // namespace pxl
