// Elementwise kernels against the C library in float64.
#include <bit>
#include <cstring>
#include <map>

#include "runtime/kernels/block.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x * sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)); }
double gelu_erf(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }

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
        const double largest = dtype == DType::float16 ? 65504.0 : 3.4028235e38;
        if (std::fabs(exact) > largest && dtype != DType::float64) {
          CHECK(std::isinf(got));
          continue;
        }
        // Relative; where results are subnormal, and in the vanishing tail of gelu (which amplifies the rounding of x
        // by its exponent), absolute.
        const bool tail = c.op == Unary::gelu || c.op == Unary::geluerf;
        const double floor = tail ? 1e-2 : dtype == DType::float16 ? 6e-5 : dtype == DType::float32 ? 1.2e-38 : 1e-300;
        const double unit = dtype == DType::float16 ? 0x1p-11 : dtype == DType::float32 ? 0x1p-24 : 0x1p-53;
        worst = std::max(worst, std::fabs(got - exact) / std::max(std::fabs(exact), floor) / unit);
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
  };
  for (auto [op, values] : all) {
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
  CHECK(near < 8e-7);
  CHECK(tail < 5e-6);
}

TEST_CASE("powers of float32 are rounded once, signs and special values are the C library's") {
  Array a(DType::float32, {40, 250}), b(DType::float32, {40, 250});
  for (int64_t i = 0; i < a.size(); ++i) {
    const double u = static_cast<double>(i * 7919 % 10007) / 10007, v = static_cast<double>(i * 104729 % 10009) / 10009;
    const double base = std::exp(20 * u - 10);
    // Odd rows: negative bases with whole exponents, and some that are not.
    a.mutable_data<float>()[i] = static_cast<float>(i / 250 % 2 == 0 ? base : -base);
    b.mutable_data<float>()[i] =
        static_cast<float>(i / 250 % 2 == 0 ? 16 * v - 8 : std::round(14 * v - 7) + (i % 50 == 0 ? 0.5 : 0));
  }
  const Array y = run(binary_kernel(Binary::pow, DType::float32, a.shape(), b.shape(), a.shape()), {a, b}, a.spec());
  double worst = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double exact = std::pow(a.number(i), b.number(i));
    if (std::isnan(exact)) {
      CHECK(std::isnan(y.number(i)));
      continue;
    }
    if (std::fabs(exact) > 3.4e38 || std::fabs(exact) < 1.2e-38) continue;
    worst = std::max(worst, std::fabs(y.number(i) - exact) / std::ldexp(1.0, std::ilogb(exact) - 23));
  }
  CHECK(worst < 0.501);
  const double values[] = {0.0,  -0.0, 1.0,   -1.0,  2.0, -2.0, 0.5,          -0.5,       3.0,
                           -3.0, 1e30, -1e30, 1e-42, inf, -inf, not_a_number, 16777217.0, 33554431.0};
  for (const double base : values)
    for (const double exponent : values) {
      const double exact = static_cast<double>(static_cast<float>(
          std::pow(static_cast<double>(static_cast<float>(base)), static_cast<double>(static_cast<float>(exponent)))));
      const Array got =
          run(binary_kernel(Binary::pow, DType::float32, {1}, {1}, {1}),
              {make(DType::float32, {1}, {base}), make(DType::float32, {1}, {exponent})}, spec(DType::float32, {1}));
      CAPTURE(base);
      CAPTURE(exponent);
      CHECK(close(got.number(0), exact, 1e-7));
      if (exact == 0) CHECK(std::signbit(got.number(0)) == std::signbit(exact));
    }
}

