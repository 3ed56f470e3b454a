#include "runtime/op/replica_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/join_texts.hpp"

namespace pxl {

ReplicaGroups one_group(int64_t replicas) { return ReplicaGroups(static_cast<size_t>(replicas), 0); }

ReplicaGroups strided_groups(int64_t replicas, int64_t stride, int64_t size) {
  if (stride < 1 || size < 1)
    throw Error(
        fmt::format("a replica grouping has a stride and a group size of at least 1, got {} and {}", stride, size))
        .as(codes::replicas);
  if (stride > replicas || size > replicas || replicas % (stride * size) != 0)
    throw Error(fmt::format("{} replicas cannot be grouped with stride {} and group size {}", replicas, stride, size),
                {fmt::format("stride times group size, {}, must divide the number of replicas", stride * size)})
        .as(codes::replicas);
  ReplicaGroups groups;
  for (int64_t r = 0; r < replicas; ++r) groups.push_back(r / (stride * size) * stride + r % stride);
  return groups;
}

namespace {

/// Empty if the groups are well formed.
std::string problem(const ReplicaGroups& groups, int64_t replicas) {
  if (static_cast<int64_t>(groups.size()) != replicas)
    return fmt::format("it names the groups of {} replicas, but the program has {}", groups.size(), replicas);
  int64_t next = 0;
  std::vector<int64_t> sizes;
  for (int64_t g : groups) {
    if (g < 0 || g > next) return "groups are numbered from 0, in the order of their first replicas";
    if (g == next) ++next, sizes.push_back(0);
    ++sizes[static_cast<size_t>(g)];
  }
  if (std::any_of(sizes.begin(), sizes.end(), [&](int64_t n) { return n != sizes[0]; }))
    return fmt::format("its groups have the sizes {}; they must be of one size", join_texts(sizes, ", "));
  return {};
}

}  // namespace

bool is_grouping(const ReplicaGroups& groups, int64_t replicas) { return problem(groups, replicas).empty(); }

void check_groups(const ReplicaGroups& groups, int64_t replicas) {
  const std::string what = problem(groups, replicas);
  if (what.empty()) return;
  throw Error(fmt::format("invalid replica grouping: {}", what)).as(codes::replicas);
}

int64_t group_count(const ReplicaGroups& groups) {
  return groups.empty() ? 1 : *std::max_element(groups.begin(), groups.end()) + 1;
}

int64_t group_size(const ReplicaGroups& groups) { return static_cast<int64_t>(groups.size()) / group_count(groups); }

std::vector<std::vector<int64_t>> group_members(const ReplicaGroups& groups) {
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(group_count(groups)));
  for (size_t r = 0; r < groups.size(); ++r) members[static_cast<size_t>(groups[r])].push_back(static_cast<int64_t>(r));
  return members;
}

std::vector<int64_t> positions_in_group(const ReplicaGroups& groups) {
  std::vector<int64_t> seen(static_cast<size_t>(group_count(groups)), 0), positions;
  for (int64_t g : groups) positions.push_back(seen[static_cast<size_t>(g)]++);
  return positions;
}

const ReplicaGroups& replica_groups_of(const OpContext& site) {
  for (size_t i = 0; i < site.row.params.size(); ++i)
    if (site.row.params[i].kind == ParamKind::group) return std::get<ReplicaGroups>(site.attrs[i]);
  throw Error(fmt::format("{} has no group", site.row.name), {}, Fault::internal);
}

const TensorSpec& replica_operand() {
  static const auto& spec = never_destroyed(TensorSpec{{2}, DType::int32, {}});
  return spec;
}

}  // namespace pxl
