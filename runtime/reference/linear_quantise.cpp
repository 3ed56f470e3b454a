// Integers of 8 or 16 bits with a scale and a zero point, and rounding to bfloat16. Source: ONNX, operators
// QuantizeLinear and DequantizeLinear.
#include <algorithm>
#include <cmath>

#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"
#include "runtime/tensor/bfloat16.hpp"

namespace pxl::reference {

namespace {

// The element of a parameter that applies to a place of operand 0: the only one, or the one for the place's position on
// the axis.
int64_t parameter_at(const ReferenceContext& c, size_t slot, const Place& p) {
  return element_count(c.shape(slot)) == 1 ? 0 : p[c.axis("axis")];
}

}  // namespace

void quantize_linear(ReferenceContext& c) {
  const Reals t = c.real(0), scale = c.real(1);
  const Wholes zero = c.has(2) ? c.whole(2) : Wholes();
  const bool wide = c.dtype(0) == DType::float64, is_signed = row(c.out_dtype()).kind == DTypeKind::integer;
  const double steps = std::exp2(8 * size_of(c.out_dtype())), low = is_signed ? -steps / 2 : 0, high = low + steps - 1;
  Wholes y = Wholes::from_shape(extents(c.out_shape()));
  for (Place p(c.shape(0)); p; p.next()) {
    const double x = t.data()[p.index()], s = scale.data()[parameter_at(c, 1, p)];
    const double quotient = wide ? x / s : static_cast<double>(static_cast<float>(x) / static_cast<float>(s));
    const double offset = c.has(2) ? static_cast<double>(zero.data()[parameter_at(c, 2, p)]) : 0;
    const double q = std::nearbyint(quotient) + offset;
    y.data()[p.index()] = q != q ? 0 : static_cast<int64_t>(std::clamp(q, low, high));
  }
  c.out(0, y);
}

void dequantize_linear(ReferenceContext& c) {
  const Wholes t = c.whole(0);
  const Reals scale = c.real(1);
  const Wholes zero = c.has(2) ? c.whole(2) : Wholes();
  Reals y = Reals::from_shape(extents(c.out_shape()));
  for (Place p(c.shape(0)); p; p.next()) {
    const int64_t from = t.data()[p.index()] - (c.has(2) ? zero.data()[parameter_at(c, 2, p)] : 0);
    y.data()[p.index()] = static_cast<double>(from) * scale.data()[parameter_at(c, 1, p)];
  }
  c.out(0, y);
}

void round_to_bfloat16(ReferenceContext& c) {
  Reals y = c.real(0);
  for (double& value : y) value = nearest_bfloat16(value);
  c.out(0, y);
}

}  // namespace pxl::reference
