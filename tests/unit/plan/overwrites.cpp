// Values that only overwrite a variable: computed in the variable's memory, unless that could be observed.
#include "small_program.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Overwrites : SmallProgram {
  InSequence order;
  Tensor *x, *v;

  Overwrites() : order(ir->main(), InSequence::Mode::yes), x(variable({8, 8}, -0.3F)), v(variable({8, 8}, 0.5F)) {}

  Tensor* transposed(Tensor* t) { return op("transpose", {t}, {{"permutation", std::vector<int64_t>{1, 0}}}); }
  void overwrite(Tensor* with) { op("copy_var_update_", {v, with}); }
  int64_t arena() const { return SmallProgram::arena({}); }
  /// The values of the variables after two runs are those of the reference path, op by op.
  void check_variables() const {
    const auto after = [&](const char* path) {
      setenv("PXL_FUSE", path, 1);
      Session s(ir, "cpu");
      unsetenv("PXL_FUSE");
      for (int run = 0; run < 2; ++run) s.run({});
      std::vector<Array> values;
      for (Tensor* t : variables) values.push_back(s.get_tensor_data(t));
      return values;
    };
    const auto planned = after("on"), other = after("off");
    for (size_t i = 0; i < planned.size(); ++i) CHECK(identical(planned[i], other[i]));
  }
};

}  // namespace

TEST_CASE("a value that only overwrites a variable is computed in its memory") {
  Overwrites p;
  p.overwrite(p.transposed(p.x));
  CHECK(p.arena() == 0);
  CHECK(p.SmallProgram::arena(PlanOptions().without("compute_in_place")) == p.v->spec.bytes());
  p.check_variables();

  Overwrites twice;  // the second value is defined after the first was written
  twice.overwrite(twice.transposed(twice.x));
  Tensor* again = twice.variable({8, 8}, 0.1F);
  twice.op("copy_var_update_", {again, twice.transposed(twice.v)});
  twice.overwrite(twice.transposed(again));
  CHECK(twice.arena() == 0);
  twice.check_variables();
}

TEST_CASE("a value has memory of its own where the variable is used before it is overwritten") {
  Overwrites itself;
  itself.overwrite(itself.transposed(itself.v));
  CHECK(itself.arena() > 0);
  itself.check_variables();

  Overwrites between;
  Tensor* t = between.transposed(between.x);
  between.op("copy_var_update_", {between.variable({8, 8}, 0.2F), between.transposed(between.v)});
  between.overwrite(t);
  CHECK(between.arena() > 0);
  between.check_variables();

  Overwrites crossed;  // each takes the other's place
  Tensor *a = crossed.transposed(crossed.x), *b = crossed.transposed(crossed.v);
  crossed.overwrite(a);
  crossed.op("copy_var_update_", {crossed.x, b});
  CHECK(crossed.arena() > 0);
  crossed.check_variables();
}

TEST_CASE("a value that is used after the variable is overwritten has memory of its own") {
  Overwrites p;
  Tensor* t = p.transposed(p.x);
  p.overwrite(t);
  p.op("accumulate_", {p.v, p.x});
  p.give(p.transposed(t));
  CHECK(p.arena() > 0);
  p.check_variables();
}

TEST_CASE("an update at an index that only overwrites a variable writes its part alone") {
  struct Updates : Overwrites {
    Tensor *at, *row, *rest;
    Updates() {
      at = op.constant(ints({1}, {3}));
      row = variable({1, 8}, 0.7F);
      rest = variable({8, 8}, 0.1F);
    }
    Tensor* updated(Tensor* t) {
      return op("dynamic_update", {t, at, row},
                {{"axes", std::vector<int64_t>{0}}, {"sizes", std::vector<int64_t>{1}}});
    }
  };
  Updates read;  // also where the new value is read after the write
  Tensor* t = read.updated(read.v);
  read.overwrite(t);
  read.op("copy_var_update_", {read.rest, read.transposed(t)});
  CHECK(read.arena() == 0);
  read.check_variables();

  Updates twice;  // in two steps
  twice.overwrite(twice.updated(twice.updated(twice.v)));
  CHECK(twice.arena() == 0);
  twice.check_variables();

  Updates later;  // the old value is read in between
  Tensor* u = later.updated(later.v);
  later.op("copy_var_update_", {later.rest, later.transposed(later.v)});
  later.overwrite(u);
  CHECK(later.arena() >= later.v->spec.bytes());
  later.check_variables();

  Updates both;  // the first step has another use
  Tensor* first = both.updated(both.v);
  both.overwrite(both.updated(first));
  both.op("copy_var_update_", {both.rest, both.transposed(first)});
  CHECK(both.arena() >= both.v->spec.bytes());
  both.check_variables();

  Updates again;  // the variable is written twice
  Tensor* w = again.updated(again.v);
  again.overwrite(w);
  again.op("accumulate_", {again.v, again.x});
  again.op("copy_var_update_", {again.rest, again.transposed(w)});
  CHECK(again.arena() >= again.v->spec.bytes());
  again.check_variables();
}

TEST_CASE("a run that fails leaves a variable as it was") {
  Overwrites p;
  Tensor* indices = p.ir->main().add_variable(ints({8}, {0, 1, 2, 3, 4, 5, 6, 7}), "i");
  Tensor* rows = p.op("gather", {p.transposed(p.x), indices}, {{"axis", int64_t{0}}});
  p.overwrite(rows);
  Session s(p.ir, "cpu");
  s.run({});
  const Array before = s.get_tensor_data(p.v);
  s.write_variable_data(indices, ints({8}, {0, 1, 2, 3, 4, 5, 6, 800}));
  CHECK(error_of([&] { s.run({}); }).find("800") != std::string::npos);
  CHECK(identical(s.get_tensor_data(p.v), before));
}

TEST_CASE("constant indices that are out of range fail in the first run, and leave a variable as it was") {
  Overwrites p;
  p.overwrite(p.op("gather", {p.transposed(p.x), p.op.constant(ints({8}, {0, 1, 2, 3, 4, 5, 6, 800}))},
                   {{"axis", int64_t{0}}}));
  Session s(p.ir, "cpu");
  for (int run = 0; run < 2; ++run) {
    CHECK(error_of([&] { s.run({}); }).find("800") != std::string::npos);
    CHECK(identical(s.get_tensor_data(p.v), p.v->data));
  }
}
