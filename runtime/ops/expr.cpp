// Operators and helpers on Expr, for gradients and composites.
#include <algorithm>

#include "runtime/ops/op_builder.hpp"

namespace pxl {

namespace {

Expr beside(const Expr& a, double b) { return a.builder().scalar(b, a.dtype()); }

}  // namespace

Expr::Expr() = default;
Expr::Expr(const Expr&) = default;
Expr::Expr(Expr&&) noexcept = default;
Expr& Expr::operator=(const Expr&) = default;
Expr& Expr::operator=(Expr&&) noexcept = default;
Expr::~Expr() = default;

Expr operator+(const Expr& a, const Expr& b) { return a.builder().one("add", {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return a.builder().one("sub", {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return a.builder().one("mul", {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return a.builder().one("div", {a, b}); }
Expr operator+(const Expr& a, double b) { return a + beside(a, b); }
Expr operator-(const Expr& a, double b) { return a - beside(a, b); }
Expr operator*(const Expr& a, double b) { return a * beside(a, b); }
Expr operator/(const Expr& a, double b) { return a / beside(a, b); }
Expr operator-(double a, const Expr& b) { return beside(b, a) - b; }
Expr operator/(double a, const Expr& b) { return beside(b, a) / b; }
Expr operator-(const Expr& a) { return a.builder().one("negate", {a}); }

Expr reshape(const Expr& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  return a.builder().one("reshape", {a}, {{"shape", shape}});
}

Expr transpose(const Expr& a, const std::vector<int64_t>& permutation) {
  return a.builder().one("transpose", {a}, {{"permutation", permutation}});
}

Expr cast(const Expr& a, DType dtype) {
  if (a.dtype() == dtype) return a;
  return a.builder().one("cast", {a}, {{"data_type", dtype}});
}

Expr sum(const Expr& a, const std::vector<int64_t>& axes, bool keepdims) {
  return a.builder().one("sum", {a}, {{"axis", axes}, {"keepdims", keepdims}});
}

Expr sum_to(const Expr& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  const int64_t lead = a.rank() - static_cast<int64_t>(shape.size());
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < a.rank(); ++i)
    if (i < lead || (shape[static_cast<size_t>(i - lead)] == 1 && a.shape()[static_cast<size_t>(i)] != 1))
      axes.push_back(i);
  return reshape(axes.empty() ? a : sum(a, axes, false), shape);
}

Expr broadcast_to(const Expr& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  return a.builder().one("broadcast_to", {a}, {{"shape", shape}});
}

}  // namespace pxl
