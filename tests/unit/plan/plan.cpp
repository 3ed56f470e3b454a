// Plans: arena, reuse, views, folding, and random graphs against an evaluator that shares no memory.
#include <map>
#include <random>
#include <vector>

#include "runtime/execute/program.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/plan/arena.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

using Values = std::map<const Tensor*, Array>;

/// Every op on fresh memory, calls by copy. In-place ops assign their operand, and its aliases among `aliases`.
std::vector<Array> naive(const Graph& graph, const std::vector<Array>& inputs, Values variables = {}) {
  Values values = std::move(variables);
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i].clone();
  const auto value = [&](const Tensor* t) -> const Array& {
    if (!values.count(t)) values[t] = t->data.clone();
    return values.at(t);
  };
  for (const Op* op : schedule_order(graph)) {
    std::vector<Array> in;
    for (const Tensor* t : op->inputs) in.push_back(value(t).clone());
    if (op->row->role == Role::call) {
      const auto out = naive(*op->called[0], in);
      for (size_t j = 0; j < out.size(); ++j) values[op->outputs[j]] = out[j];
      continue;
    }
    if (op->row->role != Role::compute) continue;
    const OpContextStorage storage(*op);
    const Kernel kernel = op->row->kernel(storage.site);
    std::vector<const std::byte*> from;
    for (const Array& a : in) from.push_back(a.raw());
    std::vector<Array> out;
    std::vector<std::byte*> to;
    for (const Tensor* t : op->outputs) out.push_back(Array::zeros(t->spec.dtype, t->spec.shape));
    for (Array& a : out) to.push_back(a.mutable_raw());
    kernel({from.data(), to.data()});
    for (size_t j = 0; j < out.size(); ++j) values[op->outputs[j]] = out[j];
    if (op->row->alias >= 0) values[op->inputs[static_cast<size_t>(op->row->alias)]] = out[0];
  }
  std::vector<Array> result;
  for (const Tensor* t : graph.outputs()) result.push_back(value(t));
  return result;
}

/// Runs a plan alone: its inputs are variables of the caller.
std::vector<Array> planned(Ir& ir, Graph& graph, const std::vector<Array>& inputs) {
  Graph& g = ir.main();
  std::vector<Tensor*> given;
  for (const Array& a : inputs) given.push_back(g.add_variable(a, "v"));
  Op* call = g.add_call(graph, given);
  std::vector<Stream*> streams;
  for (Tensor* t : call->outputs) streams.push_back(&store(ir, t));
  Session s(std::shared_ptr<Ir>(&ir, [](Ir*) {}), "cpu");
  auto first_run = s.run({}), second = s.run({});
  std::vector<Array> result;
  for (size_t j = 0; j < streams.size(); ++j) {
    CHECK(identical(first_run.at(streams[j]), second.at(streams[j])));
    result.push_back(second.at(streams[j]));
  }
  for (size_t i = 0; i < given.size(); ++i) CHECK(identical(s.get_tensor_data(given[i]), inputs[i]));
  return result;
}

void check_disjoint(const Plan& plan) {
  const auto& all = plan.buffers;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind != Buffer::Kind::arena) continue;
    CHECK(all[i].offset % arena_alignment == 0);
    CHECK(all[i].offset + all[i].bytes <= plan.arena_bytes);
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (all[j].kind != Buffer::Kind::arena || all[i].last < all[j].first || all[j].last < all[i].first) continue;
      const bool apart = all[i].offset + all[i].bytes <= all[j].offset || all[j].offset + all[j].bytes <= all[i].offset;
      CHECK_MESSAGE(apart, print_plan(plan));
    }
  }
}

/// A graph on matrices that have one shape: elementwise ops, products, transpositions, reshapes, in-place updates,
/// calls.
class RandomGraph {
 public:
  RandomGraph(Ir& ir, uint32_t seed) : ir_(ir), random_(seed) {}

