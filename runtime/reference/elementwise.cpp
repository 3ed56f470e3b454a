// Functions of one tensor, element by element; and tensors handed on as they are.
#include <cmath>
#include <numbers>

#include "runtime/base/threads/keep_subnormals.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

void abs(ReferenceContext& c) {
  c.numbers([](const auto& x) {
    return each([](auto v) { return v < 0 ? static_cast<decltype(v)>(-v) : static_cast<decltype(v)>(v + 0); }, x);
  });
}
void negate(ReferenceContext& c) {
  c.numbers([](const auto& x) { return -x; });
}
void sign(ReferenceContext& c) {
  c.numbers([](const auto& x) {
    return each([](auto v) { return v > 0    ? decltype(v)(1)
                                    : v < 0  ? decltype(v)(-1)
                                    : v != v ? v
                                             : decltype(v)(0); },
                x);
  });
}
void square(ReferenceContext& c) {
  c.numbers([](const auto& x) { return x * x; });
}
void relu(ReferenceContext& c) {
  c.numbers([](const auto& x) { return each([](auto v) { return v <= 0 ? decltype(v)(0) : v; }, x); });
}

// Integers keep their values.
void ceil(ReferenceContext& c) { is_integer(c.dtype(0)) ? c.move(0, c.pattern(0)) : c.out(0, xt::ceil(c.real(0))); }
void floor(ReferenceContext& c) { is_integer(c.dtype(0)) ? c.move(0, c.pattern(0)) : c.out(0, xt::floor(c.real(0))); }
void round(ReferenceContext& c) { is_integer(c.dtype(0)) ? c.move(0, c.pattern(0)) : c.out(0, xt::rint(c.real(0))); }

void sqrt(ReferenceContext& c) { c.out(0, xt::sqrt(c.real(0))); }
void rsqrt(ReferenceContext& c) { c.out(0, 1.0 / xt::sqrt(c.real(0))); }
void reciprocal(ReferenceContext& c) { c.out(0, 1.0 / c.real(0)); }
void exp(ReferenceContext& c) { c.out(0, xt::exp(c.real(0))); }
void expm1(ReferenceContext& c) { c.out(0, xt::expm1(c.real(0))); }
void log(ReferenceContext& c) { c.out(0, xt::log(c.real(0))); }
void log1p(ReferenceContext& c) { c.out(0, xt::log1p(c.real(0))); }
void sin(ReferenceContext& c) { c.out(0, xt::sin(c.real(0))); }
void cos(ReferenceContext& c) { c.out(0, xt::cos(c.real(0))); }
void tanh(ReferenceContext& c) { c.out(0, xt::tanh(c.real(0))); }
void sigmoid(ReferenceContext& c) { c.out(0, 1.0 / (1.0 + xt::exp(-c.real(0)))); }
void erf(ReferenceContext& c) { c.out(0, xt::erf(c.real(0))); }

// ln(1 + e^x), by the exponential that does not overflow.
void softplus(ReferenceContext& c) {
  const Reals x = c.real(0);
  c.out(0, xt::fmax(x, 0.0) + xt::log1p(xt::exp(-xt::abs(x))));
}
// 0.5 x (1 + tanh u) is x / (1 + e^(-2u)), which loses nothing where the tangent is near -1.
void gelu(ReferenceContext& c) {
  const Reals x = c.real(0);
  const Reals y = x / (1.0 + xt::exp(-2.0 * 0.7978845608028654 * (x + 0.044715 * x * x * x)));
  c.out(0, xt::where(x < -1e3, -0.0, y));  // the limit
}
// 1 + erf(v) is erfc(-v), for the same reason.
void geluerf(ReferenceContext& c) {
  const Reals x = c.real(0);
  c.out(0, 0.5 * x * xt::erfc(-x / std::numbers::sqrt2));
}
void swish(ReferenceContext& c) {
  const Reals x = c.real(0);
  c.out(0, x / (1.0 + xt::exp(-x)));
}

