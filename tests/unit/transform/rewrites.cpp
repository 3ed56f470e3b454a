// Outlining and inlining: the repeats that it is found from, valid programs, and one being the inverse of the other.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "runtime/transform/inline.hpp"
#include "runtime/transform/loops/repeat_graph.hpp"
#include "runtime/transform/loops/repeats.hpp"
#include "runtime/transform/outline.hpp"
#include "tests/unit/transform/build.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// "banana" has the repeats "a" (3 places), "ana" and "na" (2 each).
std::set<std::pair<std::string, size_t>> repeats_of(const std::string& text) {
  const Repeats found = find_repeats(std::vector<int64_t>(text.begin(), text.end()));
  std::set<std::pair<std::string, size_t>> all;
  for (const Repeat& r : found.repeats)
    all.emplace(text.substr(found.order[r.first], static_cast<size_t>(r.length)), r.count());
  return all;
}

/// x, then `n` times gelu(x w_i + b_i) + x.
Graph& residual_stack(Ir& ir, int n) {
  Graph& g = ir.create_graph("Stack");
  Tensor* x = g.add_input(f32({2, 4}), "x");
  for (int i = 0; i < n; ++i) {
    Tensor* w = g.add_input(f32({4, 4}), "w");
    Tensor* b = g.add_input(f32({4}), "b");
    x = op("add", {op("gelu", {op("add", {op("matmul", {x, w}), b})}), x});
  }
  g.add_output(x);
  return g;
}

std::string schedules(const Ir& ir) {
  std::string text;
  for (const auto& g : ir.graphs()) text += print_schedule(*g) + "\n";
  return text;
}

size_t calls(const Graph& g) {
  return static_cast<size_t>(
      std::count_if(g.ops().begin(), g.ops().end(), [](const auto& o) { return o->row->role == Role::call; }));
}

}  // namespace

TEST_CASE("repeats are the inner nodes of the suffix tree") {
  using Set = std::set<std::pair<std::string, size_t>>;
  CHECK(repeats_of("banana") == Set{{"a", 3}, {"ana", 2}, {"na", 2}});
  CHECK(repeats_of("aaaa") == Set{{"a", 4}, {"aa", 3}, {"aaa", 2}});
  CHECK(repeats_of("abc").empty());
  CHECK(repeats_of("").empty());
  for (const auto& [part, count] : repeats_of("mississippi")) {
    size_t places = 0;
    const std::string text = "mississippi";
    for (size_t i = 0; i + part.size() <= text.size(); ++i) places += text.compare(i, part.size(), part) == 0;
    CHECK(places == count);
  }
}

TEST_CASE("a stack becomes one body and calls of it; inlining gives the same schedule") {
  for (const int n : {2, 3, 24}) {
    Ir ir;
    const Graph& g = residual_stack(ir, n);
    const Rewritten small = outline(ir);
    verify(*small.ir);
    CHECK(small.ir->graphs().size() == 3);
    CHECK(calls(*small.graphs.at(&g)) == static_cast<size_t>(n));
    CHECK(small.graphs.at(&g)->ops().size() == static_cast<size_t>(n));
    CHECK(small.tensors.at(g.inputs()[1])->name == "w");
    const Rewritten back = inline_calls(*small.ir, [](const Graph&) { return true; });
    verify(*back.ir);
    CHECK(schedules(*back.ir) == schedules(ir));
  }
}

TEST_CASE("an outlining that costs more than it saves is left out") {
  Ir ir;
  const Graph& g = residual_stack(ir, 1);
  CHECK(outline(ir).ir->graphs().size() == 2);
  Ir other;
  residual_stack(other, 2);
  CHECK(outline(other, 1000).ir->graphs().size() == 2);
  CHECK(call_cost(5) == doctest::Approx(2));
  CHECK(code_cost(*g.ops()[0]) == 10);
}

