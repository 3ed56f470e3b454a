// Binary elementwise kernels: broadcasting, integers, powers, remainders.
#include <bit>
#include <cstring>

#include "runtime/kernels/block/block.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("powers of float32 are rounded once but for short products, signs and special values are the C library's") {
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
  double worst = 0, worst_product = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double exact = std::pow(a.number(i), b.number(i));
    if (std::isnan(exact)) {
      CHECK(std::isnan(y.number(i)));
      continue;
    }
    if (std::fabs(exact) > 3.4e38 || std::fabs(exact) < 1.2e-38) continue;
    const bool product = b.number(i) == 3 || b.number(i) == -2;
    double& of = product ? worst_product : worst;
    of = std::max(of, std::fabs(y.number(i) - exact) / std::ldexp(1.0, std::ilogb(exact) - 23));
  }
  CHECK(worst < 0.501);
  CHECK(worst_product > 0.501);  // else they need no limit of their own
  CHECK(worst_product < 2);
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

TEST_CASE("shapes and dtypes that a function does not take are refused") {
  CHECK_THROWS_AS(binary_kernel(Binary::add, DType::float32, {2}, {3}, {3}), Error);
  CHECK_THROWS_AS(binary_kernel(Binary::bit_and, DType::float32, {2}, {2}, {2}), Error);
  CHECK_THROWS_AS(unary_kernel(Unary::exp, DType::int32, 3), Error);
}

TEST_CASE("short rows of operands that are broadcast are those of long ones, however the elements are divided") {
  const int64_t rows = 700;
  for (const int64_t n : {2, 3, 7, 10, 32, 33}) {
    const Shape whole{rows, n}, row{1, n}, column{rows, 1};
    const std::pair<Shape, Shape> shapes[] = {
        {whole, row}, {row, whole}, {whole, column}, {column, whole}, {column, row}};
    for (const auto& [sa, sb] : shapes)
      for (DType dtype : {DType::float16, DType::float32, DType::float64, DType::int8}) {
        const Array a = ramp(dtype, sa, 1), b = ramp(dtype, sb, 2);
        const auto at = [&](const Array& x, int64_t i) {
          const int64_t r = x.shape()[0] == 1 ? 0 : i / n, c = x.shape()[1] == 1 ? 0 : i % n;
          return x.number(r * x.shape()[1] + c);
        };
        const Array y =
            check_divided(binary_kernel(Binary::sub, dtype, sa, sb, whole), {a, b}, {spec(dtype, whole)})[0];
        const Array less =
            check_divided(binary_kernel(Binary::less, dtype, sa, sb, whole), {a, b}, {spec(DType::boolean, whole)})[0];
        bool same = true;
        for (int64_t i = 0; i < y.size(); ++i)
          same = same && y.number(i) == at(a, i) - at(b, i) && (less.number(i) != 0) == (at(a, i) < at(b, i));
        CHECK(same);
      }
  }
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

TEST_CASE("divisions of 64-bit integers, in blocks with and without operands of more than 32 bits") {
  constexpr int64_t n = 1000, largest = 2147483647, wide = int64_t{1} << 40;
  const int64_t edges[] = {0, 1, -1, 7, -7, largest, -largest, largest + 1, -largest - 1, wide, -wide, INT64_MIN};
  const auto expected = [](Binary op, int64_t a, int64_t b) {
    if (b == 0) return int64_t{0};
    const int64_t q = b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b, m = b == -1 ? 0 : a % b;
    const bool lower = m != 0 && (m < 0) != (b < 0);
    switch (op) {
      case Binary::div: return q;
      case Binary::fmod: return m;
      case Binary::floor_div: return lower ? q - 1 : q;
      default: return lower ? m + b : m;
    }
  };
  for (const Binary op : {Binary::div, Binary::fmod, Binary::floor_div, Binary::mod})
    for (const int64_t special : edges)
      for (const int64_t at : {int64_t{0}, int64_t{255}, int64_t{256}, n - 1}) {
        CAPTURE(name(op));
        CAPTURE(special);
        CAPTURE(at);
        Array a(DType::int64, {n}), b(DType::int64, {n});
        auto *x = a.mutable_data<int64_t>(), *y = b.mutable_data<int64_t>();
        for (int64_t i = 0; i < n; ++i) x[i] = (i * 37 + 5) % 2001 - 1000, y[i] = (i * 11 + 3) % 13 - 6;
        x[at] = special;
        y[n - 1 - at] = special;
        const auto result = [&](const Array& left, const Array& right) {
          return run(binary_kernel(op, DType::int64, left.shape(), right.shape(), {n}), {left, right},
                     spec(DType::int64, {n}));
        };
        const Array one = Array::scalar(special), vv = result(a, b), vs = result(a, one), sv = result(one, b);
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; ++i)
          wrong += (vv.integer(i) != expected(op, x[i], y[i])) + (vs.integer(i) != expected(op, x[i], special)) +
                   (sv.integer(i) != expected(op, special, y[i]));
        CHECK(wrong == 0);
      }
}

