// Values and errors of single ops: those that the reference states, and the rules of constants and dtypes.
#include <doctest/doctest.h>

#include <cmath>

#include "run_graph.hpp"
#include "tests/unit/support/errors.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

void check_close(const Array& a, const Shape& shape, std::initializer_list<double> expected, double tolerance = 1e-6) {
  CHECK(tuple_text(a.shape()) == tuple_text(shape));
  REQUIRE(a.size() == static_cast<int64_t>(expected.size()));
  int64_t i = 0;
  for (double e : expected) {
    CAPTURE(i);
    CHECK(std::abs(a.number(i++) - e) <= tolerance);
  }
}

using Ints = std::vector<int64_t>;

}  // namespace

TEST_CASE("the tutorials' values") {
  check_close(eager("gelu", {value(floats({5}, {-1, 0, 0.5, 1, 2}))})[0], {5},
              {-0.158808, 0, 0.345714, 0.841192, 1.954598});
  check_close(eager("softmax", {value(floats({3}, {1, 2, 3}))}, {{"axis", int64_t{-1}}})[0], {3},
              {0.090031, 0.244728, 0.665241});
  const Array x = floats({2, 3}, {1, 2, 3, 1, 0, 0}), labels = ints({2}, {2, 0});
  const auto ce = eager("cross_entropy_with_grad", {value(x), value(labels)});
  check_close(ce[0], {}, {0.479525});
  check_close(ce[1], {2, 3}, {0.045015, 0.122364, -0.16738, -0.211942, 0.105971, 0.105971});
  const auto scaled = eager("cross_entropy_with_grad", {value(x), value(labels), Attr(64.0)});
  CHECK(identical(scaled[0], ce[0]));
  check_close(scaled[1], {2, 3},
              {0.045015 * 64, 0.122364 * 64, -0.16738 * 64, -0.211942 * 64, 0.105971 * 64, 0.105971 * 64}, 1e-4);
  check_close(eager("matmul", {value(floats({2, 2}, {1, 2, 3, 4})), value(floats({2, 2}, {1, -1, 2, 0}))})[0], {2, 2},
              {5, -1, 11, -3});
}

TEST_CASE("updates keep the first operand's dtype and leave the caller's array alone") {
  const Array half_zero = Array::zeros(DType::float16, {1});
  const Array m = eager("accumulate_moving_average_", {value(half_zero), value(floats({1}, {0.1F})), Attr(0.9)})[0];
  CHECK(m.dtype() == DType::float16);
  check_close(m, {1}, {0.009995}, 1e-6);
  CHECK(half_zero.number(0) == 0);
  const Array v =
      eager("accumulate_moving_average_square_", {value(floats({1}, {0})), value(floats({1}, {0.1F})), Attr(0.999)})[0];
  CHECK(v.data<float>()[0] == 9.9998715e-06F);
  check_close(eager("scaled_add_", {value(floats({1}, {1})), value(floats({1}, {0.5})), Attr(1.0), Attr(-0.1)})[0], {1},
              {0.95});
  Array mean = floats({1}, {0});
  for (double step : {0, 1, 2, 3}) {
    static constexpr float given[] = {1, 2, 3, 6};
    mean = eager("accumulate_mean_", {value(mean), value(floats({1}, {given[static_cast<int>(step)]})), Attr(step)})[0];
  }
  check_close(mean, {1}, {3});
}

TEST_CASE("adam_updater: slots, decay and the weight that is connected only where it decays") {
  Ir ir;
  Graph& g = ir.main();
  GraphOpBuilder at(g);
  const auto variable = [&](Array a, const char* n) { return at.of(g.add_variable(std::move(a), n)); };
  const Expr m = variable(Array::full(DType::float16, {2, 2}, 0.009995), "m"),
             v = variable(Array::full(DType::float32, {2, 2}, 1e-5), "v");
  const Expr w = variable(Array::full(DType::float32, {2, 2}, 1), "w"), step = variable(floats({}, {0}), "step");
  const Expr dw = at.one("adam_updater", {m, v, w, step, Attr(0.0), Attr(0.9), Attr(0.999), Attr(1e-5)});
  CHECK(dw.dtype() == DType::float16);
  const Op& op = *dw.tensor()->producer;
  CHECK(op.row->schedule == "AdamUpdater");
  CHECK(op.inputs[0] == nullptr);
  CHECK(op.modifies(3));
  const Expr with_decay = at.one("adam_updater", {m, v, w, OpArg{}, Attr(0.01)});
  CHECK(with_decay.dtype() == DType::float32);
  CHECK(with_decay.tensor()->producer->inputs[0] == w.tensor());
  CHECK(error_of([&] { at.one("adam_updater", {m, v, OpArg{}, step}); }).find("beta1 and beta2") != std::string::npos);
  CHECK(error_of([&] {
          at.one("adam_updater", {m, v, OpArg{}, OpArg{}, Attr(0.1)});
        }).find("requires a weight") != std::string::npos);
}

