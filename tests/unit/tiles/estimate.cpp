// Reports of whole programs: conservation, outlining, fitting, determinism.
#include "runtime/tiles/estimate.hpp"

#include <doctest/doctest.h>

#include <set>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/report/report_json.hpp"
#include "tests/unit/tiles/consistent.hpp"
#include "tests/unit/tiles/programs.hpp"

using namespace pxl;
using namespace pxl::tiles;
using namespace pxl::tiles::test;

namespace {

const ReportCandidate& chosen(const ReportOp& op) {
  for (const ReportCandidate& p : op.alternatives)
    if (p.chosen) return p;
  throw Error("no candidate is chosen");
}

int64_t total(const Report& r, MemoryCategory c) { return r.memory[static_cast<size_t>(c)]; }

}  // namespace

TEST_CASE("a chain of layers") {
  Ir ir;
  Tensor* x = variable(ir, {512, 1024}, "x");
  layers(ir, x, 3, false);
  const Report r = report(ir);
  check_consistent(r);
  CHECK(r.fits);
  CHECK(r.ops.size() == 9);
  CHECK(r.parameter_bytes == 2 * (512 * 1024 + 3 * (1024 * 1024 + 1024)));
  CHECK(total(r, MemoryCategory::weights) >= r.parameter_bytes);
  CHECK(r.flops > 3LL * 2 * 512 * 1024 * 1024);
  CHECK(r.cycles.exchange > 0);
  CHECK(r.useful_permille < 1000);
  // The lower bound is the time of the multiplications at the units' rate.
  CHECK(r.cycles.device() > 3LL * 512 * 1024 * 1024 / (1472 * 32));
  CHECK(summary_text(r).find("the program fits") != std::string::npos);
}

TEST_CASE("the same program gives the same report") {
  std::string texts[2];
  for (std::string& t : texts) {
    Ir ir;
    layers(ir, variable(ir, {512, 1024}, "x"), 4, true);
    t = summary_text(report(ir), 100);
  }
  CHECK(texts[0] == texts[1]);
}

TEST_CASE("outlined layers count their code once and pay copies of arguments") {
  Ir flat, called;
  layers(flat, variable(flat, {512, 1024}, "x"), 6, false);
  layers(called, variable(called, {512, 1024}, "x"), 6, true);
  const Report unrolled = report(flat), outlined = report(called);
  check_consistent(unrolled);
  check_consistent(outlined);
  CHECK(outlined.graphs.size() == 2);
  CHECK(outlined.graphs[1].calls == 6);
  CHECK(outlined.graphs[1].runs == 6);
  CHECK(outlined.graphs[1].copied_bytes >= 6 * 2 * 1024 * 1024);
  CHECK(outlined.graphs[1].saved_bytes == 5 * outlined.graphs[1].code_bytes);
  CHECK(total(outlined, MemoryCategory::vertex_state) * 5 < total(unrolled, MemoryCategory::vertex_state) * 1);
  CHECK(total(outlined, MemoryCategory::exchange_code) < total(unrolled, MemoryCategory::exchange_code));
  // Weights that lie in copies lie so for both, or not.
  EstimateOptions once;
  once.machine = parse_machine("mk2");
  once.candidates.copies = false;
  CHECK(total(estimate(flat.main(), once), MemoryCategory::weights) ==
        total(estimate(called.main(), once), MemoryCategory::weights));
}

TEST_CASE("a program that does not fit is a report") {
  Ir ir;
  layers(ir, variable(ir, {4096, 4096}, "x"), 2, false);
  const Report r = report(ir, "mk2,tiles=8");
  check_consistent(r);
  CHECK_FALSE(r.fits);
  REQUIRE_FALSE(r.shortages.empty());
  const Shortage& s = r.shortages[0];
  CHECK(s.needed > s.available);
  CHECK(s.tile == r.fullest_tile);
  CHECK(s.op >= 0);
  REQUIRE_FALSE(s.tensors.empty());
  for (size_t i = 1; i < s.tensors.size(); ++i) CHECK(s.tensors[i].bytes <= s.tensors[i - 1].bytes);
  CHECK(summary_text(r).find("does not fit: tile") != std::string::npos);
}

