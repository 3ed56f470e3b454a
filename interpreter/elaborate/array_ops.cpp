// `//`, `%` and the bit operators on host arrays, with Python's floor semantics: no op of the graph has these.
#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "interpreter/elaborate/internal.hpp"
#include "runtime/base/codes.hpp"

namespace pxl {

namespace {

using ast::BinaryOp;

template <class T>
T int_element(BinaryOp op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr int bits = static_cast<int>(sizeof(T) * 8);
  switch (op) {
    case BinaryOp::bit_and: return static_cast<T>(a & b);
    case BinaryOp::bit_or: return static_cast<T>(a | b);
    case BinaryOp::bit_xor: return static_cast<T>(a ^ b);
    case BinaryOp::shift_left: return b < T{} || b >= bits ? T{} : static_cast<T>(static_cast<U>(a) << b);
    case BinaryOp::shift_right: {
      const T most = b < T{} || b >= bits ? static_cast<T>(bits - 1) : b;
      return static_cast<T>(a >> most);
    }
    default: break;
  }
  if (b == T{})
    throw run_error(fmt::format("division by zero in `{}` on arrays of ints", text(op))).as(codes::arithmetic);
  if constexpr (std::is_signed_v<T>) {
    // The least int divided by -1 wraps, as in NumPy.
    if (b == T{-1}) return op == BinaryOp::mod ? T{} : static_cast<T>(U{} - static_cast<U>(a));
    const T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
    const bool down = r != 0 && (r < 0) != (b < 0);
    if (op == BinaryOp::mod) return down ? static_cast<T>(r + b) : r;
    return down ? static_cast<T>(q - 1) : q;
  } else {
    return op == BinaryOp::mod ? static_cast<T>(a % b) : static_cast<T>(a / b);
  }
}

double float_element(BinaryOp op, double a, double b) {
  if (op == BinaryOp::floor_div) return std::floor(a / b);
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool bool_element(BinaryOp op, bool a, bool b) {
  return op == BinaryOp::bit_and ? a && b : op == BinaryOp::bit_or ? a || b : a != b;
}

}  // namespace

Array array_elementwise(BinaryOp op, const Array& a, const Array& b) {
  const Shape shape = broadcast(a.shape(), b.shape());
  Array out(a.dtype(), shape);
  const Shape block = strides_of(shape);
  auto strides = [&](const Array& x) {
    Shape own = strides_of(x.shape()), wide(shape.size(), 0);
    const size_t lead = shape.size() - own.size();
    for (size_t d = 0; d < own.size(); ++d) wide[lead + d] = x.shape()[d] == 1 ? 0 : own[d];
    return wide;
  };
  const Shape sa = strides(a), sb = strides(b);
  if (out.size() == 0) return out;
  with_type(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *x = a.data<T>(), *y = b.data<T>();
    T* to = out.mutable_data<T>();
    for (int64_t i = 0; i < out.size(); ++i) {
      int64_t ia = 0, ib = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        const int64_t at = i / block[d] % shape[d];
        ia += at * sa[d];
        ib += at * sb[d];
      }
      if constexpr (std::is_same_v<T, bool>) {
        to[i] = bool_element(op, x[ia], y[ib]);
      } else if constexpr (std::is_integral_v<T>) {
        to[i] = int_element<T>(op, x[ia], y[ib]);
      } else if constexpr (std::is_same_v<T, half>) {
        to[i] = half(static_cast<float>(float_element(op, static_cast<float>(x[ia]), static_cast<float>(y[ib]))));
      } else {
        to[i] = static_cast<T>(float_element(op, static_cast<double>(x[ia]), static_cast<double>(y[ib])));
      }
    }
  });
  return out;
}

}  // namespace pxl
