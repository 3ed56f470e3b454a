// Updates of a few bytes wait for what may fail; what depends on them waits as well.
#include <algorithm>

#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Counted : SmallProgram {
  InSequence order;
  Tensor *count, *table, *indices;

  Counted()
      : order(ir->main(), InSequence::Mode::yes),
        count(variable({}, 1)),
        table(variable({8, 4}, 0)),
        indices(ir->main().add_variable(zeros(), "i")) {}

  static Array zeros() {
    Array a(DType::int32, {3});
    std::fill_n(a.mutable_data<int32_t>(), 3, 0);
    return a;
  }

  Tensor* counted() { return op("accumulate_", {count, variable({}, 1)}); }
  Tensor* read(Tensor* at) { return op("gather", {table, at}); }
  /// Whether the plan updates the count before it reads rows.
  bool counts_first() const {
    const std::string text = plan(PlanOptions().without("fuse_elementwise"));
    REQUIRE(text.find("Accumulate.") != std::string::npos);
    REQUIRE(text.find("Gather.") != std::string::npos);
    return text.find("Accumulate.") < text.find("Gather.");
  }
};

}  // namespace

TEST_CASE("a count waits for what may fail, with what follows from it") {
  Counted p;
  Tensor* rate = p.op("sqrt", {p.counted()});
  p.give(p.op("mul", {p.read(p.indices), rate}));
  CHECK_FALSE(p.counts_first());
  p.check_same_bits("-schedule_updates_early");
}

TEST_CASE("a count does not wait for what follows from it, nor if another variable has changed before") {
  Counted used;
  used.give(used.read(used.op("cast", {used.counted()}, {{"data_type", DType::int32}})));
  CHECK(used.counts_first());
  used.check_same_bits("-schedule_updates_early");

  Counted large;
  Tensor* rate = large.op("sqrt", {large.counted()});
  large.op("accumulate_", {large.variable({64, 64}, 0), large.variable({64, 64}, 1)});
  large.give(large.op("mul", {large.read(large.indices), rate}));
  CHECK(large.counts_first());
  large.check_same_bits("-schedule_updates_early");
}
