// Functions with their derivatives in one pass: the bits of the two kernels that they replace.
#include "runtime/kernels/elementwise/value_and_derivative.hpp"

#include <cstring>

#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Pair {
  Unary function;
  Binary gradient;
};
constexpr Pair pairs[] = {
    {Unary::gelu, Binary::gelu_grad}, {Unary::geluerf, Binary::geluerf_grad}, {Unary::swish, Binary::swish_grad}};

Array numbers_and_ends() {
  std::vector<double> values = {inf,  -inf,  not_a_number, 0.0,   -0.0,  1e30, -1e30,
                                10.0, -10.0, 10.5,         -10.5, 1e-30, -88.0};
  for (int i = 0; i < 200; ++i) values.push_back(-13 + 0.13 * i);
  const auto n = static_cast<int64_t>(values.size());
  return make(DType::float32, {n}, values);
}

/// The same bits, but that NaNs have no sign.
bool same(const Array& a, const Array& b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    const float x = a.data<float>()[i], y = b.data<float>()[i];
    if (std::isnan(x) ? !std::isnan(y) : std::memcmp(&x, &y, sizeof x) != 0) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a function with its derivative has the bits of both ops") {
  const Array x = numbers_and_ends();
  const int64_t n = x.size();
  const Array g = ramp(DType::float32, {n}, 2);
  for (const Pair& pair : pairs) {
    CAPTURE(name(pair.function));
    CHECK(has_derivative(pair.function));
    CHECK(derivative_of(pair.gradient) == pair.function);
    const std::vector<Array> both =
        run(value_and_derivative_kernel(pair.function, n), {x.clone()}, {x.spec(), x.spec()});
    CHECK(same(both[0], run(unary_kernel(pair.function, DType::float32, n), {x.clone()}, x.spec())));
    const auto times = [&](Binary op, const Array& by) {
      return run(binary_kernel(op, DType::float32, x.shape(), x.shape(), x.shape()), {g.clone(), by.clone()}, x.spec());
    };
    CHECK(same(times(Binary::mul, both[1]), times(pair.gradient, x)));
    // The derivative may take the operand's place.
    Array place = x.clone(), value(DType::float32, {n});
    const std::byte* in[] = {place.mutable_raw()};
    std::byte* out[] = {value.mutable_raw(), place.mutable_raw()};
    value_and_derivative_kernel(pair.function, n)({in, out});
    CHECK(same(value, both[0]));
    CHECK(same(place, both[1]));
  }
  CHECK(!has_derivative(Unary::relu));
  CHECK(!derivative_of(Binary::mul));
}

TEST_CASE("gelu at its ends") {
  const Array x = make(DType::float32, {6}, {inf, -inf, 1e30, -1e30, 12, -12});
  const Array y = run(unary_kernel(Unary::gelu, DType::float32, 6), {x.clone()}, x.spec());
  CHECK(numbers(y) == std::vector<double>{inf, 0, x.number(2), 0, 12, 0});
}
