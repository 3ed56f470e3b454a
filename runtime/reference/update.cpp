// Updates of variables. The result is what the first operand holds afterwards.
#include <cmath>
#include <limits>

#include "runtime/kernels/index.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// 1 - f is float32, as PopXL's.
double complement(double f) { return static_cast<double>(1.0F - static_cast<float>(f)); }

}  // namespace

void scaled_add(ReferenceContext& c) { c.out(0, c.number("a") * c.real(0) + c.number("b") * c.real(1)); }
void accumulate_(ReferenceContext& c) { c.out(0, c.real(0) + c.number("f", 1.0) * c.real(1)); }
void accumulate_square_(ReferenceContext& c) {
  const Reals x = c.real(1);
  c.out(0, c.real(0) + c.number("f", 1.0) * (x * x));
}
// The first value of a running mean is taken whatever the accumulator holds.
void accumulate_mean_(ReferenceContext& c) {
  const double step = c.number("step");
  const Reals x = c.real(1);
  if (step == 0)
    c.out(0, x);
  else
    c.out(0, step / (step + 1) * c.real(0) + x / (step + 1));
}
void accumulate_moving_average_(ReferenceContext& c) {
  const double f = c.number("f");
  c.out(0, f * c.real(0) + complement(f) * c.real(1));
}
void accumulate_moving_average_square_(ReferenceContext& c) {
  const double f = c.number("f");
  const Reals x = c.real(1);
  c.out(0, f * c.real(0) + complement(f) * (x * x));
}
// 0 times anything is 0.
void accumulator_scale_(ReferenceContext& c) {
  const double f = c.number("f");
  if (f == 0)
    c.out(0, Reals(0.0));
  else
    c.out(0, f * c.real(0));
}
void accumulator_zero_(ReferenceContext& c) { c.out(0, Reals(0.0)); }
void copy_var_update_(ReferenceContext& c) { c.move(0, c.pattern(1)); }

void sparse_accumulate_(ReferenceContext& c) {
  const size_t axis = c.axis("axis");
  const Wholes indices = c.indices(2);
  const Reals x = c.real(1);
  const double f = c.number("f", 1.0);
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
    t.data()[offset(to, shape)] += f * x.data()[p.index()];
  }
  c.out(0, t);
}

// The time step counts this step; what it corrects the accumulators by is float32, as PopXL's.
void adam_update(ReferenceContext& c) {
  enum Slot : size_t { weight, m, v, step };
  double correct_m = 1, correct_v = 1;
  const bool adamax = c.boolean("adamax");
  if (c.has(step)) {
    const float now = static_cast<float>(c.real(step).data()[0]) + 1.0F;
    c.change(step, static_cast<double>(now));
    const auto correction = [&](std::string_view beta, double if_none) {
      return static_cast<double>(1.0F - std::pow(static_cast<float>(c.number(beta, if_none)), now));
    };
    correct_m = correction("beta1", 0.9);
    if (!adamax) correct_v = correction("beta2", 0.999);
  }
  const Reals mean = c.real(m) / correct_m, square = c.real(v) / correct_v;
  const Reals size = adamax ? square : Reals(xt::sqrt(square));
  const Reals direction = mean / (size + c.number("epsilon"));
  const double decay = c.has(weight) ? c.number("weight_decay") : 0;
  if (decay == 0)
    c.out(0, direction);
  else
    c.out(0, direction + decay * c.real(weight));
}

void adam_var_update(ReferenceContext& c) {
  const double r1 = c.real(2).data()[0], r2 = c.real(3).data()[0];
  const double most = c.number("max_weight_norm", std::numeric_limits<double>::infinity());
  const double ratio = r1 == 0 || r2 == 0 ? 1 : std::min(std::sqrt(r1), most) / std::sqrt(r2);
  c.out(0, c.real(0) - c.number("learning_rate", 1.0) * ratio * c.real(1));
}

}  // namespace pxl::reference
