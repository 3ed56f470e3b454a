// One loop over the op table: every row is reachable by name, and what it infers is what it computes.
#include <doctest/doctest.h>

#include <set>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "samples.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("names and schedules of rows are unique where they must be") {
  std::set<std::string_view> names, paths;
  for (const OpRow* row : op_table()) {
    CAPTURE(row->name);
    CHECK(names.insert(row->name).second);
    if (!row->path.empty()) {
      CHECK(paths.insert(row->path).second);
      CHECK(row->path.ends_with(row->name));
    }
    CHECK(find_op(row->name) == row);
    if (!row->inplace.empty()) CHECK(find_op(row->inplace) != nullptr);
    for (const Param& p : row->params) CHECK(row->params[param_index(*row, p.name)].name == p.name);
    if (is_variadic(*row)) CHECK(slot_count(*row) == 1);
  }
  CHECK(find_op("no_such_op") == nullptr);
  CHECK_THROWS_AS(get_op("no_such_op"), Error);
}

TEST_CASE("every row computes what it infers") {
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute && row->role != Role::composite) continue;
    CAPTURE(row->name);
    const Sample sample = sample_for(*row, DType::float32);
    Ir ir;
    GraphOpBuilder graph(ir.main());
    EagerOpBuilder at_once;
    try {
      const auto inferred =
          graph.emit(*row, arguments(*row, sample, [&](Array a) { return graph.of(ir.main().add_variable(a, "v")); }));
      const auto computed = at_once.emit(*row, arguments(*row, sample, [&](Array a) { return Expr(at_once, a); }));
      verify(ir);
      REQUIRE(inferred.size() == computed.size());
      const Values values = run_graph(ir.main(), {});
      for (size_t i = 0; i < inferred.size(); ++i) {
        CHECK(inferred[i].dtype() == computed[i].dtype());
        CHECK(inferred[i].shape() == computed[i].shape());  // an array is never a shard
        CHECK(identical(values.at(inferred[i].tensor()), computed[i].array()));
      }
    } catch (const Error& e) {
      FAIL_CHECK(std::string(e.what()));
    }
  }
}

TEST_CASE(
    "integers out of range and matrices of zeros are errors where the row says that it checks, and nowhere else") {
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute || row->exchange != Exchange::none) continue;
    CAPTURE(row->name);
    bool fails = false;
    const Sample sample = sample_for(*row, DType::float32);
    for (size_t slot = 0; slot < sample.operands.size(); ++slot) {
      if (!sample.operands[slot] || is_float8(sample.operands[slot]->dtype())) continue;
      Sample changed = sample;
      Array& odd = *changed.operands[slot];
      for (int64_t i = 0; i < odd.size(); ++i)
        write_number(odd.dtype(), odd.mutable_raw(), i, is_integer(odd.dtype()) ? 100 : 0);
      EagerOpBuilder at_once;
      try {
        at_once.emit(*row, arguments(*row, changed, [&](Array a) { return Expr(at_once, a); }));
      } catch (const Error&) {
        fails = true;
      }
    }
    CHECK(fails == (row->checks_indices != nullptr));
  }
}

TEST_CASE("a missing operand is an error that names it") {
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute && row->role != Role::composite) continue;
    if (row->params.empty() || row->params[0].default_value.kind != Default::required) continue;
    CAPTURE(row->name);
    EagerOpBuilder at;
    try {
      at.emit(*row, OpArgs{});
      FAIL_CHECK("no error");
    } catch (const Error& e) {
      CHECK(std::string(e.what()) == std::string(row->name) + ": missing " + std::string(row->params[0].name));
    }
  }
}

TEST_CASE("a string or an array of the wrong rank never crashes an op") {
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute && row->role != Role::composite) continue;
    CAPTURE(row->name);
    for (const Array& odd : {floats({}, {1}), Array::zeros(DType::boolean, {2}), Array::zeros(DType::int32, {0, 3})}) {
      EagerOpBuilder at;
      OpArgs args = arguments(*row, sample_for(*row, DType::float32), [&](Array) { return Expr(at, odd); });
      try {
        at.emit(*row, args);
      } catch (const Error& e) {
        CHECK(e.first().fault != Fault::internal);
      }
    }
    for (size_t i = 0; i < row->params.size(); ++i) {
      if (row->params[i].kind == ParamKind::string) continue;
      EagerOpBuilder at;
      OpArgs args = arguments(*row, sample_for(*row, DType::float32), [&](Array a) { return Expr(at, a); });
      args.values[i] = Attr(std::string("text"));
      CHECK_THROWS_AS(at.emit(*row, args), Error);
    }
  }
}

TEST_CASE("an op takes float8 operands and has a kernel for them, or refuses them where it is written") {
  int moved = 0;
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute && row->role != Role::composite) continue;
    CAPTURE(row->name);
    const Sample sample = sample_for(*row, DType::float32);
    for (size_t only = 0; only <= sample.operands.size(); ++only) {  // each floating operand alone, then all of them
      Ir ir;
      GraphOpBuilder graph(ir.main());
      EagerOpBuilder at_once;
      Sample narrow = sample;
      bool any = false, emitted = false;
      for (size_t i = 0; i < narrow.operands.size(); ++i)
        if (narrow.operands[i] && is_floating(narrow.operands[i]->dtype()) &&
            (i == only || only == sample.operands.size()))
          narrow.operands[i] = as_float8(*narrow.operands[i], DType::float8_152), any = true;
      if (!any) continue;
      try {
        const auto made = graph.emit(
            *row, arguments(*row, narrow, [&](Array a) { return graph.of(ir.main().add_variable(a, "v")); }));
        emitted = true;
        const Values values = run_graph(ir.main(), {});
        const auto computed = at_once.emit(*row, arguments(*row, narrow, [&](Array a) { return Expr(at_once, a); }));
        for (size_t i = 0; i < made.size(); ++i) CHECK(identical(values.at(made[i].tensor()), computed[i].array()));
        moved += is_float8(made[0].dtype());
      } catch (const Error& e) {
        CHECK(e.first().fault != Fault::internal);
        CHECK_FALSE(emitted);  // there must be a kernel then
      }
    }
  }
  CHECK(moved > 20);  // slices, joins, reshapes and their kin
}

TEST_CASE("signatures") {
  CHECK(signature(get_op("gelu")) == "gelu(t)");
  CHECK(signature(get_op("matmul")) ==
        "matmul(lhs, rhs, available_memory_proportion = none, output_type = none, partials_type = none)");
  CHECK(signature(get_op("sum")) == "sum(t, axis = none, keepdims = false)");
  CHECK(signature(get_op("layer_norm")) == "layer_norm(t, weight, bias, eps = 1e-05)");
}
// covers: E108
