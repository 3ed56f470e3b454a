#include "runtime/tiles/candidates/pbqp.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace pxl::tiles {

namespace {

int64_t edge_cost(const PbqpProblem& p, const PbqpProblem::Edge& e, int a, int b) {
  return e.cost[static_cast<size_t>(a) * p.nodes[static_cast<size_t>(e.b)].size() + static_cast<size_t>(b)];
}

/// Reductions of nodes (Scholz and Eckstein, "Register allocation for irregular architectures", LCTES 2002). A node
/// with one or two neighbours is eliminated exactly: its costs move to the neighbour, or to the edge between both
/// neighbours. If all nodes have more neighbours, the choice of the node with most neighbours is fixed. Its cost and
/// the least cost of each edge decide the choice.
class PbqpReduction {
 public:
  explicit PbqpReduction(const PbqpProblem& problem) : cost_(problem.nodes), edges_(problem.nodes.size()) {
    for (const PbqpProblem::Edge& e : problem.edges) {
      if (e.a == e.b) {
        for (size_t i = 0; i < size(e.a); ++i) cost_[static_cast<size_t>(e.a)][i] += e.cost[i * size(e.a) + i];
        continue;
      }
      add_edge(e.a, e.b, e.cost);
    }
    for (int n = 0; n < static_cast<int>(cost_.size()); ++n) by_degree_.insert({degree(n), n});
  }

  std::vector<int> run() {
    std::vector<Eliminated> order;
    while (!by_degree_.empty()) {
      const bool exact = by_degree_.begin()->first <= 2;
      const int node = exact ? by_degree_.begin()->second : by_degree_.rbegin()->second;
      Eliminated gone{node, cost_[static_cast<size_t>(node)], {}};
      for (const auto& [other, cost] : edges_[static_cast<size_t>(node)]) gone.edges.emplace_back(other, cost);
      if (!exact) fix(gone);
      remove(node);
      if (gone.edges.size() == 1) eliminate_leaf(gone);
      if (gone.edges.size() == 2) eliminate_between(gone);
      order.push_back(std::move(gone));
    }
    std::vector<int> choice(cost_.size(), 0);
    for (size_t k = order.size(); k-- > 0;) {
      const Eliminated& gone = order[k];
      std::vector<int64_t> cost = gone.cost;
      for (const auto& [other, edge] : gone.edges)
        for (size_t i = 0; i < cost.size(); ++i)
          cost[i] += edge[i * size(other) + static_cast<size_t>(choice[static_cast<size_t>(other)])];
      choice[static_cast<size_t>(gone.node)] =
          static_cast<int>(std::min_element(cost.begin(), cost.end()) - cost.begin());
    }
    return choice;
  }

 private:
  using Matrix = std::vector<int64_t>;  // by choice of the node, then of the neighbour
  struct Eliminated {
    int node = 0;
    std::vector<int64_t> cost;
    std::vector<std::pair<int, Matrix>> edges;  // to nodes that are eliminated later
  };

  size_t size(int node) const { return cost_[static_cast<size_t>(node)].size(); }
  size_t degree(int node) const { return edges_[static_cast<size_t>(node)].size(); }

  void add_edge(int a, int b, const Matrix& cost) {
    Matrix &forth = edges_[static_cast<size_t>(a)][b], &back = edges_[static_cast<size_t>(b)][a];
    forth.resize(cost.size());
    back.resize(cost.size());
    for (size_t i = 0; i < size(a); ++i)
      for (size_t j = 0; j < size(b); ++j) {
        forth[i * size(b) + j] += cost[i * size(b) + j];
        back[j * size(a) + i] += cost[i * size(b) + j];
      }
  }

  void remove(int node) {
    by_degree_.erase({degree(node), node});
    for (const auto& [other, cost] : edges_[static_cast<size_t>(node)]) {
      by_degree_.erase({degree(other), other});
      edges_[static_cast<size_t>(other)].erase(node);
      by_degree_.insert({degree(other), other});
    }
    edges_[static_cast<size_t>(node)].clear();
  }

