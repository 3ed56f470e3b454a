// Every example is planned for a second machine: two members a node, short blocks, products by themselves.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "interpreter/cli/program.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/plan/node_values.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/plan/unchanged.hpp"
#include "runtime/plan/verify_nodes.hpp"
#include "runtime/plan/views.hpp"
#include "runtime/transform/flops.hpp"
#include "tests/unit/support/small_target.hpp"

using namespace pxl;

namespace {

/// Flags with which definitions run an example's graphs in a moment.
const std::map<std::string, std::vector<std::string>> small = {
    {"char_gpt", {"--batch", "1", "--context", "4", "--width", "8"}},
    {"transformer", {"--batch", "2"}},
    {"word_gpt", {"--batch", "1", "--context", "4", "--width", "8", "--heads", "2"}},
};

/// Programs of examples whose arguments depend on a file.
const std::map<std::string, std::string> chosen = {{"char_gpt", "train(vocab = 7)"}, {"word_gpt", "train(size = 7)"}};

struct Compared {
  int graphs = 0, nodes = 0, fused = 0;
};

/// Plans a graph, whose nodes have their values before and after all passes.
void compare(const Graph& graph, Compared& compared) {
  constexpr int64_t most = 40'000'000;  // operations, by definitions some seconds
  const test::SmallTarget target;
  Planner planner(PlanOptions(), target);
  planner.plan(graph);  // which also makes the kernels
  FlattenedGraph flat = flatten_calls(
      schedule_order(graph), [&](const Graph& called) { return &planner.plan(called); }, true);
  std::vector<const Tensor*> inputs(graph.inputs().begin(), graph.inputs().end()),
      outputs(graph.outputs().begin(), graph.outputs().end());
  for (const Tensor*& t : outputs) t = flat.of(t);
  std::vector<Node> nodes = std::move(flat.nodes);
  resolve_views(nodes, outputs, flat);
  const bool runs = flops_of(graph) < most;
  const NodeValues before = runs ? run_nodes(nodes, outputs, Keep::all, 1) : NodeValues();
  std::deque<Tensor> constants;
  const std::optional<Unchanged> unchanged = unchanged_values(graph, nodes, inputs, outputs);
  run_passes(nodes, outputs, Keep::all, constants, unchanged ? &*unchanged : nullptr, PlanOptions(), target);
  verify_nodes(nodes, outputs);
  for (const Node& n : nodes) {
    if (n.form == Form::fused) CHECK(n.members.size() == 2);
    CHECK_FALSE(product_in_blocks(n));
    compared.fused += n.form == Form::fused;
    ++compared.nodes;
  }
  if (!runs) return;
  CHECK(first_difference(before, run_nodes(nodes, outputs, Keep::all, 1)) == "");
  ++compared.graphs;
}

}  // namespace

TEST_CASE("every example is planned for a second machine with the values of its graphs") {
  int examples = 0;
  Compared all;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(PXL_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".pxl") continue;
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    cli::Invocation call;
    if (const auto program = chosen.find(name); program != chosen.end()) call.flags = {{"--program", program->second}};
    cli::Script script{entry.path().string()};
    if (const auto options = small.find(name); options != small.end()) script.options = options->second;
    const cli::Programs programs = cli::programs_of({.quiet = true}, script, call);
    Compared own;
    for (const auto& ir : programs.irs)
      for (const auto& graph : ir->graphs()) compare(*graph, own);
    CHECK(own.nodes > 0);
    CHECK_MESSAGE(own.graphs > 0, name, ": no graph is small enough to run by definitions");
    all.graphs += own.graphs, all.nodes += own.nodes, all.fused += own.fused;
    ++examples;
  }
  MESSAGE(examples, " examples, ", all.graphs, " graphs compared, ", all.nodes, " nodes, ", all.fused, " fused");
  CHECK(examples >= 12);
  CHECK(all.fused > 50);
}
