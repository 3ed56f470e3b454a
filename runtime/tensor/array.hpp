// Host arrays: dense, row-major, reference-counted, copy-on-write. Copying an Array shares its buffer; mutable_data()
// first makes the buffer unique, so an Array has value semantics. A large array under a budget (base/limits/budget.hpp)
// may have a spec only: access to its elements throws Unevaluated. Code that needs only the spec continues, and the
// look skips code that needs elements. A lazy array reads its elements when they are first needed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stdexcept>

#include "runtime/base/limits/budget.hpp"
#include "runtime/base/unevaluated.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

class Array {
 public:
  /// A float32 scalar, 0.
  Array();
  /// Uninitialised elements, 64-byte aligned. Throws Error "... needs N bytes, more than memory" if the memory is not
  /// available. A large array has no elements under a budget.
  Array(DType dtype, Shape shape);

  /// An array without elements, for use under a budget.
  static Array unevaluated(DType dtype, Shape shape);
  /// Elements that `read` returns, an array of this spec, when the array or a copy of it first needs them; all copies
  /// share them from then on. An exception from `read` reaches the caller that needed the elements, and the next need
  /// reads again. Threads may need them at the same time.
  static Array lazy(DType dtype, Shape shape, std::function<Array()> read);
  /// False if a look omitted the elements. Those of a lazy array count.
  bool has_elements() const { return data_ != nullptr || data_.use_count() != 0; }

  static Array zeros(DType dtype, Shape shape);
  /// All elements are `value`. Throws if the dtype cannot represent it (exact.hpp).
  static Array full(DType dtype, Shape shape, double value);
  static Array full_int(DType dtype, Shape shape, int64_t value);
  /// All elements are the element of `scalar`.
  static Array repeated(const Array& scalar, Shape shape);
  template <class T>
  static Array scalar(T value) {
    Array a(dtype_of<T>(), {});
    a.mutable_data<T>()[0] = value;
    return a;
  }
  template <class T>
  static Array from(Shape shape, std::span<const T> values) {
    Array a(dtype_of<T>(), std::move(shape));
    if (values.size() != static_cast<size_t>(a.size()))
      throw std::logic_error("array made from another number of values");
    T* to = a.mutable_data<T>();
    for (size_t i = 0; i < values.size(); ++i) to[i] = values[i];
    return a;
  }
  /// Wraps memory without copying; the shared pointer keeps it alive.
  static Array wrap(DType dtype, Shape shape, std::shared_ptr<std::byte> data);

  DType dtype() const { return spec_.dtype; }
  const Shape& shape() const { return spec_.shape; }
  const TensorSpec& spec() const { return spec_; }
  int64_t rank() const { return static_cast<int64_t>(spec_.shape.size()); }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * static_cast<int64_t>(size_of(spec_.dtype)); }

  const std::byte* raw() const {
    if (!data_) [[unlikely]]
      return memory().get();
    return data_.get();
  }
  std::byte* mutable_raw();
  template <class T>
  const T* data() const {
    check(dtype_of<T>());
    return reinterpret_cast<const T*>(raw());
  }
  template <class T>
  T* mutable_data() {
    check(dtype_of<T>());
    return reinterpret_cast<T*>(mutable_raw());
  }

  /// Slice [begin, end) of the first axis; shares the buffer.
  Array rows(int64_t begin, int64_t end) const;
  /// The same elements with another shape of equal size; shares the buffer.
  Array reshaped(Shape shape) const;
  /// Explicit elementwise cast (implicit conversion: convert_exactly): truncates to integers, compares with 0 for bool,
  /// rounds to nearest even for float16. Returns *this if the dtype is equal; throws Error for float8.
  Array cast(DType dtype) const;
  /// A deep copy.
  Array clone() const;

  /// Element `i` in row-major order, widened to double.
  double number(int64_t i) const;
  int64_t integer(int64_t i) const;

 private:
  void check(DType dtype) const {
    if (dtype != spec_.dtype) throw std::logic_error("array accessed as another dtype");
  }
  /// The elements, read now if the array is lazy. Throws Unevaluated if there are none.
  const std::shared_ptr<std::byte>& memory() const;

  TensorSpec spec_;
  int64_t size_ = 1;
  std::shared_ptr<std::byte> data_;  ///< null if there are no elements, or if they are lazy
};

/// Same dtype, shape and bits; false if elements are omitted.
bool identical(const Array& a, const Array& b);

}  // namespace pxl