void clip(ReferenceContext& c) {
  c.numbers([&](const auto& x) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    const T least = c.element<T>("min"), most = c.element<T>("max");
    return each([=](T v) { return smaller(larger(v, least), most); }, x);
  });
}
void increment_mod(ReferenceContext& c) {
  c.numbers([&](const auto& x) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    const T step = c.element<T>("increment"), limit = c.element<T>("modulus");
    return each([=, &c](T v) { return limit == 0 ? T(0) : remainder(c.rounded<T>(v + step), limit); }, x);
  });
}

void identity(ReferenceContext& c) { c.move(0, c.pattern(0)); }

void cast(ReferenceContext& c) {
  const KeepSubnormals as_array_does;
  const DType from = c.dtype(0);
  if (from == c.out_dtype())
    c.move(0, c.pattern(0));
  else if (from == DType::uint64)
    c.out(0, c.natural(0));
  else if (is_floating(from))
    c.out(0, c.real(0));
  else
    c.out(0, c.whole(0));
}

void init(ReferenceContext& c) { c.out(0, Reals(0.0)); }

// Gradients of activations: g times the derivative.

void relu_grad(ReferenceContext& c) { c.out(0, xt::where(c.real(1) > 0.0, c.real(0), 0.0)); }
void tanh_grad(ReferenceContext& c) {
  const Reals y = c.real(1);
  c.out(0, c.real(0) * (1.0 - y * y));
}
void sigmoid_grad(ReferenceContext& c) {
  const Reals y = c.real(1);
  c.out(0, c.real(0) * (y * (1.0 - y)));
}
// The derivative of x s is s + x s (1 - s) 2u', where s = 1 / (1 + e^(-2u)).
void gelu_grad(ReferenceContext& c) {
  const Reals x = c.real(1), s = 1.0 / (1.0 + xt::exp(-2.0 * 0.7978845608028654 * (x + 0.044715 * x * x * x)));
  const Reals derivative = 2.0 * 0.7978845608028654 * (1.0 + 3.0 * 0.044715 * x * x);
  c.out(0, c.real(0) * xt::where(xt::equal(s * (1.0 - s), 0.0), s, s + x * derivative * s * (1.0 - s)));
}
void geluerf_grad(ReferenceContext& c) {
  const Reals x = c.real(1), density = xt::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  const Reals distribution = 0.5 * xt::erfc(-x / std::numbers::sqrt2);
  c.out(0, c.real(0) * xt::where(xt::equal(density, 0.0), distribution, distribution + x * density));
}
void swish_grad(ReferenceContext& c) {
  const Reals x = c.real(1), s = 1.0 / (1.0 + xt::exp(-x));
  c.out(0, c.real(0) * xt::where(xt::equal(s * (1.0 - s), 0.0), s, s + x * s * (1.0 - s)));
}
void erf_grad(ReferenceContext& c) {
  const Reals x = c.real(1);
  c.out(0, c.real(0) * (2.0 * std::numbers::inv_sqrtpi * xt::exp(-x * x)));
}
void clip_grad(ReferenceContext& c) {
  const Reals x = c.real(1);
  const auto low = c.element<double>("min"), high = c.element<double>("max");
  c.out(0, xt::where(x >= low && x <= high, c.real(0), 0.0));
}
void gate_grad(ReferenceContext& c) {
  const Reals x = c.real(1);
  const auto bound = [&](std::string_view name) {
    return c.dtype(1) == DType::float64 ? c.number(name) : static_cast<double>(static_cast<float>(c.number(name)));
  };
  c.out(0, c.real(0) * xt::where(x >= bound("min") && x <= bound("max"), c.number("inside"), c.number("outside")));
}
void hard_swish_grad(ReferenceContext& c) {
  const Reals x = c.real(1);
  c.out(0, c.real(0) * xt::where(x < -3.0, 0.0, xt::where(x > 3.0, 1.0, x / 3.0 + 0.5)));
}

}  // namespace pxl::reference
