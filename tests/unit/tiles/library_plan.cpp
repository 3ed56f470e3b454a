// Plans of products as PopLibs' planner counts them, and one cut for the products of a variable.
#include "runtime/tiles/candidates/library_plan.hpp"

#include <doctest/doctest.h>

#include "runtime/tiles/candidates/joint_products.hpp"
#include "runtime/transform/autodiff.hpp"
#include "tests/unit/tiles/consistent.hpp"
#include "tests/unit/tiles/programs.hpp"

using namespace pxl;
using namespace pxl::tiles;
using namespace pxl::tiles::test;

namespace {

ProductProblem problem(int64_t groups, int64_t rows, int64_t depth, int64_t columns, int64_t operand, int64_t partial) {
  ProductProblem p{groups, rows, depth, columns, operand, partial, operand};
  if (groups > 1) p.group_axes = {groups}, p.a_groups = 1;
  p.row_axes = {rows};
  return p;
}

/// The part counts that divide a multiple of 16 into multiples of 16.
std::vector<int64_t> even_counts(int64_t extent) {
  std::vector<int64_t> counts;
  for (int64_t n = 1; n <= extent / 16; ++n)
    if (extent % (16 * n) == 0) counts.push_back(n);
  return counts;
}

/// y = x w in a graph that is called once for each variable, and the gradients of the calls.
void training(Ir& ir) {
  Graph& layer = ir.create_graph("Layer");
  Tensor* x = layer.add_input(spec({4, 512}), "x");
  Tensor* w = layer.add_input(spec({512, 512}), "w", true);
  layer.add_output(op("gelu", {op("matmul", {x, w})}));
  Tensor *first = variable(ir, {512, 512}, "w0"), *second = variable(ir, {512, 512}, "w1");
  Op* a = ir.main().add_call(layer, {variable(ir, {4, 512}, "x"), first});
  Op* b = ir.main().add_call(layer, {a->outputs[0], second});
  const Backward of_b = backward(*b, {b->outputs[0]}, {a->outputs[0], second});
  const Backward of_a = backward(*a, {of_b.gradients[0]}, {first});
  op("scaled_add_", {first, of_a.gradients[0]}, {{"a", 1.0}, {"b", -0.1}});
  op("scaled_add_", {second, of_b.gradients[1]}, {{"a", 1.0}, {"b", -0.1}});
}

EstimateOptions options_of(bool separately) {
  EstimateOptions options;
  options.machine = parse_machine("mk2");
  options.candidates.separately = separately;
  options.candidates.copies = !separately;
  return options;
}

}  // namespace

TEST_CASE("the library's cut has the fewest cycles that its planner counts") {
  for (const char* machine : {"mk2,tiles=24", "mk2,tiles=64", "c600,tiles=96"}) {
    const Machine m = parse_machine(machine);
    for (const ProductProblem& p : {problem(1, 64, 96, 160, 2, 2), problem(4, 48, 64, 32, 2, 2),
                                    problem(1, 16, 512, 48, 2, 4), problem(1, 160, 32, 320, 2, 4)}) {
      const int64_t bound = 1 << 20, found = library_cycles(m, p, library_cut(m, p, bound));
      for (int64_t g = 1; g <= p.groups; g *= 2)
        for (const int64_t r : even_counts(p.rows))
          for (const int64_t d : even_counts(p.depth))
            for (const int64_t c : even_counts(p.columns))
              for (const ProductOperands operands : {ProductOperands::straight, ProductOperands::swapped}) {
                ProductCut cut{g, r, d, c};
                cut.operands = operands;
                if (operands == ProductOperands::swapped) cut.order = ProductOrder::columns_depth_rows;
                if (cut.tiles() <= m.tiles) CHECK(found <= library_cycles(m, p, cut));
              }
    }
  }
}

