// Choosing one of several ways for each of many nodes, where what neighbours choose costs extra: plans of ops and
// layouts between them. A problem of its own, so that it can be tested against exhaustive search.
#pragma once

#include <cstdint>
#include <vector>

namespace pxl::tiles {

struct Choices {
  struct Edge {
    int a = 0, b = 0;
    std::vector<int64_t> cost;  ///< by choice of a, then of b
  };
  std::vector<std::vector<int64_t>> nodes;  ///< cost of each choice; none is empty
  std::vector<Edge> edges;

  int64_t cost(const std::vector<int>& choice) const;
};

struct Solution {
  std::vector<int> choice;
  int64_t cost = 0;
  int64_t rounds = 0;
};

/// Exact where the edges form a forest: dynamic programming along it. Else the best of that along a heaviest spanning
/// forest, repeated with the other edges held, and of descents over single nodes and pairs of neighbours.
/// Deterministic.
Solution solve(const Choices& problem);
/// Every combination; for tests. At most a few million.
Solution solve_exhaustively(const Choices& problem);

}  // namespace pxl::tiles
