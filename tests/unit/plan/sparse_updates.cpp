// The gradient of a gather and the update that alone reads it: merged, left alone, and failing without a trace.
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Table : SmallProgram {
  InSequence order;
  Tensor *w, *dy;

  explicit Table(int64_t rows = 64, int64_t width = 32)
      : order(ir->main(), InSequence::Mode::yes), w(variable({rows, width}, -0.3F)), dy(variable({6, width}, 0.1F)) {}

  Tensor* gradient(std::initializer_list<int32_t> indices) {
    return op("gather_grad", {dy, op.constant(ints({6}, indices))},
              {{"shape", w->spec.shape}, {"axis", int64_t{0}}, {"zero_OOR", false}, {"batch", int64_t{0}}});
  }
  void update(Tensor* gradient) { op("scaled_add_", {w, gradient}, {{"b", -0.1}}); }
  bool is_dense(const PlanOptions& options = {}) const {
    return plan(options).find("GatherGrad.") != std::string::npos;
  }
  Array weights_after(const PlanOptions& options) const {
    setenv("PXL_FUSE", options.off == 0 ? "on" : "off", 1);
    Session s(ir, "cpu");
    unsetenv("PXL_FUSE");
    for (int run = 0; run < 3; ++run) s.run({});
    return s.get_tensor_data(w);
  }
  void check_same_bits() const { CHECK(identical(weights_after({}), weights_after(PlanOptions::reference()))); }
};

}  // namespace

TEST_CASE("an update by a gather's gradient stores no gradient, and has the bits of one that does") {
  Table table;
  table.update(table.gradient({3, 60, 3, 3, 0, 63}));
  CHECK(!table.is_dense());
  CHECK(table.is_dense(PlanOptions().without("sparse_updates")));
  CHECK(table.arena({}) < table.w->spec.bytes());
  table.check_same_bits();
}

TEST_CASE("an update by the sum of sparse gradients stores none of them, and keeps the bits") {
  for (const bool three : {false, true}) {
    Table table(128);
    Tensor *first = table.gradient({3, 60, 3, 3, 0, 63}), *second = table.gradient({60, 3, 9, 127, 9, 60});
    std::vector<Expr> terms{table.op.builder.of(first), table.op.builder.of(second)};
    if (three) terms.push_back(table.op.builder.of(table.gradient({3, 5, 5, 60, 8, 3})));
    table.update(three ? table.op.builder.one("sum_n", {OpArg(std::move(terms))}).tensor()
                       : table.op("add", {first, second}));
    CHECK(!table.is_dense());
    CHECK(table.is_dense(PlanOptions().without("sparse_updates")));
    table.check_same_bits();
  }
  // One term of the sum has another reader, is added to itself, or is dense.
  Table read(128), twice(128), mixed(128);
  Tensor* g = read.gradient({1, 2, 3, 4, 5, 6});
  read.update(read.op("add", {g, read.gradient({1, 2, 3, 4, 5, 6})}));
  read.give(g);
  g = twice.gradient({1, 2, 3, 4, 5, 6});
  twice.update(twice.op("add", {g, g}));
  mixed.update(mixed.op("add", {mixed.gradient({1, 2, 3, 4, 5, 6}), mixed.variable({128, 32}, 0.2F)}));
  for (const Table* table : {&read, &twice, &mixed}) {
    CHECK(table->is_dense());
    table->check_same_bits();
  }
}

TEST_CASE("gradients with other readers, or of most rows, are stored") {
  Table read;
  Tensor* g = read.gradient({1, 2, 3, 4, 5, 6});
  read.update(g);
  read.give(g);
  CHECK(read.is_dense());
  read.check_same_bits();
  Table few(8);
  few.update(few.gradient({1, 2, 3, 4, 5, 6}));
  CHECK(few.is_dense());
  few.check_same_bits();
}

TEST_CASE("an update between a gradient and its use is not passed over") {
  Table table;
  Tensor* g = table.gradient({7, 7, 8, 9, 10, 11});
  table.op("scaled_add_", {table.dy, table.dy}, {{"b", 2.0}});
  table.update(g);
  CHECK(table.is_dense());
  table.check_same_bits();
  Table own;
  Tensor* rows = own.op("slice_", {own.w}, {{"start", std::vector<int64_t>{0}}, {"stop", std::vector<int64_t>{6}}});
  own.dy = rows;
  own.update(own.gradient({1, 2, 3, 4, 5, 6}));
  own.check_same_bits();
}

TEST_CASE("an index out of range changes nothing, nor any variable that was updated before") {
  Table table;
  Tensor *steps = table.variable({4}, 1.0F), *one = table.variable({4}, 2.0F);
  table.op("accumulate_", {steps, one});
  table.update(table.gradient({1, 2, 3, 4, 5, 64}));
  CHECK(!table.is_dense());
  Session s(table.ir, "cpu");
  const Array before = s.get_tensor_data(table.w), counted = s.get_tensor_data(steps);
  CHECK(error_of([&] { s.run({}); }).find("index 64 is out of range for axis 0 of extent 64") != std::string::npos);
  CHECK(identical(s.get_tensor_data(table.w), before));
  CHECK(identical(s.get_tensor_data(steps), counted));
}