TEST_CASE("reference examples of indexing") {
  const Array a = Array::zeros(DType::float32, {3, 3});
  check_close(eager("scatter",
                    {value(a), value(ints({2, 3}, {1, 0, 2, 0, 2, 1})), value(floats({2, 3}, {1, 2, 3, 4, 5, 6}))})[0],
              {3, 3}, {4, 2, 0, 1, 0, 6, 0, 5, 3});
  check_close(eager("scatter_reduce",
                    {value(floats({3, 2}, {1, 2, 3, 4, 5, 6})), value(ints({3}, {3, 0, 1})), Attr(std::string("sum"))},
                    {{"axis_size", int64_t{5}}})[0],
              {5, 2}, {3, 4, 5, 6, 0, 0, 1, 2, 0, 0});
  CHECK(tuple_text(eager("onehot", {value(ints({1, 2}, {1, 5})), Attr(int64_t{6}), value(floats({2}, {0, 1}))},
                         {{"axis", int64_t{1}}})[0]
                       .shape()) == "(1, 6, 2)");
  const Array t = floats({5}, {0, 1, 2, 3, 4});
  check_close(eager("slice", {value(t), Attr(int64_t{-2}), OpArg{}, Attr(int64_t{-1})})[0], {4}, {3, 2, 1, 0});
  check_close(eager("slice", {value(t), Attr(int64_t{4}), Attr(int64_t{0}), Attr(int64_t{-2})})[0], {2}, {4, 2});
  check_close(eager("slice", {value(t), OpArg{}, OpArg{}, Attr(int64_t{9})})[0], {1}, {0});
  check_close(eager("slice", {value(t), Attr(int64_t{3}), Attr(int64_t{1})})[0], {0}, {});
  check_close(eager("diag", {value(floats({3, 2}, {1, 2, 3, 4, 5, 6}))})[0], {2}, {1, 4});
  check_close(eager("median", {value(floats({4}, {4, 1, 3, 2}))})[0], {}, {2});
}

TEST_CASE("numbers and arrays beside tensors become constants of their dtype") {
  Ir ir;
  GraphOpBuilder at(ir.main());
  const Expr half = at.of(ir.main().add_variable(Array::zeros(DType::float16, {2}), "h"));
  const Expr whole = at.of(ir.main().add_variable(Array::zeros(DType::int32, {2}), "i"));
  CHECK(at.one("add", {half, Attr(1.5)}).dtype() == DType::float16);
  CHECK(at.one("add", {Attr(int64_t{1}), half}).dtype() == DType::float16);
  CHECK(at.one("mul", {half, Expr(at, floats({2}, {1, 2}))}).dtype() == DType::float16);
  CHECK(at.one("mul", {whole, Attr(int64_t{3})}).dtype() == DType::int32);
  CHECK(error_of([&] { at.one("mul", {whole, Attr(0.5)}); }).starts_with("mul: 0.5 cannot become int32 like i"));
  const Expr picked = at.one("where", {at.one("greater", {half, Attr(0.0)}), half, Attr(int64_t{0})});
  CHECK(picked.dtype() == DType::float16);
  const Expr both = at.one("logical_and", {whole, whole});
  CHECK(both.dtype() == DType::boolean);
  CHECK(both.tensor()->producer->inputs[0]->producer->row->schedule == "Cast");
}

TEST_CASE("host arrays promote") {
  CHECK(eager("mean", {value(Array::zeros(DType::boolean, {3}))})[0].dtype() == DType::float32);
  CHECK(eager("sum", {value(Array::full_int(DType::boolean, {3}, 1))})[0].number(0) == 3);
  CHECK(eager("add", {value(ints({1}, {1})), value(floats({1}, {0.5}))})[0].number(0) == 1.5);
  CHECK(eager("mul", {value(ints({1}, {3})), Attr(0.5)})[0].number(0) == 1.5);
  CHECK(eager("sqrt", {Attr(int64_t{4})})[0].number(0) == 2);
}