  Graph& make(int size, std::vector<Graph*> callable) {
    Graph& g = ir_.create_graph("random");
    Ops op(g);
    InSequence order(g, InSequence::Mode::yes);
    std::vector<Tensor*> live;
    for (int i = 0; i < 3; ++i) live.push_back(g.add_input(spec_, "x"));
    live.push_back(op("negate", {op.constant(counting(spec_.shape, -4))}));
    const auto any = [&] { return live[random_() % live.size()]; };
    for (int i = 0; i < size; ++i) {
      switch (random_() % 9) {
        case 0: live.push_back(op("add", {any(), any()})); break;
        case 1: live.push_back(op("sub", {any(), any()})); break;
        case 2: live.push_back(op("relu", {any()})); break;
        case 3: live.push_back(op("tanh", {any()})); break;
        case 4: live.push_back(op("matmul", {op("tanh", {any()}), any()})); break;
        case 5: {
          Tensor* t = op("transpose", {any()});
          live.push_back(op("matmul", {t, op("tanh", {any()})}));
          if (random_() % 3 == 0) live.push_back(t);
          break;
        }
        case 6: {
          Tensor* flat = op("reshape", {any()}, {{"shape", std::vector<int64_t>{9}}});
          if (random_() % 2) flat = op("relu_", {flat});
          live.push_back(op("reshape", {flat}, {{"shape", std::vector<int64_t>{3, 3}}}));
          break;
        }
        case 7: {
          // The update is in place, and later ops read only its result: the naive evaluator knows no other aliases.
          const size_t k = random_() % live.size();
          Tensor* operand = any();
          if (operand == live[k]) break;
          live[k] = op("add_", {live[k], operand});
          break;
        }
        default: {
          if (callable.empty()) break;
          Graph& f = *callable[random_() % callable.size()];
          Op* call = g.add_call(f, {any(), any(), any()});
          for (Tensor* t : call->outputs) live.push_back(t);
        }
      }
    }
    for (int i = 0; i < 3; ++i) g.add_output(any());
    return g;
  }

 private:
  Ir& ir_;
  std::mt19937 random_;
  TensorSpec spec_{{3, 3}, DType::float32, {}};
};

}  // namespace

TEST_CASE("offsets of live intervals are disjoint and tight where possible") {
  std::vector<Interval> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({1000, i, i + 1, 0});
  CHECK(assign_offsets(chain) == 2 * 1024);
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> all;
    for (int i = 0; i < 60; ++i) {
      const int a = static_cast<int>(random() % 40);
      all.push_back({static_cast<int64_t>(random() % 5000), a, a + static_cast<int>(random() % 10), 0});
    }
    const int64_t total = assign_offsets(all);
    for (size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i].offset + all[i].bytes <= total);
      for (size_t j = 0; j < i; ++j)
        if (all[i].first <= all[j].last && all[j].first <= all[i].last)
          CHECK((all[i].offset + all[i].bytes <= all[j].offset || all[j].offset + all[j].bytes <= all[i].offset));
    }
  }
}

TEST_CASE("offsets of many intervals are disjoint and take little more than what lives at once") {
  std::mt19937 random(11);
  std::vector<Interval> all;
  for (int i = 0; i < 9000; ++i) {
    const int first = static_cast<int>(random() % 20'000), length = static_cast<int>(random() % 200);
    all.push_back({static_cast<int64_t>(random() % 3000), first, first + length, 0});
  }
  const int64_t total = assign_offsets(all);
  std::vector<size_t> by_first(all.size());
  for (size_t i = 0; i < all.size(); ++i) by_first[i] = i;
  std::sort(by_first.begin(), by_first.end(), [&](size_t a, size_t b) { return all[a].first < all[b].first; });
  std::vector<size_t> live;
  int64_t most = 0;
  bool disjoint = true;
  for (size_t i : by_first) {
    std::erase_if(live, [&](size_t j) { return all[j].last < all[i].first; });
    int64_t bytes = all[i].bytes;
    for (size_t j : live) {
      bytes += all[j].bytes;
      disjoint =
          disjoint && (all[i].offset + all[i].bytes <= all[j].offset || all[j].offset + all[j].bytes <= all[i].offset);
    }
    live.push_back(i);
    most = std::max(most, bytes);
    disjoint = disjoint && all[i].offset >= 0 && all[i].offset + all[i].bytes <= total;
  }
  CHECK(disjoint);
  CHECK(total <= 2 * most);
  // A chain of equal results needs two places, and two more for those placed by time.
  std::vector<Interval> chain;
  for (int i = 0; i < 10'000; ++i) chain.push_back({1000, i, i + 1, 0});
  CHECK(assign_offsets(chain) == 4 * 1024);
}

TEST_CASE("random graphs give the bits of an evaluator without sharing") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Ir ir;
    RandomGraph random(ir, seed);
    Graph& leaf = random.make(6, {});
    Graph& middle = random.make(10, {&leaf});
    Graph& top = random.make(25, {&leaf, &middle});
    Planner planner;
    planner.plan(top);
    for (const Plan* plan : planner.plans()) check_disjoint(*plan);
    const std::vector<Array> inputs = {counting({3, 3}, -2), counting({3, 3}, 1),
                                       Array::full(DType::float32, {3, 3}, 0.5)};
    const auto expected = naive(top, inputs), got = planned(ir, top, inputs);
    REQUIRE(expected.size() == got.size());
    for (size_t j = 0; j < got.size(); ++j)
      CHECK_MESSAGE(identical(expected[j], got[j]), print_plan(planner.plan(top)));
  }
}

