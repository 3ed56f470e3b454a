// The PBQP heuristic against exhaustive search.
#include "runtime/tiles/candidates/pbqp.hpp"

#include <doctest/doctest.h>

#include <random>

#include "runtime/tiles/mapped_program.hpp"
#include "tests/unit/tiles/programs.hpp"

using namespace pxl;
using namespace pxl::tiles;

namespace {

PbqpSolution solve_exhaustively(const PbqpProblem& problem) {
  PbqpSolution best;
  std::vector<int> choice(problem.nodes.size(), 0);
  best.cost = INT64_MAX;
  while (true) {
    const int64_t cost = problem.cost(choice);
    if (cost < best.cost) best.cost = cost, best.choice = choice;
    size_t n = 0;
    while (n < choice.size() && ++choice[n] == static_cast<int>(problem.nodes[n].size())) choice[n++] = 0;
    if (n == choice.size()) return best;
  }
}

PbqpProblem random_problem(std::mt19937& rng, int nodes, int choices, int extra_edges) {
  const auto draw = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  PbqpProblem p;
  for (int n = 0; n < nodes; ++n) {
    std::vector<int64_t> costs;
    for (int i = 1 + draw(choices); i > 0; --i) costs.push_back(draw(1000));
    p.nodes.push_back(std::move(costs));
  }
  const auto join = [&](int a, int b) {
    PbqpProblem::Edge e{a, b, {}};
    for (size_t i = 0; i < p.nodes[static_cast<size_t>(a)].size(); ++i)
      for (size_t j = 0; j < p.nodes[static_cast<size_t>(b)].size(); ++j) e.cost.push_back(i == j ? 0 : draw(1500));
    p.edges.push_back(std::move(e));
  };
  for (int n = 1; n < nodes; ++n) join(draw(n), n);
  for (int i = 0; i < extra_edges; ++i) join(draw(nodes), draw(nodes));
  return p;
}

}  // namespace

TEST_CASE("exact on trees") {
  std::mt19937 rng(1);
  for (int i = 0; i < 300; ++i) {
    const PbqpProblem p = random_problem(rng, 2 + i % 6, 5, 0);
    const PbqpSolution s = solve(p);
    CHECK(s.cost == p.cost(s.choice));
    CHECK(s.cost == solve_exhaustively(p).cost);
  }
}

TEST_CASE("exact on rings, and on edges that are nodes in series and in parallel") {
  std::mt19937 rng(9);
  for (int i = 0; i < 200; ++i) {
    PbqpProblem p = random_problem(rng, 4 + i % 4, 4, 0);
    p.edges.clear();
    const auto join = [&](int a, int b) {
      PbqpProblem::Edge e{a, b, {}};
      for (size_t k = 0; k < p.nodes[static_cast<size_t>(a)].size() * p.nodes[static_cast<size_t>(b)].size(); ++k)
        e.cost.push_back(static_cast<int64_t>(rng() % 1500));
      p.edges.push_back(std::move(e));
    };
    const int nodes = static_cast<int>(p.nodes.size());
    if (i % 2) {
      for (int n = 0; n < nodes; ++n) join(n, (n + 1) % nodes);
    } else {
      for (int n = 2; n < nodes; ++n) join(0, n), join(n, 1);
    }
    join(0, 1);
    join(nodes - 1, nodes - 1);
    CHECK(solve(p).cost == solve_exhaustively(p).cost);
  }
}

TEST_CASE("near the optimum if the edges form cycles") {
  std::mt19937 rng(2);
  int exact = 0;
  double excess = 0;
  constexpr int problems = 300;
  for (int i = 0; i < problems; ++i) {
    const PbqpProblem p = random_problem(rng, 6, 4, 3);
    const PbqpSolution s = solve(p);
    const int64_t best = solve_exhaustively(p).cost;
    CHECK(s.cost >= best);
    exact += s.cost == best;
    excess += static_cast<double>(s.cost - best) / static_cast<double>(std::max<int64_t>(1, best));
  }
  CHECK(exact >= problems * 9 / 10);
  CHECK(excess / problems < 0.01);
}

TEST_CASE("optimal candidates and mappings of small graphs") {
  const auto check = [](Ir& ir) {
    EstimateOptions options;
    options.candidates.max_candidates = 3;
    const MappedProgram program(ir.main(), options);
    const PbqpProblem problem = program.problem();
    int64_t combinations = 1;
    for (const auto& n : problem.nodes) combinations *= static_cast<int64_t>(n.size());
    CAPTURE(combinations);
    REQUIRE(combinations < 5'000'000);
    CHECK(solve(problem).cost == solve_exhaustively(problem).cost);
    CHECK(program.search.fastest_cycles == solve(problem).cost);
  };
  Ir one;
  tiles::test::op("gelu", {tiles::test::op("matmul", {tiles::test::variable(one, {128, 256}, "x"),
                                                      tiles::test::variable(one, {256, 64}, "w")})});
  check(one);
  Ir two;
  Tensor* x = tiles::test::variable(two, {64, 64}, "x");
  tiles::test::op("softmax", {tiles::test::op("matmul", {x, x})}, {{"axis", int64_t{-1}}});
  check(two);
}
