// Plans as text: what is read is written the same and computes the same; other text is refused.
#include "runtime/plan/text/plan_text.hpp"

#include "runtime/graph/schedule.hpp"
#include "runtime/plan/node_values.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/plan/verify_nodes.hpp"
#include "runtime/plan/views.hpp"
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// A layer with its update: products with epilogues, a constant that is folded, a cast, an update and a loop.
struct Written : SmallProgram {
  Planner planner{PlanOptions()};
  FlattenedGraph flat;
  std::deque<Tensor> constants;
  std::vector<const Tensor*> outputs;
  std::vector<Node> nodes;
  std::string text;

  Written() {
    Tensor *x = variable({8, 40}, 0.1F), *w = variable({40, 48}, -0.2F), *b = variable({48}, 0.3F);
    Tensor* folded = op("add", {op.constant(floats({48}, std::vector<float>(48, 0.1F))),
                                op.constant(floats({48}, std::vector<float>(48, -0.3F)))});
    Tensor* y = op("gelu", {op("add", {op("matmul", {x, w}), op("add", {b, folded})})});
    op("scaled_add_", {w, op("matmul", {op("transpose", {x}), y})}, {{"b", -0.1}});
    give(op("cast", {op("softmax", {y}, {{"axis", int64_t{-1}}})}, {{"data_type", DType::bfloat16}}));
    Graph& body = ir->create_graph("body \"quoted\"\n");
    Ops at(body);
    Tensor* state = body.add_input({{48}, DType::float32, {}}, "state");
    body.add_output(at("tanh", {state}));
    give(add_repeat(ir->main(), body, 3, {b})->outputs[0]);
    flat = flatten_calls(
        schedule_order(ir->main()), [this](const Graph& called) { return &planner.plan(called); }, true);
    nodes = std::move(flat.nodes);
    resolve_views(nodes, outputs, flat);
    run_passes(nodes, outputs, Keep::all, constants, nullptr, PlanOptions(), cpu_target());
    text = write_plan(ir->main(), nodes, outputs);
  }
  std::unique_ptr<ReadPlan> read(std::string_view of) {
    return read_plan(of, *ir, [this](const Graph& called) { return &planner.plan(called); });
  }
};

}  // namespace

TEST_CASE("a plan that was read is written the same, and computes the same") {
  Written p;
  CHECK(p.text.find("form=fused") != std::string::npos);
  CHECK(p.text.find("\ndata ") != std::string::npos);
  CHECK(p.text.find("f-0x1.99") != std::string::npos);
  const auto read = p.read(p.text);
  CHECK(write_plan(p.ir->main(), read->nodes, read->results) == p.text);
  verify_nodes(read->nodes, read->results);
  const auto values = [](const auto& nodes, const auto& results) { return run_nodes(nodes, results, Keep::all, 1); };
  CHECK(first_difference(values(p.nodes, p.outputs), values(read->nodes, read->results)) == "");
}

TEST_CASE("text that is cut, or changed, is refused or another plan") {
  Written p;
  for (size_t n = 0; n < p.text.size(); n += 7) CHECK_THROWS_AS(p.read(std::string_view(p.text).substr(0, n)), Error);
  for (size_t i = 0; i < p.text.size(); i += 3) {
    std::string changed = p.text;
    changed[i] = static_cast<char>(changed[i] == '9' ? ']' : '9');
    try {
      p.read(changed);
    } catch (const Error& e) {
      if (e.first().message.empty()) FAIL("an error without a message");
    }
  }
}

TEST_CASE("errors name the line") {
  Written p;
  const auto message = [&](std::string_view from, std::string_view to) {
    std::string changed = p.text;
    changed.replace(changed.find(from), from.size(), to);
    return error_of([&] { p.read(changed); });
  };
  CHECK_CONTAINS(message("plan \"\"", "plan \"other\""), "line 1 of the plan: the program has no graph `other`");
  CHECK_CONTAINS(message("row=gelu", "row=gelo"), "there is no op `gelo`");
  CHECK_CONTAINS(message("form=fused", "form=joined"), "`joined` is no word of this field");
  CHECK_CONTAINS(message("node op=@", "node op=@9"), "is not declared before");
  CHECK_CONTAINS(message("results [", "results ("), "`[` is missing");
}