TEST_CASE("elementwise chains run in place, views cost nothing") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  Ops op(g);
  Tensor* x = g.add_input({{64, 64}, DType::float32, {}}, "x");
  Tensor* t = op("tanh", {x});
  for (int i = 0; i < 5; ++i)
    t = op("relu", {op("reshape", {t}, {{"shape", std::vector<int64_t>{i % 2 ? 64 : 4096, i % 2 ? 64 : 1}}})});
  g.add_output(op("add", {t, t}));
  PlanOptions only_flat = PlanOptions::reference();
  only_flat.off &= ~(1U << pass_index("flatten_calls"));
  Planner planner(only_flat);
  const Plan& plan = planner.plan(g);
  CHECK(plan.instructions.size() == 7);
  CHECK(plan.arena_bytes <= 64 * 64 * 4);
  CHECK_CONTAINS(print_plan(plan), "Plan : f_subgraph(0)");
  // Fused, they are one item that passes over the data once.
  Planner fusing(PlanOptions{});
  CHECK(fusing.plan(g).instructions.size() < plan.instructions.size());
  check_disjoint(fusing.plan(g));
}

TEST_CASE("transpositions that only products read are folded") {
  for (const bool batched : {false, true}) {
    Ir ir;
    Graph& g = ir.create_graph("f");
    Ops op(g);
    const Shape as = batched ? Shape{2, 4, 3} : Shape{4, 3}, bs = batched ? Shape{2, 5, 4} : Shape{5, 4};
    const std::vector<int64_t> swap = batched ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{1, 0};
    Tensor* a = g.add_input({as, DType::float32, {}}, "a");
    Tensor* b = g.add_input({bs, DType::float32, {}}, "b");
    Tensor* at = op("transpose", {a}, {{"permutation", swap}});
    Tensor* bt = op("transpose", {b}, {{"permutation", swap}});
    g.add_output(op("matmul", {at, bt}));
    Planner planner;
    CHECK(planner.plan(g).instructions.size() == 1);
    CHECK_CONTAINS(print_plan(planner.plan(g)), "lhs transposed rhs transposed");
    const std::vector<Array> inputs = {counting(as), counting(bs, -7)};
    CHECK(identical(planned(ir, g, inputs)[0], naive(g, inputs)[0]));
  }
  // Not where somebody else reads the transposed tensor, nor where the source changes in between.
  Ir ir;
  Graph& g = ir.create_graph("f");
  Ops op(g);
  InSequence order(g, InSequence::Mode::yes);
  Tensor* a = g.add_input({{3, 3}, DType::float32, {}}, "a", true);
  Tensor* b = g.add_input({{3, 3}, DType::float32, {}}, "b");
  Tensor* at = op("transpose", {a});
  op("add_", {a, b});
  g.add_output(op("matmul", {at, b}));
  Tensor* bt = op("transpose", {b});
  g.add_output(op("matmul", {bt, b}));
  g.add_output(op("relu", {bt}));
  Planner planner;
  CHECK(planner.plan(g).instructions.size() == 6);
}

TEST_CASE("work that nobody reads is left out, loads overwrite without clearing first") {
  auto ir = std::make_shared<Ir>();
  Graph& g = ir->main();
  Ops op(g);
  Stream& in = ir->add_stream({{2}, DType::float32, {}}, "in", true);
  Tensor* x = g.add_host_load(in, "x")->outputs[0];
  op("tanh", {x});
  store(*ir, op("relu", {x}));
  Planner planner;
  CHECK(planner.plan(g).instructions.size() == 3);
}