  void eliminate_leaf(const Eliminated& gone) {
    const auto& [other, edge] = gone.edges[0];
    for (size_t j = 0; j < size(other); ++j) {
      int64_t least = INT64_MAX;
      for (size_t i = 0; i < gone.cost.size(); ++i) least = std::min(least, gone.cost[i] + edge[i * size(other) + j]);
      cost_[static_cast<size_t>(other)][j] += least;
    }
  }

  void eliminate_between(const Eliminated& gone) {
    const auto& [a, to_a] = gone.edges[0];
    const auto& [b, to_b] = gone.edges[1];
    Matrix cost(size(a) * size(b));
    for (size_t j = 0; j < size(a); ++j)
      for (size_t k = 0; k < size(b); ++k) {
        int64_t least = INT64_MAX;
        for (size_t i = 0; i < gone.cost.size(); ++i)
          least = std::min(least, gone.cost[i] + to_a[i * size(a) + j] + to_b[i * size(b) + k]);
        cost[j * size(b) + k] = least;
      }
    by_degree_.erase({degree(a), a});
    by_degree_.erase({degree(b), b});
    add_edge(a, b, cost);
    by_degree_.insert({degree(a), a});
    by_degree_.insert({degree(b), b});
  }

  /// Fixes the choice of a node. The node's edges become costs of the neighbours.
  void fix(Eliminated& gone) {
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < gone.cost.size(); ++i) {
      int64_t cost = gone.cost[i];
      for (const auto& [other, edge] : gone.edges) {
        int64_t next = INT64_MAX;
        for (size_t j = 0; j < size(other); ++j)
          next = std::min(next, edge[i * size(other) + j] + cost_[static_cast<size_t>(other)][j]);
        cost += next;
      }
      if (cost < least) least = cost, best = i;
    }
    for (size_t i = 0; i < gone.cost.size(); ++i) gone.cost[i] = i == best ? 0 : int64_t{1} << 60;
    for (const auto& [other, edge] : gone.edges)
      for (size_t j = 0; j < size(other); ++j) cost_[static_cast<size_t>(other)][j] += edge[best * size(other) + j];
    gone.edges.clear();
  }

  std::vector<std::vector<int64_t>> cost_;
  std::vector<std::map<int, Matrix>> edges_;  // by node, then neighbour
  std::set<std::pair<size_t, int>> by_degree_;
};

class PbqpSolver {
 public:
  explicit PbqpSolver(const PbqpProblem& problem)
      : p_(problem), at_(problem.nodes.size()), in_tree_(problem.edges.size()) {
    for (size_t e = 0; e < p_.edges.size(); ++e) {
      at_[static_cast<size_t>(p_.edges[e].a)].push_back(static_cast<int>(e));
      if (p_.edges[e].b != p_.edges[e].a) at_[static_cast<size_t>(p_.edges[e].b)].push_back(static_cast<int>(e));
    }
    build_spanning_forest();
  }

  PbqpSolution run() {
    PbqpSolution s;
    s.choice.resize(p_.nodes.size());
    for (size_t n = 0; n < p_.nodes.size(); ++n)
      s.choice[n] = static_cast<int>(std::min_element(p_.nodes[n].begin(), p_.nodes[n].end()) - p_.nodes[n].begin());
    s.cost = p_.cost(s.choice);
    std::vector<int> next = s.choice;
    optimise_forest(next, false);
    take(s, next);
    take(s, PbqpReduction(p_).run());
    constexpr int max_rounds = 12;
    for (int round = 0; round < max_rounds; ++round) {
      ++s.rounds;
      const int64_t before = s.cost;
      next = s.choice;
      while (single_moves(next)) {
      }
      pair_moves(next);
      take(s, next);
      next = s.choice;
      optimise_forest(next, true);
      take(s, next);
      if (s.cost >= before) break;
    }
    return s;
  }

 private:
  void take(PbqpSolution& s, const std::vector<int>& next) const {
    const int64_t cost = p_.cost(next);
    if (cost < s.cost) s.choice = next, s.cost = cost;
  }

