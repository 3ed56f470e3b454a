// Updates of variables: precision of every step, in-place use.
#include "runtime/kernels/update.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

using Numbers = std::vector<double>;

namespace {
double one(Accumulate op, DType dtype, double t, DType x_dtype, double x, Scalar f) {
  const Array a = make(dtype, {2}, {t, t}), b = make(x_dtype, {2}, {x, x});
  return run(accumulate_kernel(op, a.spec(), b.spec(), f), {a, b}, a.spec()).number(1);
}
double as_float(double x) { return static_cast<double>(static_cast<float>(x)); }
}  // namespace

TEST_CASE("accumulators round in the accumulator's dtype") {
  const DType h = DType::float16, f = DType::float32;
  CHECK(close(one(Accumulate::moving_average, h, 0, f, 0.1, Scalar::of(0.9)), 0.0099945, 1e-7));
  CHECK(one(Accumulate::moving_average_square, f, 0, f, 0.1, Scalar::of(0.999)) == as_float(9.9998715e-06));
  CHECK(one(Accumulate::add, h, 2048, f, 1, {}) == 2048);
  CHECK(one(Accumulate::add_scaled, f, 1, h, 2, Scalar::of(0.5)) == 2);
  CHECK(one(Accumulate::add_square, f, 1, f, 3, Scalar::of(2)) == 19);
  CHECK(one(Accumulate::mean, f, 4, f, 8, Scalar::of(1)) == 6);
  CHECK(one(Accumulate::mean, f, inf, f, 8, Scalar::of(0)) == 8);
  const Array t = make(f, {2, 2}, {1, 2, 3, 4}), x = make(f, {2}, {10, 20}), factor = make(f, {}, {0.5});
  CHECK(numbers(run(accumulate_kernel(Accumulate::add_scaled, t.spec(), x.spec(), Scalar::in(2, f)), {t, x, factor},
                    t.spec())) == Numbers{6, 12, 8, 14});
  const Array bad = make(f, {2}, {inf, 3});
  CHECK(numbers(run(accumulator_scale_kernel(bad.spec(), Scalar::of(0)), {bad}, bad.spec())) == Numbers{0, 0});
  CHECK(numbers(run(accumulator_scale_kernel(x.spec(), Scalar::of(0.5)), {x}, x.spec())) == Numbers{5, 10});
  const Array y = make(h, {2}, {1, 2});
  CHECK(numbers(run(scaled_add_kernel(x.spec(), y.spec(), Scalar::of(2), Scalar::of(-1)), {x, y}, x.spec())) ==
        Numbers{19, 38});
  CHECK(numbers(run(copy_var_update_kernel(x.spec()), {x, factor.reshaped({1})}, spec(f, {}))).size() == 1);
}

TEST_CASE("sparse accumulation adds duplicates") {
  const DType f = DType::float32;
  const Array t = Array::zeros(f, {3, 2}), x = make(f, {2, 2}, {1, 2, 3, 4}), i = make(DType::int32, {2}, {2, 2});
  CHECK(numbers(run(sparse_accumulate_kernel(t.spec(), x.spec(), i.spec(), 0, Scalar::of(2)), {t, x, i}, t.spec())) ==
        Numbers{0, 0, 0, 0, 8, 12});
  const Array bad = make(DType::int32, {2}, {2, 3});
  CHECK_THROWS_AS(run(sparse_accumulate_kernel(t.spec(), x.spec(), i.spec(), 0, {}), {t, x, bad}, t.spec()), Error);
  CHECK_THROWS_AS(sparse_accumulate_kernel(t.spec(), spec(f, {2}), i.spec(), 0, {}), Error);
}

TEST_CASE("adam, adamax, lamb") {
  const DType h = DType::float16, f = DType::float32;
  Array m = make(h, {1}, {0.0099945}), v = make(f, {1}, {9.9998715e-06}), step = make(f, {}, {0});
  AdamOptions plain;
  plain.epsilon = Scalar::of(1e-5);
  const double raw = run(adam_updater_kernel(m.spec(), v.spec(), m.spec(), plain), {m, v}, m.spec()).number(0);
  CHECK(as_float(1 - as_float(1e-3) * raw) == doctest::Approx(0.9968496).epsilon(1e-7));
  AdamOptions corrected = plain;
  corrected.step = 2;
  std::byte* memory[] = {m.mutable_raw(), v.mutable_raw(), step.mutable_raw()};
  Array out(h, {1});
  std::byte* outputs[] = {out.mutable_raw()};
  adam_updater_kernel(m.spec(), v.spec(), m.spec(), corrected)(Buffers{memory, outputs});
  CHECK(step.number(0) == 1);
  CHECK(as_float(1 - as_float(1e-3) * out.number(0)) == doctest::Approx(0.9990005).epsilon(1e-7));
  AdamOptions decay = plain;
  decay.weight = 2;
  decay.weight_decay = Scalar::of(0.5);
  const Array w = make(f, {1}, {4});
  CHECK(
      run(adam_updater_kernel(v.spec(), v.spec(), w.spec(), decay), {make(f, {1}, {1}), make(f, {1}, {4}), w}, w.spec())
          .number(0) == as_float(as_float(1 / as_float(2 + as_float(1e-5))) + 2));
  AdamOptions infinity;
  infinity.mode = AdamOptions::adamax;
  infinity.epsilon = Scalar::of(0);
  CHECK(
      run(adam_updater_kernel(v.spec(), v.spec(), v.spec(), infinity), {make(f, {1}, {1}), make(f, {1}, {4})}, v.spec())
          .number(0) == 0.25);
  const Array t = make(f, {2}, {1, 2}), x = make(f, {2}, {1, 1}), r1 = make(f, {}, {16}), r2 = make(f, {}, {4}),
              none = make(f, {}, {0});
  const Kernel lamb = adam_var_update_kernel(t.spec(), x.spec(), f, f, Scalar::of(0.5), Scalar::of(inf));
  CHECK(numbers(run(lamb, {t, x, r1, r2}, t.spec())) == Numbers{0, 1});
  CHECK(numbers(run(lamb, {t, x, none, r2}, t.spec())) == Numbers{0.5, 1.5});
  CHECK(numbers(run(adam_var_update_kernel(t.spec(), x.spec(), f, f, Scalar::of(1), Scalar::of(1)), {t, x, r1, r2},
                    t.spec())) == Numbers{0.5, 1.5});
  CHECK(run(lamb_square_kernel(spec(h, {2})), {make(h, {2}, {300, 400})}, spec(f, {})).number(0) == 250000);
}
// covers: E107
