// Elementwise kernels against the C library in float64.
#include <bit>
#include <cstring>
#include <map>

#include "runtime/kernels/block/block.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x * sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)); }
double gelu_erf(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
/// By halving intervals.
double erf_inverse(double x) {
  double low = 0, high = 8;
  for (int step = 0; step < 80; ++step) {
    const double y = (low + high) / 2, a = std::fabs(x);
    (a < 0.5 ? std::erf(y) < a : std::erfc(y) > 1 - a) ? low = y : high = y;
  }
  return std::copysign(std::fabs(x) == 1 ? std::numeric_limits<double>::infinity() : low, x);
}

struct Case {
  Unary op;
  std::function<double(double)> f;
  double low = -30, high = 30;
};
const Case cases[] = {
    {Unary::abs, [](double x) { return std::fabs(x); }},
    {Unary::negate, [](double x) { return -x; }},
    {Unary::sign, [](double x) { return double((x > 0) - (x < 0)); }},
    {Unary::square, [](double x) { return x * x; }},
    {Unary::relu, [](double x) { return x > 0 ? x : 0.0; }},
    {Unary::ceil, [](double x) { return std::ceil(x); }},
    {Unary::floor, [](double x) { return std::floor(x); }},
    {Unary::round, [](double x) { return std::nearbyint(x); }},
    {Unary::sqrt, [](double x) { return std::sqrt(x); }, 0, 1e4},
    {Unary::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-3, 1e4},
    {Unary::reciprocal, [](double x) { return 1 / x; }, 0.01, 100},
    {Unary::exp, [](double x) { return std::exp(x); }, -87.3, 89},
    {Unary::expm1, [](double x) { return std::expm1(x); }, -20, 20},
    {Unary::log, [](double x) { return std::log(x); }, 1e-6, 1e4},
    {Unary::log1p, [](double x) { return std::log1p(x); }, -0.99, 50},
    {Unary::sin, [](double x) { return std::sin(x); }, -4e5, 4e5},
    {Unary::cos, [](double x) { return std::cos(x); }, -700, 700},
    {Unary::tanh, [](double x) { return std::tanh(x); }, -12, 12},
    {Unary::sigmoid, sigmoid, -80, 80},
    {Unary::gelu, gelu, -9, 9},
    {Unary::geluerf, gelu_erf, -9, 9},
    {Unary::erf, [](double x) { return std::erf(x); }, -5, 5},
    {Unary::swish, [](double x) { return x * sigmoid(x); }, -50, 50},
    {Unary::softsign, [](double x) { return x / (1 + std::fabs(x)); }, -50, 50},
    {Unary::hard_swish, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, 0, 9},
    {Unary::tan, [](double x) { return std::tan(x); }, -300, 300},
    {Unary::asin, [](double x) { return std::asin(x); }, -1, 1},
    {Unary::acos, [](double x) { return std::acos(x); }, -1, 0.999},
    {Unary::atan, [](double x) { return std::atan(x); }, -9, 9},
    {Unary::sinh, [](double x) { return std::sinh(x); }, -90, 90},
    {Unary::cosh, [](double x) { return std::cosh(x); }, -90, 90},
    {Unary::asinh, [](double x) { return std::asinh(x); }, -40, 40},
    {Unary::asinh, [](double x) { return std::asinh(x); }, -1e12, 1e12},
    {Unary::acosh, [](double x) { return std::acosh(x); }, 1, 40},
    {Unary::acosh, [](double x) { return std::acosh(x); }, 1, 1e12},
    {Unary::atanh, [](double x) { return std::atanh(x); }, -0.99, 0.99},
    {Unary::erfinv, erf_inverse, -0.9999999, 0.9999999},
    {Unary::softplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, -50, 50},
};

}  // namespace

TEST_CASE("unary functions are accurate in every floating dtype") {
  for (const Case& c : cases) {
    for (DType dtype : floats) {
      CAPTURE(name(c.op));
      CAPTURE(name(dtype));
      const int64_t n = 4001;
      Array x(dtype, {n});
      for (int64_t i = 0; i < n; ++i) {
        double v = c.low + (c.high - c.low) * static_cast<double>(i) / static_cast<double>(n - 1);
        if (dtype == DType::float16) v = std::min(std::max(v, -6e4), 6e4);
        write_number(dtype, x.mutable_raw(), i, v);
      }
      const Array y = run(unary_kernel(c.op, dtype, n), {x}, spec(dtype, {n}));
      double worst = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double exact = c.f(x.number(i)), got = y.number(i);
        const double largest = row(dtype).max;
        if (std::fabs(exact) > largest && dtype != DType::float64) {
          CHECK(std::isinf(got));
          continue;
        }
        if (compute_dtype(dtype) == DType::float32 && got == 0 && std::fabs(exact) < row(DType::float32).min) continue;
        // Relative; where results are subnormal, and in the vanishing tail of gelu (which amplifies the rounding of x
        // by its exponent), absolute.
        const bool tail = c.op == Unary::gelu || c.op == Unary::geluerf;
        const double floor = tail ? 1e-2 : std::max(row(dtype).min, 1e-300);
        worst = std::max(worst, std::fabs(got - exact) / std::max(std::fabs(exact), floor) / unit_of(dtype));
      }
      const double limit = c.op == Unary::sin && dtype == DType::float32 ? 4 : dtype == DType::float64 ? 100 : 12;
      CHECK(worst < limit);
    }
  }
}