  // Maximum spanning forest by the range of an edge's costs (Kruskal).
  void build_spanning_forest() {
    std::vector<int> order(p_.edges.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<int64_t> weight(p_.edges.size());
    for (size_t e = 0; e < p_.edges.size(); ++e) {
      const auto [least, most] = std::minmax_element(p_.edges[e].cost.begin(), p_.edges[e].cost.end());
      weight[e] = p_.edges[e].cost.empty() ? 0 : *most - *least;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return weight[static_cast<size_t>(a)] > weight[static_cast<size_t>(b)]; });
    std::vector<int> root(p_.nodes.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int n) {
      while (root[static_cast<size_t>(n)] != n)
        n = root[static_cast<size_t>(n)] = root[static_cast<size_t>(root[static_cast<size_t>(n)])];
      return n;
    };
    for (const int e : order) {
      const int a = find(p_.edges[static_cast<size_t>(e)].a), b = find(p_.edges[static_cast<size_t>(e)].b);
      if (a == b) continue;
      root[static_cast<size_t>(a)] = b;
      in_tree_[static_cast<size_t>(e)] = true;
    }
    // An order in which each node comes after its parent.
    std::vector<bool> seen(p_.nodes.size());
    for (size_t start = 0; start < p_.nodes.size(); ++start) {
      if (seen[start]) continue;
      seen[start] = true;
      size_t next = order_.size();
      order_.push_back({static_cast<int>(start), -1, -1});
      for (; next < order_.size(); ++next) {
        const int n = order_[next].node;
        for (const int e : at_[static_cast<size_t>(n)]) {
          if (!in_tree_[static_cast<size_t>(e)]) continue;
          const PbqpProblem::Edge& edge = p_.edges[static_cast<size_t>(e)];
          const int other = edge.a == n ? edge.b : edge.a;
          if (seen[static_cast<size_t>(other)]) continue;
          seen[static_cast<size_t>(other)] = true;
          order_.push_back({other, n, e});
        }
      }
    }
  }

  // Optimal choices along the forest (dynamic programming). Edges outside the forest are charged with the current
  // choices of their far ends if `hold`, and are ignored otherwise.
  void optimise_forest(std::vector<int>& choice, bool hold) const {
    std::vector<std::vector<int64_t>> below = p_.nodes;
    for (size_t e = 0; e < p_.edges.size(); ++e) {
      if (in_tree_[e]) continue;
      const PbqpProblem::Edge& edge = p_.edges[e];
      const auto a = static_cast<size_t>(edge.a), b = static_cast<size_t>(edge.b);
      if (edge.a == edge.b) {
        for (size_t i = 0; i < below[a].size(); ++i)
          below[a][i] += edge_cost(p_, edge, static_cast<int>(i), static_cast<int>(i));
      } else if (hold) {
        for (size_t i = 0; i < below[a].size(); ++i) below[a][i] += edge_cost(p_, edge, static_cast<int>(i), choice[b]);
        for (size_t j = 0; j < below[b].size(); ++j) below[b][j] += edge_cost(p_, edge, choice[a], static_cast<int>(j));
      }
    }
    std::vector<std::vector<int>> best(p_.nodes.size());
    for (size_t k = order_.size(); k-- > 0;) {
      const auto [node, parent, e] = order_[k];
      if (parent < 0) continue;
      const PbqpProblem::Edge& edge = p_.edges[static_cast<size_t>(e)];
      const auto n = static_cast<size_t>(node), up = static_cast<size_t>(parent);
      best[n].resize(below[up].size());
      for (size_t i = 0; i < below[up].size(); ++i) {
        int64_t least = INT64_MAX;
        for (size_t j = 0; j < below[n].size(); ++j) {
          const int64_t c =
              below[n][j] + (edge.a == parent ? edge_cost(p_, edge, static_cast<int>(i), static_cast<int>(j))
                                              : edge_cost(p_, edge, static_cast<int>(j), static_cast<int>(i)));
          if (c < least) least = c, best[n][i] = static_cast<int>(j);
        }
        below[up][i] += least;
      }
    }
    for (const auto& [node, parent, e] : order_) {
      const auto n = static_cast<size_t>(node);
      choice[n] = parent < 0 ? static_cast<int>(std::min_element(below[n].begin(), below[n].end()) - below[n].begin())
                             : best[n][static_cast<size_t>(choice[static_cast<size_t>(parent)])];
    }
  }

