// The order in which the values of replicas are combined. It defines a reduction over replicas: every computation of
// one, in one process or in several, uses it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pxl {

/// The middle of T(first, last), which has two or more members.
constexpr int64_t tree_middle(int64_t first, int64_t last) {
  return first + static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(last - first - 1)));
}

/// Combines the values of members first..last-1 of a group, in ascending order of replicas:
///
///     T(a, b) = x[a]                  if b - a = 1
///     T(a, b) = T(a, m) with T(m, b)  where m - a is the largest power of two below b - a
///
/// so that an aligned block of replicas is a subtree. `node(a, b, slot)` puts T(a, b) into the slot, or returns false
/// if it is not known; those of single members are. `join(slot, slot + 1)` combines two into the first, the lower
/// members left. The result is in `slot`.
template <class Node, class Join>
void combine_nodes(int64_t first, int64_t last, size_t slot, const Node& node, const Join& join) {
  if (node(first, last, slot)) return;
  const int64_t middle = tree_middle(first, last);
  combine_nodes(first, middle, slot, node, join);
  combine_nodes(middle, last, slot + 1, node, join);
  join(slot, slot + 1);
}

/// A node in the tree of a group: members first..last-1, combined.
struct TreeNode {
  int64_t first = 0, last = 0;
  bool is_leaf() const { return last - first == 1; }
  bool operator==(const TreeNode&) const = default;
};

/// The smallest set of tree nodes that covers members first..last-1, ascending. The tree has `members` members.
inline std::vector<TreeNode> tree_nodes(int64_t members, int64_t first, int64_t last) {
  std::vector<TreeNode> nodes;
  const auto node = [&](int64_t a, int64_t b, size_t) {
    const bool within = a >= first && b <= last, apart = b <= first || a >= last;
    if (within) nodes.push_back({a, b});
    return within || apart;
  };
  combine_nodes(0, members, 0, node, [](size_t, size_t) {});
  return nodes;
}

/// The number of slots that combine_nodes uses for n members.
constexpr int64_t combine_slots(int64_t n) {
  return 1 + static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(n - 1)));
}

}  // namespace pxl
