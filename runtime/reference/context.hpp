// The context in which a definition sees an op: operands as xtensor arrays, attributes, and the destinations of the
// results.
//
// Floats are computed in float64 and rounded once to the dtype of the output, unless the op's page names the dtype of
// each step (Steps); integers in int64 (uint64 in uint64), of which the output keeps the low bits; bools are 0 and 1.
// Ops that only move elements move their bit patterns.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/op/op.hpp"
#include "runtime/ops/infer.hpp"
#include "runtime/reference/xtensor.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

using Reals = xt::xarray<double>;
using Wholes = xt::xarray<int64_t>;
using Naturals = xt::xarray<uint64_t>;
using Patterns = xt::xarray<uint64_t>;  ///< elements as bits, whatever their dtype
using Extents = std::vector<size_t>;    ///< a shape, as xtensor writes it

inline Extents extents(const Shape& shape) { return Extents(shape.begin(), shape.end()); }
template <class T>
Shape shape_of(const xt::xarray<T>& x) {
  return Shape(x.shape().begin(), x.shape().end());
}

/// The positions of a shape in row-major order: for (...; at.next()) at[axis].
class Place {
 public:
  explicit Place(Shape shape) : shape_(std::move(shape)), at_(shape_.size(), 0), size_(element_count(shape_)) {}
  explicit operator bool() const { return index_ < size_; }
  void next() {
    ++index_;
    for (size_t i = shape_.size(); i-- > 0;) {
      if (++at_[i] < shape_[i]) return;
      at_[i] = 0;
    }
  }
  int64_t operator[](size_t axis) const { return at_[axis]; }
  const Shape& at() const { return at_; }
  int64_t index() const { return index_; }  ///< in row-major order

 private:
  Shape shape_, at_;
  int64_t size_, index_ = 0;
};

/// The elements of an expression, broadcast to a shape.
template <class T, class E>
xt::xarray<T> elements(const E& e, const Shape& shape) {
  xt::xarray<T> all = xt::xarray<T>::from_shape(extents(shape));
  for (Place p(shape); p; p.next()) all.data()[p.index()] = static_cast<T>(e.element(p.at().begin(), p.at().end()));
  return all;
}
template <class T, class E>
xt::xarray<T> evaluated(const E& e) {
  return elements<T>(e, Shape(e.shape().begin(), e.shape().end()));
}

/// Applies f to the elements of arrays, broadcast: for functions that xtensor lacks. Evaluated at once.
template <class F, class... E>
auto each(F f, const E&... e) {
  Shape shape;
  ((shape = broadcast(shape, Shape(e.shape().begin(), e.shape().end()))), ...);
  using T = std::decay_t<decltype(f(typename E::value_type()...))>;
  xt::xarray<T> all = xt::xarray<T>::from_shape(extents(shape));
  for (Place p(shape); p; p.next()) all.data()[p.index()] = f(e.element(p.at().begin(), p.at().end())...);
  return all;
}

class ReferenceContext {
 public:
  /// `site` has its outputs inferred. The buffers are dense and row-major; an output may be the memory of an operand,
  /// since operands are copied when they are read.
  ReferenceContext(const OpContext& site, const Buffers& buffers) : site_(site), buffers_(buffers) {}

  const OpContext& site() const { return site_; }
  const std::string& string(std::string_view param) const { return site_.string(param); }
  int64_t integer(std::string_view param) const { return site_.integer(param); }
  std::vector<int64_t> integers(std::string_view param) const { return site_.integers(param); }
  bool boolean(std::string_view param) const { return site_.boolean(param); }
  bool is_none(std::string_view param) const { return site_.is_none(param); }
  /// A number; of a parameter that takes a tensor in place of it, the value of that tensor, or of none.
  double number(std::string_view param, double if_none = 0) const;
  /// An axis, or axes, of an operand.
  size_t axis(std::string_view param, size_t slot = 0) const;
  std::vector<int64_t> axes(std::string_view param, size_t slot = 0) const;

