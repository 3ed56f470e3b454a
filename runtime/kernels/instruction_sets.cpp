#include "runtime/kernels/instruction_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "built_sets.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/kernels/kernel_variants.hpp"
#include "runtime/kernels/processor_sets.hpp"

namespace pxl {
namespace {

#define PXL_SET_NAME(set, ...) #set,
constexpr std::string_view built[] = {PXL_BUILT_SETS(PXL_SET_NAME, )};
#undef PXL_SET_NAME

/// Number of leading sets that PXL_ISA permits on this architecture.
size_t permitted_sets() {
  const std::string asked = setting(Setting::isa);
  if (asked.empty()) return processor_sets.size();
  if (std::find(std::begin(built), std::end(built), asked) == std::end(built))
    throw Error(fmt::format("PXL_ISA: no kernels were built for the instruction set `{}`", asked),
                {"there are " + join_texts(built)}, Fault::usage);
  return set_number(asked) + 1;
}

}  // namespace

size_t set_number(std::string_view set) {
  const auto named = [&](const ProcessorSet& p) { return p.name == set; };
  return static_cast<size_t>(std::find_if(processor_sets.begin(), processor_sets.end(), named) -
                             processor_sets.begin());
}

std::span<const std::string_view> instruction_sets() { return built; }

std::vector<std::string_view> usable_of(std::span<const std::string_view> sets, size_t count) {
  std::vector<std::string_view> usable;
  for (std::string_view set : sets)
    if (set_number(set) < count) usable.push_back(set);
  if (usable.empty())
    throw Error(fmt::format("this pxl has kernels for {} alone, which this processor lacks", join_texts(sets)),
                {"`scripts/pxl` builds pxl again, for this processor",
                 "a build with -DPXL_INSTRUCTION_SETS=all runs on every processor"},
                Fault::usage);
  return usable;
}

std::vector<std::string_view> usable_instruction_sets() {
  return usable_of(built, std::min(sets_of_processor(), permitted_sets()));
}

std::string_view supported_instruction_set() { return usable_instruction_sets().back(); }

}  // namespace pxl
