// Updates of variables. The result is the value of the first operand after the op.
#include <cmath>
#include <limits>

#include "runtime/kernels/indexing/index.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// A number that a formula makes of factors, in float32, of a float64 tensor in float64.
template <class F>
double factor(DType dtype, F of) {
  return dtype == DType::float64 ? of(1.0) : static_cast<double>(of(1.0F));
}
// 1 - f, as PopXL has it.
double complement(DType dtype, double f) {
  return factor(dtype, [f](auto one) { return one - static_cast<decltype(one)>(f); });
}

// beta t + alpha x, or alpha x^2 if `square`; x and each step are in t's dtype.
void blend(ReferenceContext& c, double beta, double alpha, bool square = false) {
  const Steps in(c, c.out_dtype());
  const Reals x = in(c.real(1)), term = square ? in(x * x) : x;
  c.out(0, in(in(beta)*c.real(0)) + in(in(alpha)*term));
}

}  // namespace

void scaled_add(ReferenceContext& c) { blend(c, c.number("a"), c.number("b")); }
void accumulate_(ReferenceContext& c) { blend(c, 1, c.number("f", 1.0)); }
void accumulate_square_(ReferenceContext& c) { blend(c, 1, c.number("f", 1.0), true); }
// The first value of a running mean is taken whatever the accumulator holds.
void accumulate_mean_(ReferenceContext& c) {
  const double step = c.number("step");
  if (step == 0) {
    c.out(0, c.real(1));
    return;
  }
  const auto share = [&](bool of_others) {
    return factor(c.dtype(0), [=](auto one) {
      const auto others = static_cast<decltype(one)>(step);
      return (of_others ? others : one) / (others + one);
    });
  };
  blend(c, share(true), share(false));
}
void accumulate_moving_average_(ReferenceContext& c) {
  const double f = c.number("f");
  blend(c, f, complement(c.dtype(0), f));
}
void accumulate_moving_average_square_(ReferenceContext& c) {
  const double f = c.number("f");
  blend(c, f, complement(c.dtype(0), f), true);
}
// 0 times anything is 0.
void accumulator_scale_(ReferenceContext& c) {
  const double f = c.number("f");
  if (f == 0)
    c.out(0, Reals(0.0));
  else
    c.out(0, Steps(c, c.dtype(0))(f) * c.real(0));
}
void accumulator_zero_(ReferenceContext& c) { c.out(0, Reals(0.0)); }
void copy_var_update_(ReferenceContext& c) { c.move(0, c.pattern(1)); }

void sparse_accumulate_(ReferenceContext& c) {
  const size_t axis = c.axis("axis");
  const Wholes indices = c.indices(2);
  const Steps in(c, c.dtype(0));
  const double f = c.number("f", 1.0);
  const Reals x = in(in(f)*in(c.real(1)));
  const Shape& shape = c.shape(0);
  Reals t = c.real(0);
  for (size_t i = 0; i < indices.size(); ++i)
    check_index(indices.data()[i], static_cast<int64_t>(i), static_cast<int64_t>(axis), shape[axis]);
  const size_t own = c.shape(2).size();  // axes of the indices, in place of `axis`
  for (Place p(c.shape(1)); p; p.next()) {
    const Shape which(p.at().begin() + static_cast<ptrdiff_t>(axis),
                      p.at().begin() + static_cast<ptrdiff_t>(axis + own));
    Shape to(p.at().begin(), p.at().begin() + static_cast<ptrdiff_t>(axis));
    to.push_back(indices.data()[offset(which, c.shape(2))]);
    to.insert(to.end(), p.at().begin() + static_cast<ptrdiff_t>(axis + own), p.at().end());
    double& sum = t.data()[offset(to, shape)];
    sum = in(sum + x.data()[p.index()]);
  }
  c.out(0, t);
}

// The time step counts this step. Accumulators are corrected in their dtypes, the quotient is in the second one's, the
// weight is added in the result's. If all are float32, values are multiplied by the reciprocals of the corrections.
void adam_update(ReferenceContext& c) {
  enum Slot : size_t { weight, m, v, step };
  const Steps in_m(c, c.dtype(m)), in_v(c, c.dtype(v)), in_out(c, c.out_dtype());
  const bool adamax = c.boolean("adamax"), decays = c.has(weight);
  const auto is_narrow = [&](size_t slot) { return c.dtype(slot) == DType::float32; };
  const bool plain = !adamax && is_narrow(m) && is_narrow(v) && (!decays || is_narrow(weight));
  double now = 0;
  if (c.has(step)) {
    now = static_cast<double>(static_cast<float>(c.real(step).data()[0]) + 1.0F);
    c.change(step, now);
  }
  const auto corrected = [&](const Steps& in, size_t slot, std::string_view beta, double if_none) -> Reals {
    const Reals x = c.real(slot);
    if (!c.has(step)) return x;
    const double by = factor(c.dtype(slot), [&](auto one) {
      using C = decltype(one);
      return one - std::pow(static_cast<C>(c.number(beta, if_none)), static_cast<C>(now));
    });
    return plain ? in(x * in(1 / by)) : in(x / in(by));
  };
  const Reals mean = in_v(corrected(in_m, m, "beta1", 0.9));
  const Reals size = adamax ? c.real(v) : in_v(xt::sqrt(corrected(in_v, v, "beta2", 0.999)));
  const Reals direction = in_v(mean / in_v(size + in_v(c.number("epsilon"))));
  const double decay = decays ? c.number("weight_decay") : 0;
  if (!decays || (decay == 0 && !plain))
    c.out(0, direction);
  else
    c.out(0, in_out(direction) + in_out(in_out(c.real(weight)) * in_out(decay)));
}

// The factor is float32.
void adam_var_update(ReferenceContext& c) {
  const Steps in(c, c.dtype(0)), narrow(c, DType::float32);
  const double r1 = narrow(c.real(2).data()[0]), r2 = narrow(c.real(3).data()[0]);
  const double most = narrow(c.number("max_weight_norm", std::numeric_limits<double>::infinity()));
  const double ratio = r1 == 0 || r2 == 0 ? 1 : narrow(std::min(narrow(std::sqrt(r1)), most) / narrow(std::sqrt(r2)));
  const double factor = in(narrow(narrow(c.number("learning_rate", 1.0)) * ratio));
  c.out(0, c.real(0) - in(in(c.real(1)) * factor));
}

}  // namespace pxl::reference