  std::vector<int64_t> all_axes(size_t slot = 0) const;

  size_t operands() const { return site_.in.size(); }
  bool has(size_t slot) const { return site_.has(slot); }
  DType dtype(size_t slot) const { return site_.input(slot).dtype; }
  const Shape& shape(size_t slot) const { return site_.input(slot).shape; }
  const Shape& out_shape(size_t index = 0) const { return site_.out[index].shape; }
  DType out_dtype(size_t index = 0) const { return site_.out[index].dtype; }
  /// An operand of any dtype.
  Reals real(size_t slot) const;
  /// An operand of integers or bools.
  Wholes whole(size_t slot) const;
  /// An operand of indices: a uint64 from 2^63 on becomes the largest int64, which no axis has.
  Wholes indices(size_t slot) const;
  Naturals natural(size_t slot) const;
  Patterns pattern(size_t slot) const;

  /// Gives a result, broadcast to its shape. An expression is evaluated element by element. xtensor's assignment has a
  /// loop for each layout, and that code would dominate this layer's build.
  template <class E>
  void out(size_t index, const E& expression) {
    using V = std::decay_t<typename E::value_type>;
    using Own = std::conditional_t<std::is_floating_point_v<V>, double,
                                   std::conditional_t<std::is_same_v<V, uint64_t>, uint64_t, int64_t>>;
    if constexpr (std::is_same_v<E, xt::xarray<Own>>)
      store(index, expression);
    else
      store(index, evaluated<Own>(expression));
  }
  /// Gives a result as patterns, in row-major order or broadcast.
  void move(size_t index, const Patterns& patterns);
  /// A parameter of kind `element` in the dtype of operand 0: its value, and its pattern.
  template <class T>
  T element(std::string_view param) const {
    const Array a = site_.element(param, dtype(0));
    if constexpr (std::is_floating_point_v<T>)
      return a.number(0);
    else
      return a.dtype() == DType::uint64 ? static_cast<T>(a.data<uint64_t>()[0]) : static_cast<T>(a.integer(0));
  }
  uint64_t element_pattern(std::string_view param) const;
  /// Overwrites an operand that the op modifies and that is not its output.
  void change(size_t slot, double value);

  /// Rounds a value to the dtype of result 0.
  template <class T, class V>
  T rounded(V value) const {
    if constexpr (std::is_floating_point_v<T>)
      return held_real(static_cast<double>(value));
    else if constexpr (std::is_floating_point_v<V>)
      return static_cast<T>(held_whole(value));
    else
      return static_cast<T>(held_whole(static_cast<int64_t>(value)));
  }

  /// Rounds numbers to a floating dtype.
  double in_dtype(DType dtype, double value) const;
  Reals in_dtype(DType dtype, Reals values) const;

  /// The highest or lowest finite number in the dtype of result 0.
  template <class T>
  T extreme(bool highest) const {
    if constexpr (std::is_floating_point_v<T>)
      return highest ? greatest() : -greatest();
    else if (out_dtype() == DType::boolean)
      return highest;
    else
      return rounded<T>(highest ? std::numeric_limits<double>::max() : std::numeric_limits<double>::lowest());
  }
  const Buffers& buffers() const { return buffers_; }

  /// Result 0 by a formula for numbers, f(x) or f(x, y): operands are Reals, Wholes or Naturals, by their dtype.
  template <class F>
  void numbers(F f) {
    const DTypeKind kind = row(dtype(0)).kind;
    if (kind == DTypeKind::floating)
      apply(f, [this](size_t i) { return real(i); });
    else if (dtype(0) == DType::uint64)
      apply(f, [this](size_t i) { return natural(i); });
    else
      apply(f, [this](size_t i) { return whole(i); });
  }

