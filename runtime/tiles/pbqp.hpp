// Partitioned Boolean quadratic problem: one choice per node, with costs of choices and of pairs of choices along
// edges. Nodes are ops and tensors, edges the rearrangements between them. Independent of graphs, so that tests can
// compare it with exhaustive search.
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
/// heuristic: elimination, then dynamic programming along a maximum spanning forest with the other edges fixed,
/// alternating with local search over single nodes and pairs of neighbours. Deterministic.
PbqpSolution solve(const PbqpProblem& problem);
/// Tries all combinations; for tests, up to a few million.
PbqpSolution solve_exhaustively(const PbqpProblem& problem);

}  // namespace pxl::tiles