TEST_CASE("elementary functions of special values") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("1"), least = 1.17549435e-38F;
  // Operand, result; subnormal results are zeros.
  const std::map<Unary, std::vector<std::pair<float, float>>> all = {
      {Unary::exp,
       {{-inf, 0},
        {-88, 0},
        {-87.33655F, 0},
        {-87.33654F, static_cast<float>(std::exp(double{-87.33654F}))},
        {0, 1},
        {88.72283F, 3.402798e38F},
        {88.72284F, inf},
        {inf, inf}}},
      {Unary::expm1, {{-inf, -1}, {-0.0F, -0.0F}, {0, 0}, {1e-30F, 1e-30F}, {88.72284F, inf}, {inf, inf}}},
      {Unary::log, {{-1, nan}, {-inf, nan}, {-0.0F, -inf}, {0, -inf}, {least, -87.33655F}, {1, 0}, {inf, inf}}},
      {Unary::log1p, {{-2, nan}, {-1, -inf}, {-0.0F, -0.0F}, {1e-30F, 1e-30F}, {3.4028235e38F, 88.72284F}, {inf, inf}}},
      {Unary::tanh, {{-inf, -1}, {-0.0F, -0.0F}, {1e-30F, 1e-30F}, {inf, 1}}},
      {Unary::erf, {{-inf, -1}, {-0.0F, -0.0F}, {inf, 1}}},
      {Unary::softplus, {{-inf, 0}, {-100, 0}, {100, 100}, {inf, inf}}},
      {Unary::sigmoid, {{-inf, 0}, {0, 0.5F}, {inf, 1}}},
      {Unary::tan, {{-inf, nan}, {-0.0F, -0.0F}, {1e-30F, 1e-30F}, {inf, nan}}},
      {Unary::asin, {{-1.1F, nan}, {-1, -1.5707964F}, {-0.0F, -0.0F}, {1e-30F, 1e-30F}, {1, 1.5707964F}, {inf, nan}}},
      {Unary::acos, {{-inf, nan}, {-1, 3.1415927F}, {-0.0F, 1.5707964F}, {1, 0}, {1.1F, nan}}},
      {Unary::atan, {{-inf, -1.5707964F}, {-0.0F, -0.0F}, {1e-30F, 1e-30F}, {inf, 1.5707964F}}},
      {Unary::sinh,
       {{-inf, -inf},
        {-0.0F, -0.0F},
        {1e-30F, 1e-30F},
        {89.4F, static_cast<float>(std::sinh(double{89.4F}))},
        {89.5F, inf},
        {inf, inf}}},
      {Unary::cosh, {{-inf, inf}, {-89.5F, inf}, {0, 1}, {89.5F, inf}, {inf, inf}}},
      {Unary::asinh, {{-inf, -inf}, {-0.0F, -0.0F}, {1e-30F, 1e-30F}, {3.4028235e38F, 89.415985F}, {inf, inf}}},
      {Unary::acosh, {{-inf, nan}, {0.9F, nan}, {1, 0}, {3.4028235e38F, 89.415985F}, {inf, inf}}},
      {Unary::erfinv, {{-inf, nan}, {-1, -inf}, {-0.0F, -0.0F}, {1e-30F, 8.8622695e-31F}, {1, inf}, {1.1F, nan}}},
      {Unary::atanh, {{-inf, nan}, {-1, -inf}, {-0.0F, -0.0F}, {1e-30F, 1e-30F}, {1, inf}, {1.1F, nan}}},
  };
  for (const auto& function : all) {
    const Unary op = function.first;
    auto values = function.second;
    CAPTURE(name(op));
    values.emplace_back(nan, nan);
    values.emplace_back(-nan, nan);
    // Payloads that an addition to the exponent would turn into numbers.
    for (uint32_t bits : {0x7fc00001U, 0x7f800001U, 0xffffffffU}) values.emplace_back(std::bit_cast<float>(bits), nan);
    Array x(DType::float32, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) x.mutable_data<float>()[i] = values[i].first;
    const Array y = run(unary_kernel(op, DType::float32, x.size()), {x}, x.spec());
    for (size_t i = 0; i < values.size(); ++i) {
      CAPTURE(values[i].first);
      const float got = y.data<float>()[i], expected = values[i].second;
      if (std::isnan(expected))
        CHECK(std::isnan(got));
      else if (std::isinf(expected) || expected == 0)
        CHECK(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected));
      else
        CHECK(std::fabs(got - expected) <= 2e-7F * std::fabs(expected));
    }
  }
}