 private:
  template <class F, class Read>
  void apply(F f, Read read) {
    using A = decltype(read(0));
    if constexpr (std::is_invocable_v<F, const A&>) {
      const A x = read(0);
      out(0, f(x));
    } else {
      const A x = read(0), y = read(1);
      out(0, f(x, y));
    }
  }
  double greatest() const;
  double held_real(double value) const;
  int64_t held_whole(double value) const;
  int64_t held_whole(int64_t value) const;
  void store(size_t index, const Reals& values);
  void store(size_t index, const Wholes& values);
  void store(size_t index, const Naturals& values);

  const OpContext& site_;
  const Buffers& buffers_;
};

/// Arithmetic in a dtype: each bracketed value is rounded to the dtype. `s(s(a * b) + c)` has two roundings.
class Steps {
 public:
  Steps(const ReferenceContext& c, DType dtype) : c_(c), dtype_(dtype) {}
  double operator()(double value) const { return c_.in_dtype(dtype_, value); }
  template <class E>
  Reals operator()(const E& expression) const {
    return c_.in_dtype(dtype_, expression);
  }

 private:
  const ReferenceContext& c_;
  DType dtype_;
};

// Functions that definitions share.

/// Whether x comes before y in ascending order, in which NaN comes last.
template <class T>
bool precedes(T x, T y) {
  return x < y || (y != y && x == x);
}

/// The remainder of a division towards zero; 0 for ints divided by 0.
template <class T>
T remainder(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(x, y);
  else if constexpr (std::is_signed_v<T>)
    return y == 0 || y == -1 ? 0 : x % y;
  else
    return y == 0 ? 0 : x % y;
}

/// Row-major offset of a position in a shape.
int64_t offset(const Shape& at, const Shape& shape);

/// Folds the elements over axes (ascending, without repeats) in row-major order, from `start`; where `keep`, the axes
/// stay with extent 1.
template <class T, class Step>
xt::xarray<T> folded(const xt::xarray<T>& x, const std::vector<int64_t>& axes, bool keep, T start, Step step) {
  const Shape shape = shape_of(x);
  Shape kept = shape, result;
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  Shape strides = strides_of(kept);
  for (int64_t axis : axes) strides[static_cast<size_t>(axis)] = 0;
  for (size_t i = 0, next = 0; i < shape.size(); ++i) {
    const bool gone = next < axes.size() && axes[next] == static_cast<int64_t>(i);
    if (gone) ++next;
    if (!gone || keep) result.push_back(kept[i]);
  }
  xt::xarray<T> total = xt::xarray<T>::from_shape(extents(result));
  total.fill(start);
  for (Place p(shape); p; p.next()) {
    int64_t to = 0;
    for (size_t i = 0; i < shape.size(); ++i) to += p[i] * strides[i];
    total.data()[to] = step(total.data()[to], x.data()[p.index()]);
  }
  return total;
}
template <class T>
xt::xarray<T> sum_of(const xt::xarray<T>& x, const std::vector<int64_t>& axes, bool keep = false) {
  return folded(x, axes, keep, T(0), [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
xt::xarray<T> product_of(const xt::xarray<T>& x, const std::vector<int64_t>& axes, bool keep = false) {
  return folded(x, axes, keep, T(1), [](T a, T b) { return static_cast<T>(a * b); });
}
/// NaN if one operand is NaN; -0 is less than 0.
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (a == b) return std::signbit(a) ? b : a;
  return a > b || a != a ? a : b;
}
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (a == b) return std::signbit(a) ? a : b;
  return a < b || a != a ? a : b;
}
template <class T>
xt::xarray<T> largest_of(const xt::xarray<T>& x, const std::vector<int64_t>& axes, bool keep = false) {
  const T least = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  return folded(x, axes, keep, least, larger<T>);
}
template <class T>
xt::xarray<T> smallest_of(const xt::xarray<T>& x, const std::vector<int64_t>& axes, bool keep = false) {
  const T most = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  return folded(x, axes, keep, most, smaller<T>);
}

}  // namespace pxl
