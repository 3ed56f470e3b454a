// Updates of variables: precision of every step, in-place use.
#include "runtime/kernels/update/update.hpp"

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/update/fused_update.hpp"
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
  CHECK(one(Accumulate::add_scaled, h, 2048, f, 1, {}) == 2048);
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

TEST_CASE("a chain of updates in one loop gives the bits of its steps one by one") {
  const TensorSpec t = spec(DType::float32, {1003});
  const auto positive = [&](int by) {
    Array a = ramp(DType::float32, t.shape, by);
    for (int64_t i = 0; i < a.size(); ++i) write_number(DType::float32, a.mutable_raw(), i, std::fabs(a.number(i)) / 3);
    return a;
  };
  for (bool decays : {false, true}) {
    AdamOptions options;
    options.epsilon = Scalar::of(1e-5);
    options.weight_decay = Scalar::of(0.1);
    if (decays) options.weight = 2;
    const Kernel kernels[] = {
        accumulate_kernel(Accumulate::moving_average, t, t, Scalar::of(0.9)),
        accumulate_kernel(Accumulate::moving_average_square, t, t, Scalar::of(0.999)),
        adam_updater_kernel(t, t, t, options),
        scaled_add_kernel(t, t, Scalar::of(1), Scalar::of(-0.01)),
    };
    // Places: 0 the gradient, 1 and 2 the moments, 3 the weight, 4 the step.
    std::vector<Array> memory{ramp(DType::float32, t.shape, 1), ramp(DType::float32, t.shape, 2), positive(3),
                              ramp(DType::float32, t.shape, 4), Array::zeros(DType::float32, t.shape)};
    const std::vector<std::vector<int>> operands{{1, 0}, {2, 0}, {1, 2, 3}, {3, 4}};
    const int results[] = {1, 2, 4, 3};
    std::vector<UpdateOperands> sites;
    std::vector<Array> chained = memory;
    std::vector<float> constants(4 * max_constants);
    for (size_t i = 0; i < 4; ++i) {
      std::vector<const std::byte*> in;
      for (int o : operands[i]) in.push_back(memory[static_cast<size_t>(o)].raw());
      std::byte* out[] = {memory[static_cast<size_t>(results[i])].mutable_raw()};
      // The operands may have moved where the result was shared.
      for (size_t k = 0; k < in.size(); ++k) in[k] = memory[static_cast<size_t>(operands[i][k])].raw();
      const GuardedWorkspace workspace(kernels[i], 1);
      const Buffers buffers = workspace.bind({in.data(), out});
      kernels[i](buffers);
      REQUIRE(kernels[i].update_op());
      UpdateOperands site{kernels[i].update_op(), {}, results[i], i == 2};
      for (size_t k = 0; k < kernels[i].update_op()->operands.size(); ++k) site.operands.push_back(operands[i][k]);
      sites.push_back(site);
      CHECK(kernels[i].update_op()->constants(buffers, constants.data() + i * max_constants));
    }
    const FusedUpdateMatch match = match_fused_update(sites);
    REQUIRE(match.steps == 4);
    CHECK(match.places == std::vector<int>{0, 1, 2, 3, -1});
    std::vector<float*> registers;
    for (int place : match.places)
      registers.push_back(place < 0 ? nullptr
                                    : reinterpret_cast<float*>(chained[static_cast<size_t>(place)].mutable_raw()));
    bulk().updates.compiled[match.update](registers.data(), constants.data(), t.size());
    for (size_t i = 0; i < 4; ++i) CHECK(identical(memory[i], chained[i]));
    // Not where the step is read by others too, operands differ or coincide, or links are missing.
    const auto rejected = [&](auto change) {
      std::vector<UpdateOperands> other = sites;
      change(other);
      return match_fused_update(other).steps == 0;
    };
    CHECK(rejected([](auto& s) { s[2].passing = false; }));
    CHECK(rejected([](auto& s) { s[1].operands[1] = 5; }));
    CHECK(rejected([](auto& s) { s[0].operands[1] = s[1].operands[1] = 3; }));
    CHECK(rejected([](auto& s) { s[3].result = 5; }));
    CHECK(rejected([](auto& s) { s[1].step = nullptr; }));
    CHECK(rejected([](auto& s) { s.pop_back(); }));
  }
  // A factor of 0 erases what is not finite: the kernel's work, not the loop's.
  const Kernel scale = accumulator_scale_kernel(t, Scalar::of(0));
  float unused[max_constants];
  CHECK(!scale.update_op()->constants({nullptr, nullptr}, unused));
}
