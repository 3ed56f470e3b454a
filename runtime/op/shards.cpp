#include "runtime/op/shards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

namespace {

Error refusal(const OpContext& s, const std::string& what, std::vector<std::string> notes) {
  Error error(fmt::format("{}: {}", s.row.name, what), std::move(notes));
  error.as(codes::replicas);
  return error;
}

constexpr const char* gather_note = "`replicated_all_gather` makes the whole tensor of a shard";

/// Throws unless operand `slot` goes together with the shard in slot `first`, element by element.
void check_fits(const OpContext& s, size_t first, size_t slot) {
  const TensorSpec &shard = s.input(first), &other = s.input(slot);
  if (!other.is_shard()) {
    if (other.size() == 1 && other.shape.size() <= 1) return;
    throw refusal(
        s,
        fmt::format("{} is a shard, {}, and {} is a whole tensor, {}", s.label(first), text(shard), s.label(slot),
                    text(other)),
        {"`replica_sharded_slice` makes a shard of a tensor that the replicas of a group hold equal", gather_note});
  }
  if (other.shape == shard.shape && other.meta_shape == shard.meta_shape && other.shard_groups == shard.shard_groups)
    return;
  if (other.meta_shape == shard.meta_shape)
    throw refusal(s,
                  fmt::format("{} and {} are shards of different groups: {} and {}", s.label(first), s.label(slot),
                              bracket_text(shard.shard_groups), bracket_text(other.shard_groups)),
                  {gather_note});
  throw refusal(s,
                fmt::format("{} and {} are shards of different tensors: {} and {}", s.label(first), s.label(slot),
                            text(shard), text(other)),
                {gather_note});
}

}  // namespace

TensorSpec shard_spec(const TensorSpec& whole, const ReplicaGroups& groups) {
  if (groups.empty()) return whole;
  if (whole.is_shard()) throw Error(fmt::format("{} is a shard already", text(whole))).as(codes::replicas);
  const int64_t members = group_size(groups);
  return {{(whole.size() + members - 1) / members}, whole.dtype, whole.shape, groups};
}

TensorSpec whole_spec(const TensorSpec& spec) {
  if (!spec.is_shard()) return spec;
  return {spec.meta_shape, spec.dtype, {}};
}

ShardRange shard_range(const TensorSpec& shard, int64_t position) {
  const int64_t whole = whole_spec(shard).bytes(), begin = std::min(position * shard.bytes(), whole);
  return {begin, std::min(shard.bytes(), whole - begin)};
}

std::vector<TensorSpec> infer_specs(const OpContext& s) {
  const auto is_shard = [](const TensorSpec* t) { return t && t->is_shard(); };
  const auto found = std::find_if(s.in.begin(), s.in.end(), is_shard);
  if (found == s.in.end() || (s.row.shards && s.row.exchange != Exchange::none)) return s.row.infer(s);
  const auto first = static_cast<size_t>(found - s.in.begin());
  const TensorSpec& shard = s.input(first);
  if ((s.row.pattern != Pattern::elementwise && !s.row.shards) || s.row.exchange != Exchange::none)
    throw refusal(s, fmt::format("takes whole tensors, and {} is a shard, {}", s.label(first), text(shard)),
                  {gather_note, "shards go through ops that work element by element"});
  for (size_t slot = 0; slot < s.in.size(); ++slot)
    if (s.has(slot)) check_fits(s, first, slot);
  std::vector<TensorSpec> out = s.row.infer(s);
  for (TensorSpec& spec : out) {
    if (spec.shape != shard.shape)
      throw refusal(s, fmt::format("the result of a shard, {}, would be {}", text(shard), text(spec)), {gather_note});
    spec.meta_shape = shard.meta_shape;
    spec.shard_groups = shard.shard_groups;
  }
  return out;
}

void check_same_part(const OpContext& s) {
  const TensorSpec& shard = s.input(0);
  if (!shard.is_shard()) return;
  const std::vector<int64_t> positions = positions_in_group(shard.shard_groups);
  for (const std::vector<int64_t>& members : group_members(replica_groups_of(s)))
    for (const int64_t r : members)
      if (positions.at(static_cast<size_t>(r)) != positions.at(static_cast<size_t>(members[0])))
        throw refusal(s,
                      fmt::format("the replicas {} and {} of a group have different parts of {}, {}", members[0], r,
                                  s.label(0), text(shard)),
                      {gather_note, "the groups must have members with the same part, as `group.transpose()` has"});
}

}  // namespace pxl
