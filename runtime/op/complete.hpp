// The check that an op's row has all columns that its kind requires, evaluated at compile time.
#pragma once

#include "runtime/op/op.hpp"

namespace pxl {

constexpr bool is_control(Role role) { return role != Role::compute && role != Role::composite; }

constexpr bool has_group(const OpRow& row) {
  for (const Param& p : row.params)
    if (p.kind == ParamKind::group) return true;
  return false;
}
/// A collective has one operand, in slot 0, and groups, and is never eliminated, merged or moved across an effect.
constexpr bool is_collective_form(const OpRow& row) {
  return row.side_effect && has_group(row) && !row.params.empty() && row.params[0].kind == ParamKind::tensor &&
         (row.params.size() < 2 || !is_operand(row.params[1].kind));
}

/// Whether all columns that a row of this kind requires are set.
constexpr bool is_complete(const OpRow& row) {
  if (row.name.empty() || row.doc.empty()) return false;
  if (row.role == Role::composite)
    return row.schedule.empty() && row.expand && !row.kernel && !row.definition && !row.path.empty() &&
           !row.example.empty();
  if (row.schedule.empty() || row.expand || row.tiles.strategy == TileStrategy::unset) return false;
  if (is_control(row.role)) return !row.kernel && !row.definition;
  if (!row.infer || !row.definition || row.output.empty()) return false;
  if (row.alias >= 0 && row.inplace_ok) return false;
  if (row.modifies && row.gradient) return false;
  // The name of an in-place form promises the operand's memory; a separate result would silently be another tensor.
  if (row.name.back() == '_' && row.alias < 0 && !row.modifies) return false;
  if (is_view(row) && !row.view && !row.layout && !row.parts) return false;
  if (row.exchange == Exchange::members && !is_collective_form(row)) return false;
  const bool overwrites = row.modifies || row.alias >= 0;
  return row.path.empty() || overwrites || !row.example.empty();
}

template <size_t n>
constexpr bool all_complete(const OpRow (&rows)[n]) {
  for (const OpRow& row : rows)
    if (!is_complete(row)) return false;
  return true;
}

}  // namespace pxl
