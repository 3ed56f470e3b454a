// Cuts as text: a schedule is printed, read and printed again; edits; errors with a place; mutated lines.
#include <doctest/doctest.h>

#include <random>

#include "runtime/tiles/cuts/schedule_cuts.hpp"
#include "tests/unit/tiles/programs.hpp"

using namespace pxl;
using namespace pxl::tiles;
using namespace pxl::tiles::test;

namespace {

/// Ops of each kind of cut: convolution, table, product, and mappings of pools, rows, sums, movements and views.
void small_net(Ir& ir) {
  Tensor* image = variable(ir, {4, 3, 8, 8}, "image");
  Tensor* h = op("conv", {image, variable(ir, {8, 3, 3, 3}, "kernel")});
  h = op("max_pool", {op("relu", {h})}, {{"kernel_size", std::vector<int64_t>{2, 2}}});
  h = op("sum", {h}, {{"axis", std::vector<int64_t>{2, 3}}});
  Tensor* labels = variable(ir, {4}, "labels", DType::int32);
  h = op("add", {h, op("gather", {variable(ir, {10, 8}, "table"), labels})});
  h = op("matmul", {h, variable(ir, {8, 12}, "w")});
  op("transpose", {op("softmax", {h}, {{"axis", int64_t{-1}}})}, {{"permutation", std::vector<int64_t>{1, 0}}});
}

EstimateOptions options_of(std::string_view machine, const std::string& cuts = {}, CutUse use = CutUse::exact) {
  EstimateOptions options;
  options.machine = parse_machine(machine);
  options.cut_program = "net";
  if (!cuts.empty()) options.cuts = std::make_shared<const CutFile>("net.cuts", cuts, use);
  return options;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

/// The line that begins with these words, without its comment.
std::string line_with(const std::string& text, std::string_view words) {
  const size_t at = text.find("\n" + std::string(words)) + 1;
  REQUIRE(at > 0);
  const std::string line = text.substr(at, text.find('\n', at) - at);
  return line.substr(0, line.find(" # "));
}

std::string error_of(const Ir& ir, std::string_view machine, const std::string& cuts) {
  try {
    const EstimateOptions options = options_of(machine, cuts);
    const Schedule s = plan(ir.main(), options);
    if (!s.report.fits) throw cuts_shortage(s, ir.main(), options);
  } catch (const Error& e) {
    CHECK(e.first().span);
    return render(e.first());
  }
  return "no error";
}

}  // namespace

TEST_CASE("a schedule that was printed and read prints equal text and has equal cycles") {
  Ir net, unrolled, outlined;
  small_net(net);
  layers(unrolled, variable(unrolled, {64, 256}, "x"), 3, false);
  layers(outlined, variable(outlined, {64, 256}, "x"), 3, true);
  for (const Ir* ir : {&net, &unrolled, &outlined})
    for (const std::string_view machine : {"mk2,tiles=16", "mk2", "bow,tiles=61", "wormhole"}) {
      CAPTURE(machine);
      const Schedule found = plan(ir->main(), options_of(machine));
      const std::string text = cuts_text(found, "net");
      const Schedule read = plan(ir->main(), options_of(machine, text));
      CHECK(cuts_text(read, "net") == text);
      CHECK(read.report.cycles.device() == found.report.cycles.device());
      const CutCounts counts = count_cuts(read);
      CHECK(counts.taken == counts.all);
    }
}

TEST_CASE("a cut that is edited is the plan; a line that is left out is searched") {
  Ir ir;
  small_net(ir);
  const Schedule found = plan(ir.main(), options_of("mk2,tiles=16"));
  const std::string text = cuts_text(found, "net"), line = line_with(text, "matmul_out");
  const std::string other =
      line.substr(0, line.find('=')) + "= rows 2, depth 2, columns 3, operands straight, partials float16";
  const Schedule edited = plan(ir.main(), options_of("mk2,tiles=16", replaced(text, line, other)));
  CHECK(line_with(cuts_text(edited, "net"), "matmul_out") == line_with("\n" + other + "\n", "matmul_out"));
  const std::string only = "[net]\n" + other + "\n";
  const Schedule one = plan(ir.main(), options_of("mk2,tiles=16", only));
  CHECK(count_cuts(one).taken == 1);
  CHECK(one.report.cycles.device() <= edited.report.cycles.device());
  CHECK(cuts_difference(edited, found).find("ops have another cut") != std::string::npos);
}

TEST_CASE("a cut that the program cannot have is an error with its place and the way out") {
  Ir ir;
  small_net(ir);
  const std::string text = cuts_text(plan(ir.main(), options_of("mk2,tiles=16")), "net"),
                    line = line_with(text, "matmul_out");
  const std::string head = line.substr(0, line.find('='));
  const auto with = [&](const std::string& cut) {
    return error_of(ir, "mk2,tiles=16", "[net]\n" + head + "= " + cut + "\n");
  };
  const auto has = [](const std::string& error, std::string_view what) {
    CAPTURE(error);
    CHECK(error.find(what) != error.npos);
    CHECK(error.find("net.cuts:2:") != error.npos);
  };
  has(with("rows 5"), "the rows of this op: 1 to 4 parts, not 5");
  has(with("rows 4, columns 12"), "the cut takes 48 tiles, the machine has 16");
  has(with("colums 2"), "a cut of MatMul has no `colums`; did you mean `columns`?");
  has(with("columns 2, steps 2"), "`rotate` and `steps` belong together");
  has(with("columns 2, copies left"), "an op computes this operand");
  has(with("operand blocks 4x9"), "axis 1 of float16[4, 8] has 1 to 8 parts");
  has(with("operand flat 3 grain 7"), "no way to run MatMul has this cut");
  has(with("rows two"), "expected a number for `rows`, got `two`");
  has(error_of(ir, "mk2,tiles=16", "[net]\nmatmul_oot" + head.substr(10) + "= rows 2\n"),
      "did you mean `matmul_out MatMul`?");
  has(error_of(ir, "mk2,tiles=16", "[net]\n" + replaced(head, "12]", "13]") + "= rows 2\n"), "has other specs");
  const std::string store = error_of(ir, "mk2,tiles=4,memory=12000,executable=12000",
                                     "[net]\ntable variable float16[10,8] = stored blocks 1x1 copies 4\n");
  CHECK((store == "no error" || store.find("the cuts do not fit") != store.npos));
}

TEST_CASE("cuts of another run are a start: those that do not match are searched") {
  Ir ir, wider;
  layers(ir, variable(ir, {64, 256}, "x"), 3, false);
  layers(wider, variable(wider, {64, 256}, "x"), 4, false);
  const std::string text = cuts_text(plan(ir.main(), options_of("mk2,tiles=64")), "net");
  const CutCounts counts = count_cuts(plan(wider.main(), options_of("mk2,tiles=64", text, CutUse::start)));
  CHECK(counts.taken > 0);
  CHECK(counts.taken < counts.all);
  // Cuts for 64 tiles cannot all be those of 8.
  const CutCounts fewer = count_cuts(plan(ir.main(), options_of("mk2,tiles=8", text, CutUse::start)));
  CHECK(fewer.taken < fewer.all);
}

TEST_CASE("mutated lines are plans or errors with a place") {
  Ir ir;
  small_net(ir);
  const std::string text = cuts_text(plan(ir.main(), options_of("mk2,tiles=16")), "net");
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  constexpr std::string_view pieces[] = {"0",           "1",
                                         "3",           "16",
                                         "99999999999", "-1",
                                         "x",           ",",
                                         " ",           "=",
                                         "#",           "[",
                                         "\"",          "\\",
                                         "blocks",      "flat",
                                         "grain",       "all ",
                                         "rows ",       "steps 2",
                                         "rotate",      "way",
                                         "first",       "copies 2",
                                         "spread 4",    "group 4 axis 1",
                                         "strides 1x1", "\n",
                                         "\xc3"};
  int plans = 0, errors = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string mutated = text;
    for (size_t n = 1 + below(2); n > 0; --n) {
      // Half of the mutations change a digit, so that many texts are still cuts.
      size_t at = below(mutated.size());
      if (below(2) == 0) at = std::min(mutated.find_first_of("0123456789", at), mutated.size() - 1);
      mutated.replace(at, below(2), pieces[below(std::size(pieces))]);
    }
    try {
      const EstimateOptions options = options_of("mk2,tiles=16", mutated, i % 4 == 0 ? CutUse::start : CutUse::exact);
      CHECK(plan(ir.main(), options).report.cycles.device() >= 0);
      ++plans;
    } catch (const Error& e) {
      CAPTURE(render(e.first()));
      CHECK(e.first().fault == Fault::refused);
      CHECK(e.first().span);
      ++errors;
    }
  }
  CHECK(plans > 100);
  CHECK(errors > 100);
}
