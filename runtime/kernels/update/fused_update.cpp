// See fused_update.hpp.
#include "runtime/kernels/update/fused_update.hpp"

#include <algorithm>
#include <array>

namespace pxl {
namespace {

size_t count_steps(const CompiledUpdate& update) {
  size_t count = 0;
  while (count < max_update_ops && update.steps[count].result >= 0) ++count;
  return count;
}

/// The memory of each register, as a number, if the sites are the update's steps; otherwise empty.
std::vector<int> bind(const CompiledUpdate& update, std::span<const UpdateOperands> sites) {
  std::vector<int> places(max_registers, -1);
  // Different registers are different memory: no step reads under another name what another step writes.
  const auto fits = [&](int8_t reg, int place) {
    int& bound = places[static_cast<size_t>(reg)];
    if (bound == place) return true;
    if (bound >= 0 || std::find(places.begin(), places.end(), place) != places.end()) return false;
    bound = place;
    return true;
  };
  for (size_t i = 0; i < sites.size(); ++i) {
    const UpdateLink& link = update.steps[i];
    const UpdateOperands& site = sites[i];
    if (!site.step || site.step->kind != link.kind) return {};
    for (size_t k = 0; k < site.operands.size(); ++k)
      if (!fits(link.operands[k], site.operands[k])) return {};
    if (!fits(link.result, site.result) || (link.result == CompiledUpdates::t && !site.passing)) return {};
  }
  places[CompiledUpdates::t] = -1;
  return places;
}

}  // namespace

Kernel& Kernel::set_update_op(UpdateOp step) {
  update_op_ = std::make_shared<const UpdateOp>(std::move(step));
  return *this;
}

FusedUpdateMatch match_fused_update(std::span<const UpdateOperands> sites) {
  for (int row = 0; row < CompiledUpdates::count; ++row) {
    const CompiledUpdate& update = CompiledUpdates::rows[row];
    const size_t count = count_steps(update);
    if (sites.size() < count) continue;
    std::vector<int> places = bind(update, sites.first(count));
    if (!places.empty()) return {row, count, std::move(places)};
  }
  return {};
}

}  // namespace pxl
