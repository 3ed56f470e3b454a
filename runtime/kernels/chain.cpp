// See chain.hpp.
#include "runtime/kernels/chain.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/block.hpp"

namespace pxl {
namespace {

struct Link {
  StepKind kind;
  std::array<int8_t, 3> operands;  ///< registers; -1 beyond the last
  int8_t result;
};

struct Row {
  ChainKind kind;
  std::array<Link, most_steps> links;
  size_t count;
  int passing;  ///< the register that is never in memory; -1 for none
  void (*UpdateChains::*run)(float* const*, const float*, int64_t);
};

// Registers as the functions of block_chain.inc number them.
constexpr Row rows[] = {
    {ChainKind::adam,
     {{{StepKind::blend, {1, 0, -1}, 1},
       {StepKind::blend_square, {2, 0, -1}, 2},
       {StepKind::adam, {1, 2, -1}, 4},
       {StepKind::blend, {3, 4, -1}, 3}}},
     4,
     4,
     &UpdateChains::adam},
    {ChainKind::adam_decay,
     {{{StepKind::blend, {1, 0, -1}, 1},
       {StepKind::blend_square, {2, 0, -1}, 2},
       {StepKind::adam_decay, {1, 2, 3}, 4},
       {StepKind::blend, {3, 4, -1}, 3}}},
     4,
     4,
     &UpdateChains::adam_decay},
    {ChainKind::momentum,
     {{{StepKind::scale, {1, -1, -1}, 1}, {StepKind::blend, {1, 0, -1}, 1}, {StepKind::blend, {2, 1, -1}, 2}}},
     3,
     -1,
     &UpdateChains::momentum},
};

/// The places of the row's registers where the sites fit it, otherwise nothing.
std::vector<int> bind(const Row& row, std::span<const StepSite> sites) {
  std::vector<int> places(most_registers, -1);
  // Different registers are different places: what one step writes no other one reads under another name.
  const auto fits = [&](int8_t reg, int place) {
    int& bound = places[static_cast<size_t>(reg)];
    if (bound == place) return true;
    if (bound >= 0 || std::find(places.begin(), places.end(), place) != places.end()) return false;
    bound = place;
    return true;
  };
  for (size_t i = 0; i < row.count; ++i) {
    const Link& link = row.links[i];
    const StepSite& site = sites[i];
    if (!site.step || site.step->kind != link.kind) return {};
    for (size_t k = 0; k < site.operands.size(); ++k)
      if (!fits(link.operands[k], site.operands[k])) return {};
    if (!fits(link.result, site.result) || (link.result == row.passing && !site.passing)) return {};
  }
  if (row.passing >= 0) places[static_cast<size_t>(row.passing)] = -1;
  return places;
}

}  // namespace

Kernel& Kernel::computes(Step step) {
  step_ = std::make_shared<const Step>(std::move(step));
  return *this;
}

ChainMatch match_chain(std::span<const StepSite> sites) {
  for (const Row& row : rows) {
    if (sites.size() < row.count) continue;
    std::vector<int> places = bind(row, sites);
    if (!places.empty()) return {row.kind, row.count, std::move(places), bulk().chains.*row.run};
  }
  return {};
}

}  // namespace pxl