TEST_CASE("candidates respect the bound on temporary memory, at a cost in cycles") {
  int64_t fastest = 0;
  for (const int64_t permille : {900, 300, 180}) {
    Ir ir;
    op("matmul", {variable(ir, {2048, 2048}, "a"), variable(ir, {2048, 2048}, "b")});
    const Report r = report(ir, "mk2", permille);
    CAPTURE(permille);
    CHECK(chosen(r.ops[0]).temp_bytes <= 638'976 * permille / 1000);
    CHECK(r.cycles.total() >= fastest);
    if (fastest == 0) fastest = r.cycles.total();
  }
}

TEST_CASE("all families of products are enumerated, and the faster one is chosen") {
  std::set<std::string> families;
  for (const int64_t permille : {600, 60, 10}) {
    Ir ir;
    op("matmul", {op("gelu", {variable(ir, {2048, 2048}, "a")}), variable(ir, {2048, 2048}, "b")});
    const Report r = report(ir, "mk2", permille);
    const ReportOp& product = r.ops[1];
    families.insert(chosen(product).variant);
    std::set<std::string> offered;
    for (const ReportCandidate& c : product.alternatives) offered.insert(c.variant);
    if (permille == 600) CHECK(offered.size() >= 3);
  }
  CHECK(families.size() >= 2);
}

TEST_CASE("memory proportions of single ops") {
  EstimateOptions options;
  parse_memory_proportions("0.5,MatMul=0.02", options);
  CHECK(options.candidates.available_memory_permille == 500);
  Ir ir;
  op("matmul", {variable(ir, {2048, 2048}, "a"), variable(ir, {2048, 2048}, "b")});
  const Report tight = estimate(ir.main(), options), loose = report(ir, "bow", 500);
  CHECK(chosen(tight.ops[0]).temp_bytes < chosen(loose.ops[0]).temp_bytes);
  CHECK_THROWS_AS(parse_memory_proportions("1.5", options), Error);
  CHECK_THROWS_AS(parse_memory_proportions("MatMul=", options), Error);
  CHECK_THROWS_WITH_AS(parse_memory_proportions("MatMull=0.2", options),
                       doctest::Contains("unknown op `MatMull`; did you mean `MatMul`?"), Error);
}

TEST_CASE("every op of the table has a strategy with candidates") {
  // Ops run by name, on operands that most ops accept.
  for (const OpRow* row : op_table()) {
    if (row->role == Role::composite) continue;
    CAPTURE(row->name);
    CHECK_NOTHROW(strategy_info(row->tiles.strategy));
    CHECK(strategy_info(row->tiles.strategy).is_call() == (row->tiles.strategy == TileStrategy::control));
  }
}

TEST_CASE("a loop body has its code once and runs many times") {
  const auto with_count = [](int64_t count) {
    Ir ir;
    Graph& body = ir.create_graph("Body");
    Tensor* in = body.add_input(spec({256, 256}), "x");
    body.add_output(op("gelu", {in}));
    Attributes attrs(get_op("loop").params.size());
    attrs[1] = count;
    ir.main().add_control(get_op("loop"), {&body}, {variable(ir, {256, 256}, "x")}, attrs);
    return report(ir);
  };
  const Report once = with_count(1), often = with_count(1000);
  check_consistent(often);
  CHECK(often.graphs[1].runs == 1000);
  CHECK(often.graphs[1].calls == 1);
  CHECK(often.timeline.size() == once.timeline.size());
  CHECK(often.cycles.total() > 900 * once.graphs[1].cycles);
  CHECK(often.memory == once.memory);
}

TEST_CASE("extreme programs terminate") {
  // Operands larger than any machine, in a graph that never runs.
  Ir ir;
  Graph& g = ir.create_graph("Huge");
  Tensor* a = g.add_input(spec({int64_t{1} << 20, int64_t{1} << 22}), "a");
  Tensor* b = g.add_input(spec({int64_t{1} << 22, int64_t{1} << 20}), "b");
  g.add_output(op("sum", {op("softmax", {op("matmul", {a, b})}, {{"axis", int64_t{-1}}})}));
  EstimateOptions options;
  const Report r = estimate(g, options);
  CHECK_FALSE(r.fits);
  CHECK(r.cycles.total() > 0);
  for (const TileMemory& t : r.tiles) CHECK(t.total > 0);
  // A single tile, and a tensor without elements.
  Ir small;
  op("add", {variable(small, {0, 4}, "x"), variable(small, {4}, "y")});
  CHECK(report(small, "mk1,tiles=1").fits);
  // Calls that double at each level: more steps than the report keeps.
  Ir deep;
  Graph* below = nullptr;
  for (int i = 0; i < 30; ++i) {
    Graph& next = deep.create_graph("Level");
    Tensor* x = next.add_input(spec({8}), "x");
    for (int k = 0; k < 2; ++k) x = below ? next.add_call(*below, {x})->outputs[0] : op("gelu", {x});
    next.add_output(x);
    below = &next;
  }
  deep.main().add_call(*below, {variable(deep, {8}, "x")});
  const Report many = report(deep);
  CHECK_FALSE(many.timeline_complete);
  CHECK(many.timeline.size() >= 40'000);
  // The summary mentions the truncation.
  CHECK(summary_text(many).find("more steps than are kept") != std::string::npos);
  const std::string trace = trace_text({&many, 1});
  CHECK(trace.find("\"complete\":false") != std::string::npos);
  CHECK(trace.find("the run goes on") != std::string::npos);
  CHECK(many.graphs.back().runs == int64_t{1} << 29);
}

TEST_CASE("float8 products run at twice the rate with float8 units, otherwise through float16") {
  const auto cycles = [](DType dtype, const char* machine, std::string_view product, Shape a, Shape b) {
    Ir ir;
    Tensor* w = variable(ir, std::move(b), "w", dtype);
    Tensor* x = variable(ir, std::move(a), "x", dtype);
    if (is_float8(dtype))
      op(product, {x, w, ir.main().add_variable(Array::scalar(int32_t{0}), "scale")});
    else
      op(product.substr(0, product.find('_')), {x, w});
    EstimateOptions options;
    options.machine = parse_machine(machine);
    options.candidates.half_partial_bytes = 2;
    const Report r = estimate(ir.main(), options);
    check_consistent(r);
    CHECK(r.ops.size() == 1);
    return r.cycles;
  };
  struct Product {
    const char* name;
    Shape a, b;
  };
  for (const Product& p : {Product{"matmul_pow2scaled", {2048, 2048}, {2048, 2048}},
                           Product{"conv_pow2scaled", {8, 256, 32, 32}, {256, 256, 3, 3}}}) {
    const PhaseCycles half = cycles(DType::float16, "c600", p.name, p.a, p.b);
    const PhaseCycles eight = cycles(DType::float8_143, "c600", p.name, p.a, p.b);
    CAPTURE(std::string(p.name));
    CHECK(eight.compute * 10 < half.compute * 7);
    CHECK(eight.compute * 2 > half.compute * 8 / 10);
    // Without float8 units, computes as in float16; one-byte operands are exchanged faster.
    const PhaseCycles other = cycles(DType::float8_143, "bow", p.name, p.a, p.b);
    CHECK(other.compute > eight.compute);
    CHECK(other.device() * 10 > half.device() * 9);
    CHECK(other.device() * 10 < half.device() * 13);
  }
}
