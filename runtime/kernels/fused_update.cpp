// See fused_update.hpp.
#include "runtime/kernels/fused_update.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/block.hpp"

namespace pxl {
namespace {

struct Link {
  UpdateOpKind kind;
  std::array<int8_t, 3> operands;  ///< registers; -1 beyond the last
  int8_t result;
};

struct FusedUpdateInfo {
  FusedUpdateKind kind;
  std::array<Link, max_update_ops> links;
  size_t count;
  int passing;  ///< the register that is never in memory; -1 for none
  void (*FusedUpdateKernels::*run)(float* const*, const float*, int64_t);
};

// Registers as the functions of block_fused_update.inc number them.
constexpr FusedUpdateInfo rows[] = {
    {FusedUpdateKind::adam,
     {{{UpdateOpKind::blend, {1, 0, -1}, 1},
       {UpdateOpKind::blend_square, {2, 0, -1}, 2},
       {UpdateOpKind::adam, {1, 2, -1}, 4},
       {UpdateOpKind::blend, {3, 4, -1}, 3}}},
     4,
     4,
     &FusedUpdateKernels::adam},
    {FusedUpdateKind::adam_decay,
     {{{UpdateOpKind::blend, {1, 0, -1}, 1},
       {UpdateOpKind::blend_square, {2, 0, -1}, 2},
       {UpdateOpKind::adam_decay, {1, 2, 3}, 4},
       {UpdateOpKind::blend, {3, 4, -1}, 3}}},
     4,
     4,
     &FusedUpdateKernels::adam_decay},
    {FusedUpdateKind::momentum,
     {{{UpdateOpKind::scale, {1, -1, -1}, 1},
       {UpdateOpKind::blend, {1, 0, -1}, 1},
       {UpdateOpKind::blend, {2, 1, -1}, 2}}},
     3,
     -1,
     &FusedUpdateKernels::momentum},
};

/// The places of the row's registers where the sites fit it, otherwise nothing.
std::vector<int> bind(const FusedUpdateInfo& row, std::span<const UpdateOperands> sites) {
  std::vector<int> places(max_registers, -1);
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
    const UpdateOperands& site = sites[i];
    if (!site.step || site.step->kind != link.kind) return {};
    for (size_t k = 0; k < site.operands.size(); ++k)
      if (!fits(link.operands[k], site.operands[k])) return {};
    if (!fits(link.result, site.result) || (link.result == row.passing && !site.passing)) return {};
  }
  if (row.passing >= 0) places[static_cast<size_t>(row.passing)] = -1;
  return places;
}

}  // namespace

Kernel& Kernel::set_update_op(UpdateOp step) {
  update_op_ = std::make_shared<const UpdateOp>(std::move(step));
  return *this;
}

FusedUpdateMatch match_fused_update(std::span<const UpdateOperands> sites) {
  for (const FusedUpdateInfo& row : rows) {
    if (sites.size() < row.count) continue;
    std::vector<int> places = bind(row, sites);
    if (!places.empty()) return {row.kind, row.count, std::move(places), bulk().updates.*row.run};
  }
  return {};
}

}  // namespace pxl
