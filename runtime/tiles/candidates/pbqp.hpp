// Partitioned Boolean quadratic problem: one choice per node, costs of choices, and costs of choice pairs along edges.
// Nodes are ops and tensors; edges are the rearrangements between them. The problem is independent of graphs, so that
// tests can compare it with exhaustive search.
#pragma once

#include <cstdint>
#include <vector>

namespace pxl::tiles {

struct PbqpProblem {
  struct Edge {
    int a = 0, b = 0;
    std::vector<int64_t> cost;  ///< by choice of a, then of b
  };
  std::vector<std::vector<int64_t>> nodes;  ///< cost by node and choice; no node is without a choice
  std::vector<Edge> edges;

  int64_t cost(const std::vector<int>& choice) const;
};

struct PbqpSolution {
  std::vector<int> choice;
  int64_t cost = 0;
  int64_t rounds = 0;
};

/// Exact if the edges form a series-parallel graph (elimination of nodes with up to two neighbours). Otherwise a
/// heuristic: elimination first, then two methods in turn. One is dynamic programming along a maximum spanning forest,
/// with the other edges fixed. The other is local search over single nodes and pairs of neighbours. Deterministic.
PbqpSolution solve(const PbqpProblem& problem);

}  // namespace pxl::tiles