TEST_CASE("erf and the tails of geluerf keep the bounds that they state") {
  const int64_t n = 200001;
  Array x(DType::float32, {n});
  for (int64_t i = 0; i < n; ++i) x.mutable_data<float>()[i] = -13.0F + 26.0F * static_cast<float>(i) / (n - 1);
  const Array y = run(unary_kernel(Unary::erf, DType::float32, n), {x}, x.spec());
  const Array z = run(unary_kernel(Unary::geluerf, DType::float32, n), {x}, x.spec());
  double erf_ulps = 0, near = 0, tail = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = x.number(i), exact = std::erf(v), gelu = gelu_erf(v);
    if (v == 0) continue;
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    erf_ulps = std::max(erf_ulps, std::fabs(y.number(i) - exact) / ulp);
    (v > -5 ? near : tail) = std::max(v > -5 ? near : tail, std::fabs(z.number(i) - gelu) / std::fabs(gelu));
  }
  CHECK(erf_ulps < 1.6);
  CHECK(near < 2e-6);
  CHECK(tail < 1.3e-5);
}

TEST_CASE("special values") {
  const std::vector<double> values{not_a_number, inf, -inf, 0.0, -1.0};
  const auto check = [&](Unary op, const std::vector<double>& expected) {
    CAPTURE(name(op));
    for (DType dtype : floats) {
      const Array y = run(unary_kernel(op, dtype, 5), {make(dtype, {5}, values)}, spec(result_dtype(op, dtype), {5}));
      for (int64_t i = 0; i < 5; ++i)
        CHECK(close(y.number(i), expected[static_cast<size_t>(i)], std::max(1e-3, unit_of(dtype))));
    }
  };
  check(Unary::exp, {not_a_number, inf, 0, 1, std::exp(-1)});
  check(Unary::log, {not_a_number, inf, not_a_number, -inf, not_a_number});
  check(Unary::tanh, {not_a_number, 1, -1, 0, std::tanh(-1)});
  check(Unary::relu, {not_a_number, inf, 0, 0, 0});
  check(Unary::erf, {not_a_number, 1, -1, 0, std::erf(-1)});
  check(Unary::softplus, {not_a_number, inf, 0, std::log(2), std::log1p(std::exp(-1))});
  check(Unary::softsign, {not_a_number, 1, -1, 0, -0.5});
  check(Unary::hard_swish, {not_a_number, inf, not_a_number, 0, -1.0 / 3});
  check(Unary::expm1, {not_a_number, inf, -1, 0, std::expm1(-1)});
  check(Unary::log1p, {not_a_number, inf, not_a_number, 0, -inf});
  check(Unary::isnan, {1, 0, 0, 0, 0});
  check(Unary::isinf, {0, 1, 1, 0, 0});
  check(Unary::logical_not, {0, 0, 0, 1, 0});
  const std::vector<double> gradients = numbers(run(
      binary_kernel(Binary::gelu_grad, DType::float32, {3}, {3}, {3}),
      {make(DType::float32, {3}, {1, 1, 1}), make(DType::float32, {3}, {inf, -inf, 1e20})}, spec(DType::float32, {3})));
  CHECK(gradients == std::vector<double>{1, 0, 1});
}