TEST_CASE("special values") {
  const std::vector<double> values{not_a_number, inf, -inf, 0.0, -1.0};
  const auto check = [&](Unary op, const std::vector<double>& expected) {
    CAPTURE(name(op));
    for (DType dtype : floats) {
      const Array y = run(unary_kernel(op, dtype, 5), {make(dtype, {5}, values)}, spec(result_dtype(op, dtype), {5}));
      for (int64_t i = 0; i < 5; ++i) CHECK(close(y.number(i), expected[static_cast<size_t>(i)], 1e-3));
    }
  };
  check(Unary::exp, {not_a_number, inf, 0, 1, std::exp(-1)});
  check(Unary::log, {not_a_number, inf, not_a_number, -inf, not_a_number});
  check(Unary::tanh, {not_a_number, 1, -1, 0, std::tanh(-1)});
  check(Unary::relu, {not_a_number, inf, 0, 0, 0});
  check(Unary::erf, {not_a_number, 1, -1, 0, std::erf(-1)});
  check(Unary::softplus, {not_a_number, inf, 0, std::log(2), std::log1p(std::exp(-1))});
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

TEST_CASE("results depend on the value alone, not on position, length or place in memory") {
  for (int op = 0; op < static_cast<int>(Unary::count); ++op) {
    for (DType dtype : {DType::float16, DType::float32}) {
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

TEST_CASE("binary functions broadcast as NumPy does") {
  const std::vector<std::pair<Shape, Shape>> shapes{{{}, {}},
                                                    {{7}, {}},
                                                    {{}, {7}},
                                                    {{3, 5}, {5}},
                                                    {{3, 5}, {3, 1}},
                                                    {{3, 1}, {1, 5}},
                                                    {{2, 3, 1, 5}, {3, 4, 1}},
                                                    {{1}, {2, 3}},
                                                    {{0, 3}, {3}},
                                                    {{2, 1, 3}, {2, 4, 3}},
                                                    {{1000, 3}, {1000, 3}},
                                                    {{1, 1}, {1, 1}}};
  for (const auto& [sa, sb] : shapes) {
    const Shape so = broadcast(sa, sb);
    for (DType dtype : {DType::float16, DType::float32, DType::float64, DType::int32, DType::int8}) {
      const Array a = ramp(dtype, sa, 1), b = ramp(dtype, sb, 2);
      const Array y = run(binary_kernel(Binary::sub, dtype, sa, sb, so), {a, b}, spec(dtype, so));
      const Array less = run(binary_kernel(Binary::less, dtype, sa, sb, so), {a, b}, spec(DType::boolean, so));
      const Shape strides = strides_of(so), ta = strides_of(sa), tb = strides_of(sb);
      for (int64_t i = 0; i < y.size(); ++i) {
        int64_t ia = 0, ib = 0;
        for (size_t d = 0; d < so.size(); ++d) {
          const int64_t at = i / strides[d] % so[d];
          if (d + sa.size() >= so.size() && sa[d + sa.size() - so.size()] != 1)
            ia += at * ta[d + sa.size() - so.size()];
          if (d + sb.size() >= so.size() && sb[d + sb.size() - so.size()] != 1)
            ib += at * tb[d + sb.size() - so.size()];
        }
        CHECK(y.number(i) == a.number(ia) - b.number(ib));
        CHECK((less.number(i) != 0) == (a.number(ia) < b.number(ib)));
      }
    }
  }
  CHECK_THROWS_AS(binary_kernel(Binary::add, DType::float32, {2}, {3}, {3}), Error);
  CHECK_THROWS_AS(binary_kernel(Binary::bit_and, DType::float32, {2}, {2}, {2}), Error);
  CHECK_THROWS_AS(unary_kernel(Unary::exp, DType::int32, 3), Error);
}

TEST_CASE("a broadcast to a larger shape than either operand's") {
  const Array y = run(binary_kernel(Binary::add, DType::float32, {1}, {}, {2, 3}),
                      {make(DType::float32, {1}, {1}), make(DType::float32, {}, {2})}, spec(DType::float32, {2, 3}));
  CHECK(numbers(y) == std::vector<double>(6, 3.0));
}

TEST_CASE("integer arithmetic neither traps nor overflows") {
  const auto one = [](Binary op, DType dtype, double a, double b) {
    return run(binary_kernel(op, dtype, {}, {}, {}), {make(dtype, {}, {a}), make(dtype, {}, {b})},
               spec(result_dtype(op, dtype), {}))
        .number(0);
  };
  CHECK(one(Binary::div, DType::int32, -7, 2) == -3);
  CHECK(one(Binary::div, DType::int32, 7, 0) == 0);
  CHECK(one(Binary::div, DType::int32, -2147483648.0, -1) == -2147483648.0);
  CHECK(one(Binary::div, DType::int8, -128, -1) == -128);
  CHECK(one(Binary::fmod, DType::int32, -7, 3) == -1);
  CHECK(one(Binary::mod, DType::int32, -7, 3) == 2);
  CHECK(one(Binary::floor_div, DType::int32, -7, 2) == -4);
  CHECK(one(Binary::fmod, DType::int64, -9223372036854775808.0, -1) == 0);
  CHECK(one(Binary::mul, DType::uint16, 65535, 65535) == 1);
  CHECK(one(Binary::add, DType::int32, 2147483647, 1) == -2147483648.0);
  CHECK(one(Binary::pow, DType::int32, 3, 4) == 81);
  CHECK(one(Binary::pow, DType::int32, 2, -1) == 0);
  CHECK(one(Binary::shift_left, DType::int32, 1, 40) == 0);
  CHECK(one(Binary::shift_right, DType::int32, -8, 99) == -1);
  CHECK(one(Binary::floor_div, DType::float32, -7, 2) == -4);
  CHECK(one(Binary::fmod, DType::float32, -7, 3) == -1);
  CHECK(one(Binary::mod, DType::float32, -7, 3) == 2);
  CHECK(one(Binary::logical_and, DType::float32, 2, 0) == 0);
  CHECK(std::isnan(one(Binary::maximum, DType::float32, not_a_number, 1)));
  CHECK(std::isnan(one(Binary::minimum, DType::float16, 1, not_a_number)));
}

TEST_CASE("gradients agree with differences") {
  const std::tuple<Binary, Unary, bool> pairs[] = {
      {Binary::gelu_grad, Unary::gelu, false},   {Binary::geluerf_grad, Unary::geluerf, false},
      {Binary::swish_grad, Unary::swish, false}, {Binary::erf_grad, Unary::erf, false},
      {Binary::tanh_grad, Unary::tanh, true},    {Binary::sigmoid_grad, Unary::sigmoid, true},
      {Binary::relu_grad, Unary::relu, true}};
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
        const double slope = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5;
        const Array g = run(binary_kernel(gradient, dtype, {1}, {1}, {1}),
                            {make(dtype, {1}, {2}), make(dtype, {1}, {of_y ? f(x) : x})}, spec(dtype, {1}));
        CHECK(close(g.number(0), 2 * slope, 2e-6));
      }
    }
  }
}

namespace {

constexpr double sharp[] = {0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 1e-3, 3e20, -3e20, 1e-42, inf, -inf, not_a_number};

/// The same bits, or both NaN.
bool same_numbers(const Array& a, const Array& b) {
  for (int64_t i = 0; i < a.size(); ++i)
    if (!(std::isnan(a.number(i)) && std::isnan(b.number(i))) &&
        std::memcmp(a.raw() + i * static_cast<int64_t>(size_of(a.dtype())),
                    b.raw() + i * static_cast<int64_t>(size_of(a.dtype())), size_of(a.dtype())) != 0)
      return false;
  return true;
}

}  // namespace

TEST_CASE("a power has the same bits for one exponent and for many, for one base and for many") {
  const int64_t n = 531;
  for (const DType dtype : floats)
    for (const double exponent : {-4.0, -3.5, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.2, 3.0, 3.5, 4.0, 4.5, 5.0,
                                  inf, -inf, not_a_number}) {
      CAPTURE(name(dtype));
      CAPTURE(exponent);
      Array x = ramp(dtype, {n});
      for (size_t i = 0; i < std::size(sharp); ++i)
        write_number(dtype, x.mutable_raw(), static_cast<int64_t>(41 * i), sharp[i]);
      const Array e = Array::full(dtype, {}, exponent), many = Array::full(dtype, {n}, exponent);
      const auto power = [&](const Array& a, const Array& b) {
        return run(binary_kernel(Binary::pow, dtype, a.shape(), b.shape(), {n}), {a, b}, spec(dtype, {n}));
      };
      const Array by_one = power(x, e);
      CHECK(same_numbers(by_one, power(x, many)));
      CHECK(same_numbers(by_one, run(binary_scalar_kernel(Binary::pow, dtype, exponent, false, n), {x}, x.spec())));
      CHECK(same_numbers(power(e, x), power(many, x)));
      for (int64_t i = 0; i < n; ++i) {
        const double exact = std::pow(x.number(i), e.number(0)), got = by_one.number(i);
        CAPTURE(x.number(i));
        const double largest = dtype == DType::float16 ? 65504.0 : dtype == DType::float32 ? 3.4028235e38 : 1.7e308;
        const double unit = dtype == DType::float16 ? 0x1p-11 : dtype == DType::float32 ? 0x1p-24 : 0x1p-52;
        if (std::isnan(exact))
          CHECK(std::isnan(got));
        else if (std::fabs(exact) > largest)
          CHECK(got == std::copysign(inf, exact));
        else if (dtype != DType::float64 || exact == 0 || std::fabs(exact) > 1e-300)
          CHECK(std::fabs(got - exact) <= 4 * unit *
                                              std::max(std::fabs(exact), dtype == DType::float16   ? 6e-5
                                                                         : dtype == DType::float32 ? 1.2e-38
                                                                                                   : 0.0));
        if (exact == 0) CHECK(std::signbit(got) == std::signbit(exact));
      }
    }
}

TEST_CASE("remainders and floor quotients of floats are exact") {
  // Quotients below and above 2^28, from where on the C library computes them.
  std::vector<double> as, bs;
  for (int i = 0; i < 3000; ++i) {
    const double u = static_cast<double>(i * 7919 % 10007) / 10007, v = static_cast<double>(i * 104729 % 10009) / 10009;
    as.push_back((i % 2 == 0 ? 1 : -1) * std::exp((i % 5 == 0 ? 60 : 12) * u));
    bs.push_back((i % 3 == 0 ? -1 : 1) * (i % 7 == 0 ? 1 + i % 11 : std::exp(10 * v - 5)));
  }
  for (const double a : sharp)
    for (const double b : sharp) as.push_back(a), bs.push_back(b);
  const auto n = static_cast<int64_t>(as.size());
  for (const DType dtype : {DType::float32, DType::float64}) {
    CAPTURE(name(dtype));
    const Array a = make(dtype, {n}, as), b = make(dtype, {n}, bs);
    const auto of = [&](Binary op) { return run(binary_kernel(op, dtype, {n}, {n}, {n}), {a, b}, spec(dtype, {n})); };
    const Array rest = of(Binary::fmod), floor_rest = of(Binary::mod), quotient = of(Binary::floor_div);
    const auto rounded = [&](double x) {
      return dtype == DType::float32 ? static_cast<double>(static_cast<float>(x)) : x;
    };
    for (int64_t i = 0; i < n; ++i) {
      const double x = a.number(i), y = b.number(i), m = std::fmod(x, y);
      if (std::fabs(y) < 1e-38) continue;  // zeros and what becomes one: the special values of the oracle
      CAPTURE(x);
      CAPTURE(y);
      CHECK(close(rest.number(i), m, 0));
      const bool other_sign = m != 0 && (m < 0) != (y < 0);
      CHECK(close(floor_rest.number(i), other_sign ? rounded(m + y) : m, 0));
      CHECK(close(quotient.number(i), rounded(std::rint((x - m) / y) - (other_sign ? 1 : 0)), 0));
    }
  }
}

TEST_CASE("angles beyond the reduction's range are the C library's, in blocks with others") {
  const int64_t n = 700;
  Array x = ramp(DType::float32, {n});
  const float far[] = {1.5e5F, -2e6F, 1e20F, 3e38F, -1e5F, 1e5F};
  for (int64_t i = 0; i < n; i += 37) x.mutable_data<float>()[i] = far[i % 6];
  x.mutable_data<float>()[5] = static_cast<float>(inf), x.mutable_data<float>()[6] = static_cast<float>(not_a_number);
  for (const bool in_place : {false, true}) {
    Array to = in_place ? x.clone() : Array::zeros(DType::float32, {n});
    const std::byte* from[] = {in_place ? to.raw() : x.raw()};
    std::byte* out[] = {to.mutable_raw()};
    unary_kernel(Unary::cos, DType::float32, n)(Buffers{from, out});
    for (int64_t i = 0; i < n; ++i) {
      CAPTURE(x.number(i));
      CHECK(close(to.number(i), std::cos(x.number(i)), 2e-7));
    }
  }
}

TEST_CASE("where, clip, fold, increment, fill, casts") {
  const Array y =
      run(where_kernel(DType::int16, {2, 1}, {3}, {}, {2, 3}),
          {make(DType::boolean, {2, 1}, {1, 0}), make(DType::int16, {3}, {1, 2, 3}), make(DType::int16, {}, {9})},
          spec(DType::int16, {2, 3}));
  CHECK(numbers(y) == std::vector<double>{1, 2, 3, 9, 9, 9});
  const Array x = make(DType::float16, {4}, {-5, 0.5, 5, not_a_number});
  const Array clipped = run(clip_kernel(DType::float16, -1, 1, 4), {x}, spec(DType::float16, {4}));
  CHECK(clipped.number(0) == -1);
  CHECK(clipped.number(1) == 0.5);
  CHECK(clipped.number(2) == 1);
  CHECK(std::isnan(clipped.number(3)));
  CHECK(numbers(run(clip_kernel(DType::int32, -inf, 3, 2), {make(DType::int32, {2}, {-9, 9})},
                    spec(DType::int32, {2}))) == std::vector<double>{-9, 3});
  CHECK(numbers(run(clip_grad_kernel(DType::float32, -1, 1, 3),
                    {make(DType::float32, {3}, {7, 7, 7}), make(DType::float32, {3}, {-1, 0, 2})},
                    spec(DType::float32, {3}))) == std::vector<double>{7, 7, 0});
  CHECK(numbers(run(
            nary_kernel(Binary::maximum, DType::float32, {{2}, {}, {2, 1}}, {2, 2}),
            {make(DType::float32, {2}, {1, 5}), make(DType::float32, {}, {2}), make(DType::float32, {2, 1}, {3, 0})},
            spec(DType::float32, {2, 2}))) == std::vector<double>{3, 5, 2, 5});
  CHECK(numbers(run(increment_mod_kernel(DType::uint32, 2, 5, 3), {make(DType::uint32, {3}, {0, 2, 3})},
                    spec(DType::uint32, {3}))) == std::vector<double>{2, 4, 0});
  CHECK(numbers(run(fill_kernel(DType::float16, 1.5, 5), {}, spec(DType::float16, {5}))) ==
        std::vector<double>(5, 1.5));
  const Array f = make(DType::float32, {6}, {-1.7, 300, not_a_number, inf, 0, 2.5});
  CHECK(numbers(run(cast_kernel(DType::float32, DType::int8, 6), {f}, spec(DType::int8, {6}))) ==
        std::vector<double>{-1, 127, 0, 127, 0, 2});
  CHECK(numbers(run(cast_kernel(DType::float32, DType::boolean, 6), {f}, spec(DType::boolean, {6}))) ==
        std::vector<double>{1, 1, 1, 1, 0, 1});
}

TEST_CASE("selections and constants of every width, in blocks and tails, with operands of one element") {
  for (DType dtype :
       {DType::boolean, DType::int8, DType::float16, DType::int32, DType::float32, DType::float64, DType::int64})
    for (int64_t n : {1, 7, 64, 259}) {
      CAPTURE(name(dtype));
      Array c(DType::boolean, {n});
      for (int64_t i = 0; i < n; ++i) c.mutable_data<bool>()[i] = i % 3 == 0;
      const Array rows[] = {ramp(dtype, {n}, 1), ramp(dtype, {n}, 2)},
                  ones[] = {ramp(dtype, {}, 1), ramp(dtype, {}, 2)};
      for (bool row_a : {false, true})
        for (bool row_b : {false, true}) {
          const Array &a = row_a ? rows[0] : ones[0], &b = row_b ? rows[1] : ones[1];
          const Array y = run(where_kernel(dtype, {n}, a.shape(), b.shape(), {n}), {c, a, b}, spec(dtype, {n}));
          for (int64_t i = 0; i < n; ++i)
            CHECK(y.number(i) == (i % 3 == 0 ? a.number(row_a ? i : 0) : b.number(row_b ? i : 0)));
        }
      const double value = dtype == DType::boolean ? 1 : 3;
      CHECK(numbers(run(fill_kernel(dtype, value, n), {}, spec(dtype, {n}))) ==
            std::vector<double>(static_cast<size_t>(n), value));
      const Array wide = run(cast_kernel(DType::boolean, dtype, n), {c}, spec(dtype, {n}));
      for (int64_t i = 0; i < n; ++i) CHECK(wide.number(i) == (i % 3 == 0 ? 1 : 0));
    }
}

TEST_CASE("float16 conversion is exact for every value and rounds to even") {
  Array h(DType::float16, {65536});
  for (int i = 0; i < 65536; ++i) h.mutable_data<half>()[i].bits = static_cast<uint16_t>(i);
  const Array f = run(cast_kernel(DType::float16, DType::float32, 65536), {h}, spec(DType::float32, {65536}));
  const Array back = run(cast_kernel(DType::float32, DType::float16, 65536), {f}, spec(DType::float16, {65536}));
  for (int i = 0; i < 65536; ++i) {
    const float v = f.data<float>()[i];
    const bool same = std::isnan(v) ? (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0 : back.data<half>()[i].bits == i;
    if (!same || !close(static_cast<double>(v), static_cast<double>(static_cast<float>(h.data<half>()[i])), 0))
      CHECK(i == -1);
  }
  const Array r = run(cast_kernel(DType::float32, DType::float16, 5),
                      {make(DType::float32, {5}, {2049, 2051, 65519, 65520, 2e-8})}, spec(DType::float16, {5}));
  CHECK(numbers(r) == std::vector<double>{2048, 2052, 65504, inf, 0});
}