TEST_CASE("updates in place are outlined by reference and keep their order") {
  Ir ir;
  const InSequence chain(ir.main(), InSequence::Mode::yes);
  for (int i = 0; i < 4; ++i) {
    Tensor* w = variable(ir, {2}, {1, 2}, "w");
    Tensor* m = variable(ir, {2}, {0, 0}, "m");
    GraphOpBuilder e(ir.main());
    e.emit("accumulate_moving_average_", {e.of(m), e.of(w)}, {{"f", 0.5}});
    e.emit("accumulate_square_", {e.of(m), e.of(w)});
    e.emit("scaled_add_", {e.of(w), e.of(m)}, {{"b", -0.1}});
  }
  const Rewritten small = outline(ir, 0);
  verify(*small.ir);
  CHECK(calls(small.ir->main()) == 4);
  const Graph& body = *small.ir->graphs().back();
  CHECK(body.inputs()[0]->by_ref);
  CHECK(body.inputs()[1]->by_ref);
  const Rewritten back = inline_calls(*small.ir, [](const Graph&) { return true; });
  verify(*back.ir);
  CHECK(ops_of(back.ir->main()) == ops_of(ir.main()));
}

TEST_CASE("a program as a loop takes the variables it changes by reference") {
  Ir ir;
  Tensor* a = variable(ir, {2}, {1, 2}, "a");
  Tensor* b = variable(ir, {2}, {3, 4}, "b");
  op("accumulate_", {a, b});
  const Rewritten looped = repeat_graph(ir, 3);
  verify(*looped.ir);
  CHECK(looped.ir->main().ops().size() == 1);
  const Graph& body = *looped.ir->graphs().back();
  CHECK(body.id() == "main_repeat_graph_subgraph(0)");
  CHECK(body.inputs()[0]->by_ref);
  CHECK(!body.inputs()[1]->by_ref);
  CHECK(contains(error_of([&] { repeat_graph(ir, -1); }), "at least 0"));
}

TEST_CASE("equal graphs become one, those that call equal ones too, and others stay") {
  Ir ir;
  const auto scaled = [&](double by, bool by_ref) -> Graph& {
    Graph& g = ir.create_graph("Scaled");
    Tensor* x = g.add_input(f32({2, 2}), "x", by_ref);
    g.add_output(op("mul", {x, g.add_constant(floats({1}, {static_cast<float>(by)}), "by")}));
    return g;
  };
  const auto around = [&](Graph& inner) -> Graph& {
    Graph& g = ir.create_graph("Around");
    Tensor* x = g.add_input(f32({2, 2}), "x");
    g.add_output(op("exp", {g.add_call(inner, {x})->outputs[0]}));
    return g;
  };
  Graph* inner[] = {&scaled(2, false), &scaled(2, false), &scaled(3, false), &scaled(2, true)};
  Graph* outer[] = {&around(*inner[0]), &around(*inner[1]), &around(*inner[2])};
  Tensor* x = variable(ir, {2, 2}, {1, 2, 3, 4}, "x");
  for (Graph* g : outer) x = ir.main().add_call(*g, {x})->outputs[0];
  ir.main().add_call(*inner[3], {x});

  constexpr double never = 1e9;
  const Rewritten made = outline(ir, never);
  verify(*made.ir);
  CHECK(made.ir->graphs().size() == 1 + 3 + 2);
  CHECK(made.graphs.at(inner[0]) == made.graphs.at(inner[1]));
  CHECK(made.graphs.at(outer[0]) == made.graphs.at(outer[1]));
  CHECK(made.graphs.at(outer[0]) != made.graphs.at(outer[2]));
  CHECK(made.graphs.at(inner[0]) != made.graphs.at(inner[2]));
  CHECK(made.graphs.at(inner[0]) != made.graphs.at(inner[3]));
  CHECK(calls(made.ir->main()) == 4);
  CHECK(made.graphs.at(outer[0])->call_sites().size() == 2);
}