TEST_CASE("functions with constants are accurate, keep NaN, and do not depend on the length") {
  struct WithConstants {
    Parametric op;
    double p, q;
    std::function<double(double)> f;
  };
  const WithConstants all[] = {
      {Parametric::leaky_relu, 0.2, 0, [](double x) { return x < 0 ? 0.2 * x : x; }},
      {Parametric::elu, 1.5, 0, [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; }},
      {Parametric::selu, 1.6, 1.05, [](double x) { return 1.05 * (x < 0 ? 1.6 * std::expm1(x) : x); }},
      {Parametric::celu, 0.5, 0, [](double x) { return x < 0 ? 0.5 * std::expm1(x / 0.5) : x; }},
      {Parametric::hard_sigmoid, 0.2, 0.5, [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {Parametric::shrink, 0.75, 0.5, [](double x) { return x > 0.75    ? x - 0.5
                                                            : x < -0.75 ? x + 0.5
                                                                        : x * 0; }},
      {Parametric::thresholded_relu, -0.75, 0, [](double x) { return x > -0.75 ? x : x * 0; }},
  };
  CHECK(std::ssize(all) == static_cast<int64_t>(Parametric::count));
  for (const WithConstants& c : all)
    for (DType dtype : floats) {
      CAPTURE(name(c.op));
      CAPTURE(name(dtype));
      constexpr int64_t n = 1003;
      Array x(dtype, {n});
      for (int64_t i = 0; i < n; ++i)
        write_number(dtype, x.mutable_raw(), i, -12.0 + 24.0 * static_cast<double>(i) / (n - 1));
      write_number(dtype, x.mutable_raw(), 7, not_a_number);
      const Array y = run(parametric_kernel(c.op, dtype, c.p, c.q, n), {x}, spec(dtype, {n}));
      const double tolerance = dtype == DType::float32 ? 1e-6 : dtype == DType::float64 ? 1e-14 : 2 * unit_of(dtype);
      for (int64_t i = 0; i < n; ++i) CHECK(close(y.number(i), c.f(x.number(i)), tolerance));
      for (int64_t i : {int64_t{0}, int64_t{7}, n - 1}) {
        const Array one =
            run(parametric_kernel(c.op, dtype, c.p, c.q, 1), {x.rows(i, i + 1).clone()}, spec(dtype, {1}));
        CHECK(std::memcmp(one.raw(), y.rows(i, i + 1).raw(), size_of(dtype)) == 0);
      }
    }
  CHECK_THROWS(parametric_kernel(Parametric::elu, DType::int32, 1, 0, 4));
}

TEST_CASE("casts of any number of float32 elements to narrow integers saturate, and NaN is 0") {
  for (const DType to : {DType::int8, DType::uint8, DType::int16, DType::uint16})
    for (const int64_t n : {1, 7, 15, 16, 31, 32, 33, 150}) {
      CAPTURE(name(to));
      CAPTURE(n);
      const double sharp[] = {inf,   -inf, not_a_number, -0.0,  -0.99, 127.99,  128,   -128.99, -129,  255.5,
                              256.0, 3e9,  -3e9,         32768, -4e4,  65535.5, 65536, 1e-42,   254.5, 1e38};
      Array x(DType::float32, {n});
      for (int64_t i = 0; i < n; ++i)
        write_number(DType::float32, x.mutable_raw(), i, sharp[i * 7 % std::ssize(sharp)]);
      const Array y = run(cast_kernel(DType::float32, to, n), {x}, spec(to, {n}));
      const int bits = 8 * static_cast<int>(size_of(to)) - (to == DType::int8 || to == DType::int16 ? 1 : 0);
      const double most = std::ldexp(1.0, bits) - 1, least = bits % 8 == 0 ? 0 : -most - 1;
      for (int64_t i = 0; i < n; ++i) {
        const double v = x.number(i);
        CHECK(y.number(i) == (std::isnan(v) ? 0 : std::trunc(std::clamp(v, least, most))));
      }
    }
}

TEST_CASE("gates are closed at their bounds, and NaN is outside") {
  for (const DType dtype : floats)
    for (const int64_t n : {1, 7, 67, 1003, 2500}) {
      CAPTURE(name(dtype));
      Array g = ramp(dtype, {n}), x = ramp(dtype, {n}, 3);
      const double sharp[] = {inf, -inf, not_a_number, -0.0, -0.75, 1.25};
      for (int64_t i = 0; i < n; i += 5) write_number(dtype, x.mutable_raw(), i, sharp[i / 5 % std::ssize(sharp)]);
      const Array y = run(gate_grad_kernel(dtype, -0.75, 1.25, 0.5, -2, n), {g, x}, spec(dtype, {n}));
      for (int64_t i = 0; i < n; ++i)
        CHECK(y.number(i) == g.number(i) * (x.number(i) >= -0.75 && x.number(i) <= 1.25 ? 0.5 : -2));
    }
  CHECK_THROWS_AS(gate_grad_kernel(DType::int32, 0, 1, 0, 1, 3), Error);
}

TEST_CASE("results depend on the value alone, not on position, length or place in memory") {
  for (int op = 0; op < static_cast<int>(Unary::count); ++op) {
    for (DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
      const Unary u = static_cast<Unary>(op);
      if (!takes(u, dtype)) continue;
      CAPTURE(name(u));
      const int64_t n = 67;
      const Array x = ramp(dtype, {n});
      const DType result = result_dtype(u, dtype);
      const Array whole = run(unary_kernel(u, dtype, n), {x}, spec(result, {n}));
      for (int64_t i = 0; i < n; ++i) {
        const Array one = run(unary_kernel(u, dtype, 1), {x.rows(i, i + 1).clone()}, spec(result, {1}));
        CHECK(std::memcmp(one.raw(), whole.rows(i, i + 1).raw(), size_of(result)) == 0);
      }
    }
  }
}

TEST_CASE("gradients agree with differences") {
  const std::tuple<Binary, Unary, bool> pairs[] = {
      {Binary::gelu_grad, Unary::gelu, false},   {Binary::geluerf_grad, Unary::geluerf, false},
      {Binary::swish_grad, Unary::swish, false}, {Binary::erf_grad, Unary::erf, false},
      {Binary::tanh_grad, Unary::tanh, true},    {Binary::sigmoid_grad, Unary::sigmoid, true},
      {Binary::relu_grad, Unary::relu, true},    {Binary::hard_swish_grad, Unary::hard_swish, false}};
  for (const auto& entry : pairs) {
    const Binary gradient = std::get<0>(entry);
    const Unary forward = std::get<1>(entry);
    const bool of_y = std::get<2>(entry);
    for (DType dtype : {DType::float32, DType::float64}) {
      CAPTURE(name(gradient));
      for (double x : {-3.1, -0.7, 0.3, 2.2}) {
        const auto f = [&, op = forward](double v) {
          return run(unary_kernel(op, DType::float64, 1), {make(DType::float64, {1}, {v})}, spec(DType::float64, {1}))
              .number(0);
        };
        const double derivative = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5;
        const Array g = run(binary_kernel(gradient, dtype, {1}, {1}, {1}),
                            {make(dtype, {1}, {2}), make(dtype, {1}, {of_y ? f(x) : x})}, spec(dtype, {1}));
        CHECK(close(g.number(0), 2 * derivative, 2e-6));
      }
    }
  }
}

TEST_CASE("sine and cosine of float64 are within an ulp, also near multiples of a quarter turn") {
  std::vector<double> values{0.0, -0.0, 1e-300, -1e-9, 0.785398163397448, 2.356194490192345, 99999.5, -1e5};
  for (int64_t i = 0; i < 20000; ++i) {
    const double quarters = static_cast<double>(i * 3 - 30000) * 1.5707963267948966;
    values.push_back(quarters);
    values.push_back(quarters + static_cast<double>(i % 1000) * 1e-3);
  }
  const auto n = static_cast<int64_t>(values.size());
  const Array x = make(DType::float64, {n}, values);
  const Array s = run(unary_kernel(Unary::sin, DType::float64, n), {x}, x.spec());
  const Array c = run(unary_kernel(Unary::cos, DType::float64, n), {x}, x.spec());
  double worst = 0;
  const auto ulps = [](double got, long double exact) {
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(static_cast<double>(exact)), -1000) - 52);
    return static_cast<double>(std::fabs(static_cast<long double>(got) - exact)) / ulp;
  };
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    worst = std::max(worst, ulps(s.number(at), std::sin(static_cast<long double>(values[i]))));
    worst = std::max(worst, ulps(c.number(at), std::cos(static_cast<long double>(values[i]))));
  }
  CHECK(worst < 1);
  CHECK(std::signbit(s.number(1)));
}

TEST_CASE("angles beyond the reduction's range are the C library's, in blocks with others") {
  const int64_t n = 700;
  for (const DType dtype : {DType::float32, DType::float64}) {
    Array x = ramp(dtype, {n});
    const double far[] = {1.5e5, -2e6, 1e20, 3e38, -1e5, 1e5};
    for (int64_t i = 0; i < n; i += 37) write_number(dtype, x.mutable_raw(), i, far[i % 6]);
    write_number(dtype, x.mutable_raw(), 5, inf), write_number(dtype, x.mutable_raw(), 6, not_a_number);
    for (const bool in_place : {false, true}) {
      Array to = in_place ? x.clone() : Array::zeros(dtype, {n});
      const std::byte* from[] = {in_place ? to.raw() : x.raw()};
      std::byte* out[] = {to.mutable_raw()};
      unary_kernel(Unary::cos, dtype, n)(Buffers{from, out});
      for (int64_t i = 0; i < n; ++i) {
        CAPTURE(x.number(i));
        CHECK(close(to.number(i), std::cos(x.number(i)), dtype == DType::float32 ? 2e-7 : 3e-16));
      }
    }
  }
}