TEST_CASE("the library's cuts are those that were recorded") {
  // Products of a ViT's layer in float16 throughout, whose vertices were timed (ipu-stack, C600): 16 rows by 365
  // columns of scores on a tile, swapped; cycles of the others follow from their blocks within 1 %.
  const Machine c600 = parse_machine("c600");
  const int64_t bound = c600.memory * 6 / 10;
  const ProductProblem scores = problem(16, 729, 72, 729, 2, 2);
  const ProductCut cut = library_cut(c600, scores, bound);
  CHECK(cut.groups == 16);
  CHECK(cut.operands == ProductOperands::swapped);
  CHECK(cut.rows == 46);
  CHECK(cut.columns == 2);
  for (const auto& [p, cycles] :
       std::vector<std::pair<ProductProblem, int64_t>>{{scores, 8488},
                                                       {problem(1, 729, 1152, 3456, 2, 2), 37277},
                                                       {problem(16, 729, 729, 72, 2, 2), 12900},
                                                       {problem(1, 729, 1152, 1152, 2, 2), 14153},
                                                       {problem(1, 729, 1152, 4304, 2, 2), 48248},
                                                       {problem(1, 729, 4304, 1152, 2, 2), 52187}}) {
    const ProductCut found = library_cut(c600, p, bound);
    const double planned = static_cast<double>(compute_cost(c600, p, block_of(p, found), found.operands).cycles);
    CHECK(planned == doctest::Approx(static_cast<double>(cycles)).epsilon(0.01));
  }
}

TEST_CASE("the library's cut keeps the bound on temporary memory where it can") {
  const Machine m = parse_machine("mk2");
  const ProductProblem p = problem(1, 729, 1152, 4304, 2, 2);
  const int64_t free = library_temp_bytes(m, p, library_cut(m, p, 1 << 20));
  const ProductCut tight = library_cut(m, p, free * 9 / 10);
  CHECK(library_temp_bytes(m, p, tight) <= free * 9 / 10);
  CHECK(library_cycles(m, p, tight) >= library_cycles(m, p, library_cut(m, p, 1 << 20)));
}

TEST_CASE("the library's cut of attention scores is the recorded one") {
  // 16 heads of [729, 72] x [72, 729]: 365 by 16 scores a tile (ipu-stack, C600).
  const ProductCut cut = library_cut(parse_machine("c600"), problem(16, 729, 72, 729, 2, 2), 1 << 20);
  CHECK(cut.groups == 16);
  CHECK(std::max(cut.rows, cut.columns) == 46);
  CHECK(std::min(cut.rows, cut.columns) == 2);
  CHECK(cut.depth == 1);
}

TEST_CASE("neighbouring tiles share the right operand where rows are numbered last") {
  const Machine mk2 = parse_machine("mk2");
  const ProductProblem p = problem(1, 64, 64, 256, 2, 2);
  const auto exchange = [&](int64_t rows) {
    ProductCut cut{1, rows, 1, 4};
    cut.order = ProductOrder::columns_depth_rows;
    OpCandidate candidate;
    add_product_steps(mk2, p, cut, candidate);
    return candidate.steps[1].traffic;
  };
  CHECK(exchange(4).paired_in == 64 * 64 * 2 * 3 / 4);
  CHECK(exchange(3).paired_in == 0);
}

TEST_CASE("products of a variable are found through calls and transpositions") {
  Ir ir;
  training(ir);
  const MappedProgram program(ir.main(), options_of(true));
  const std::vector<JointProducts> found = find_joint_products(program.graphs());
  REQUIRE(found.size() == 1);  // the graph of the layer exists once
  REQUIRE(found[0].data);
  REQUIRE(found[0].weights);
  CHECK(found[0].data->outputs[0]->spec == found[0].forward->inputs[0]->spec);
  CHECK(found[0].weights->outputs[0]->spec == found[0].forward->inputs[1]->spec);
}

TEST_CASE("planned with its gradients, a variable lies where its gradient is made") {
  Ir ir;
  training(ir);
  const Report r = estimate(ir.main(), options_of(true));
  check_consistent(r);
  // The variable and its gradient stay where they are; activations are smaller.
  for (const ReportStep& s : r.steps)
    if (s.what.ends_with("layout")) CHECK(s.bytes <= 4 * 512 * 2);
  check_consistent(estimate(ir.main(), options_of(false)));
}