TEST_CASE("divisions of unsigned 64-bit integers, among them those that are small only as signed ones") {
  constexpr int64_t n = 300;
  const uint64_t edges[] = {1,           0x7fffffff, 0x80000000,     0xffffffff,
                            0x100000000, UINT64_MAX, UINT64_MAX - 6, uint64_t{1} << 63};
  for (const Binary op : {Binary::div, Binary::fmod, Binary::floor_div, Binary::mod})
    for (const uint64_t special : edges) {
      CAPTURE(name(op));
      CAPTURE(special);
      Array a(DType::uint64, {n}), b(DType::uint64, {n});
      auto *x = a.mutable_data<uint64_t>(), *y = b.mutable_data<uint64_t>();
      for (int64_t i = 0; i < n; ++i)
        x[i] = static_cast<uint64_t>((i * 37 + 5) % 1001), y[i] = static_cast<uint64_t>((i * 11 + 3) % 13 + 1);
      x[7] = special;
      y[n - 1] = special;
      const Array result = run(binary_kernel(op, DType::uint64, {n}, {n}, {n}), {a, b}, spec(DType::uint64, {n}));
      const bool divides = op == Binary::div || op == Binary::floor_div;
      int64_t wrong = 0;
      for (int64_t i = 0; i < n; ++i) wrong += result.data<uint64_t>()[i] != (divides ? x[i] / y[i] : x[i] % y[i]);
      CHECK(wrong == 0);
    }
}

namespace {

const double sharp[] = {0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 1e-3, 3e20, -3e20, 1e-42, inf, -inf, not_a_number};

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
      CHECK(same_numbers(power(e, x), power(many, x)));
      for (int64_t i = 0; i < n; ++i) {
        const double exact = std::pow(x.number(i), e.number(0)), got = by_one.number(i);
        CAPTURE(x.number(i));
        const double largest = dtype == DType::float64 ? 1.7e308 : row(dtype).max;
        const double unit = dtype == DType::float64 ? 0x1p-52 : unit_of(dtype);
        if (std::isnan(exact))
          CHECK(std::isnan(got));
        else if (std::fabs(exact) > largest)
          CHECK(got == std::copysign(inf, exact));
        else if (dtype != DType::float64 || exact == 0 || std::fabs(exact) > 1e-300)
          CHECK(std::fabs(got - exact) <=
                4 * unit * std::max(std::fabs(exact), dtype == DType::float64 ? 0.0 : row(dtype).min));
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

TEST_CASE("atan2 is the angle of each point, of any size and in any quadrant") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::float32, DType::float64}) {
    CAPTURE(name(dtype));
    const double least = dtype == DType::float32 ? 0x1p-126 : 0x1p-1022,
                 most = dtype == DType::float32 ? 0x1p127 : 0x1p1023;
    std::vector<double> sides = {0, 1,      inf,    least,  1.5 * least, most, 1.75 * most,
                                 3, 2.4142, 2.4143, 0.4142, 0.4143,      1e-20};
    for (int i = 1; i < 40; ++i) sides.push_back(std::exp(i - 20.0) * (1 + i / 64.0));
    std::vector<double> ys, xs;
    for (const double y : sides)
      for (const double x : sides)
        for (const double a : {y, -y})
          for (const double b : {x, -x}) ys.push_back(a), xs.push_back(b);
    const auto n = static_cast<int64_t>(ys.size());
    const Array y = make(dtype, {n}, ys), x = make(dtype, {n}, xs);
    const Array angles = run(binary_kernel(Binary::atan2, dtype, {n}, {n}, {n}), {y, x}, spec(dtype, {n}));
    const double unit = dtype == DType::float32 ? 0x1p-23 : 0x1p-52;
    for (int64_t i = 0; i < n; ++i) {
      const double exact = std::atan2(y.number(i), x.number(i)), got = angles.number(i);
      CAPTURE(y.number(i));
      CAPTURE(x.number(i));
      CHECK(std::signbit(got) == std::signbit(exact));
      if (std::fabs(exact) < 4 * least)
        CHECK(std::fabs(got - exact) <= 4 * least);
      else
        CHECK(std::fabs(got - exact) <= 3 * unit * std::fabs(exact));
    }
  }
}