  /// Costs of a node, by choice, including its edges except those to `other`.
  std::vector<int64_t> apart(const std::vector<int>& choice, int node, int other) const {
    std::vector<int64_t> costs = p_.nodes[static_cast<size_t>(node)];
    for (const int e : at_[static_cast<size_t>(node)]) {
      const PbqpProblem::Edge& edge = p_.edges[static_cast<size_t>(e)];
      if (edge.a == other || edge.b == other) continue;
      for (int i = 0; i < static_cast<int>(costs.size()); ++i)
        costs[static_cast<size_t>(i)] += edge_cost(p_, edge, edge.a == node ? i : choice[static_cast<size_t>(edge.a)],
                                                   edge.b == node ? i : choice[static_cast<size_t>(edge.b)]);
    }
    return costs;
  }

  bool single_moves(std::vector<int>& choice) const {
    bool moved = false;
    for (size_t n = 0; n < p_.nodes.size(); ++n) {
      const int node = static_cast<int>(n);
      const std::vector<int64_t> costs = apart(choice, node, -1);
      int64_t least = costs[static_cast<size_t>(choice[n])];
      for (int i = 0; i < static_cast<int>(costs.size()); ++i)
        if (const int64_t c = costs[static_cast<size_t>(i)]; c < least) least = c, choice[n] = i, moved = true;
    }
    return moved;
  }

  void pair_moves(std::vector<int>& choice) const {
    for (const PbqpProblem::Edge& edge : p_.edges) {
      if (edge.a == edge.b) continue;
      const auto a = static_cast<size_t>(edge.a), b = static_cast<size_t>(edge.b);
      const int a0 = choice[a];
      int best_a = a0, best_b = choice[b];
      int64_t least = INT64_MAX;
      // Costs of each node without the edges between the two.
      const std::vector<int64_t> of_a = apart(choice, edge.a, edge.b), of_b = apart(choice, edge.b, edge.a);
      std::vector<const PbqpProblem::Edge*> between;
      for (const int e : at_[a]) {
        const PbqpProblem::Edge& other = p_.edges[static_cast<size_t>(e)];
        if (other.a == edge.b || other.b == edge.b) between.push_back(&other);
      }
      for (int i = 0; i < static_cast<int>(of_a.size()); ++i) {
        const int64_t rest = of_a[static_cast<size_t>(i)];
        if (rest >= least) continue;
        for (int j = 0; j < static_cast<int>(of_b.size()); ++j) {
          int64_t c = rest + of_b[static_cast<size_t>(j)];
          for (const PbqpProblem::Edge* e : between)
            c += e->a == edge.a ? edge_cost(p_, *e, i, j) : edge_cost(p_, *e, j, i);
          if (c < least || (c == least && i == a0 && j == choice[b])) least = c, best_a = i, best_b = j;
        }
      }
      choice[a] = best_a;
      choice[b] = best_b;
    }
  }

  struct Place {
    int node, parent, edge;
  };
  const PbqpProblem& p_;
  std::vector<std::vector<int>> at_;
  std::vector<bool> in_tree_;
  std::vector<Place> order_;
};

}  // namespace

int64_t PbqpProblem::cost(const std::vector<int>& choice) const {
  int64_t sum = 0;
  for (size_t n = 0; n < nodes.size(); ++n) sum += nodes[n][static_cast<size_t>(choice[n])];
  for (const Edge& e : edges)
    sum += edge_cost(*this, e, choice[static_cast<size_t>(e.a)], choice[static_cast<size_t>(e.b)]);
  return sum;
}

PbqpSolution solve(const PbqpProblem& problem) { return PbqpSolver(problem).run(); }

}  // namespace pxl::tiles