TEST_CASE("errors name operands, shapes and the op") {
  Ir ir;
  Graph& g = ir.main();
  GraphOpBuilder at(g);
  const auto variable = [&](DType t, Shape s, const char* n) {
    return at.of(g.add_variable(Array::zeros(t, std::move(s)), n));
  };
  const Expr x = variable(DType::float32, {8, 784}, "x"), weight = variable(DType::float32, {512, 512}, "weight");
  const Expr half = variable(DType::float16, {8, 784}, "half");
  try {
    at.one("matmul", {x, weight});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.first().message == "matmul: inner dimensions differ: 784 (x, axis -1) and 512 (weight, axis 0)");
    CHECK(e.first().notes == std::vector<std::string>{"x: float32[8, 784], weight: float32[512, 512]"});
  }
  CHECK(error_of([&] { x + half; }).starts_with("add: operands have different dtypes: float32 (x) and float16 (half)"));
  CHECK(error_of([&] { x + weight; }).starts_with("add: shapes [8, 784] and [512, 512] cannot be broadcast"));
  CHECK(error_of([&] { reshape(x, {-1, -1}); }).find("at most one -1") != std::string::npos);
  CHECK(error_of([&] { reshape(x, {-1, 0, 1}); }).find("invalid extent 0") != std::string::npos);
  CHECK(error_of([&] { reshape(x, {5}); }).find("do not fill shape [5]") != std::string::npos);
  CHECK(error_of([&] { transpose(x, {0, 0}); }).find("is not a permutation") != std::string::npos);
  CHECK(error_of([&] {
          at.one("nll_loss", {x, Attr(std::vector<int64_t>(8, 0))}, {{"reduction", "foo"}});
        }).find("foo") != std::string::npos);
  CHECK(error_of([&] { at.one("softmax", {x}, {{"axis", int64_t{2}}}); }).starts_with("softmax: "));
  CHECK(error_of([&] { at.one("split", {x, Attr(int64_t{3})}); }).find("cannot be split") != std::string::npos);
}

TEST_CASE("names of outputs") {
  Ir ir;
  Graph& g = ir.main();
  GraphOpBuilder at(g);
  const Expr x = at.of(g.add_variable(Array::zeros(DType::float32, {4, 2}), "x"));
  CHECK(reshape(x, {-1}).label() == "x_reshaped");
  CHECK(cast(x, DType::float16).label() == "x_float16");
  CHECK(at.emit("split", {x, Attr(int64_t{2})})[1].label() == "x_split_1");
  CHECK(at.one("scaled_add_", {x, x}).label() == "scaled_add__x");
  CHECK(at.one("identity", {x}).label() == "identity_x");
}

TEST_CASE("a reshape of an array shares its operand's memory, and neither changes with the other") {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto ints_of = [](std::initializer_list<int64_t> all) { return Attr(Ints(all)); };
  const std::vector<Array> results{eager("reshape", {value(x), ints_of({3, 2})})[0], eager("identity", {value(x)})[0],
                                   eager("detach", {value(x)})[0],
                                   eager("expand_dims", {value(x), Attr(int64_t{1})})[0],
                                   eager("transpose", {value(x), ints_of({0, 1})})[0]};
  for (const Array& y : results) CHECK(y.raw() == x.raw());
  CHECK(tuple_text(results[0].shape()) == "(3, 2)");
  CHECK(tuple_text(results[3].shape()) == "(2, 1, 3)");
  CHECK(eager("transpose", {value(x), ints_of({1, 0})})[0].raw() != x.raw());
  Array changed = results[0];
  changed.mutable_data<float>()[0] = 9;
  CHECK(x.number(0) == 1);
  CHECK(results[0].number(0) == 1);
  CHECK(changed.number(0) == 9);
  // An in-place op works on a copy of its own.
  const Array y = eager("reshape", {value(x), ints_of({6})})[0];
  check_close(eager("copy_var_update_", {value(y), value(floats({6}, {0, 0, 0, 0, 0, 0}))})[0], {6},
              {0, 0, 0, 0, 0, 0});
  check_close(x, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(tuple_text(eager("reshape", {value(floats({0, 3}, {})), ints_of({3, 0})})[0].shape()) == "(3, 0)");
  const Array column = floats({3, 1}, {1, 2, 3});
  CHECK(eager("transpose", {value(column), ints_of({1, 0})})[0].raw() == column.raw());
}

TEST_CASE("diagonals of matrices with any extents") {
  check_close(eager("diag", {value(floats({2, 2}, {1, 2, 3, 4}))})[0], {2}, {1, 4});
  check_close(eager("diag", {value(floats({2, 3}, {1, 2, 3, 4, 5, 6}))})[0], {2}, {1, 5});
  check_close(eager("diag", {value(floats({3, 2}, {1, 2, 3, 4, 5, 6}))})[0], {2}, {1, 4});
  check_close(eager("diag", {value(floats({1, 1}, {7}))})[0], {1}, {7});
}
