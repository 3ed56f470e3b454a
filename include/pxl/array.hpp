// Arrays in and out: element types, views of the caller's memory, and arrays of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pxl/error.hpp"
#include "pxl/export.h"

PXL_BEGIN_NAMESPACE

/// Types of elements. The float8 formats are stored, without arithmetic.
enum class DType : uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  float8_143,
  float8_152,
  bfloat16,
  float8_e4m3fn,
  float8_e5m2
};

/// "float32", as programs write it.
PXL_API std::string_view name(DType dtype);
/// Bytes of an element.
PXL_API size_t size_of(DType dtype);

using Shape = std::vector<int64_t>;  ///< extents, outermost first; empty for a scalar

/// Number of elements.
inline int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

/// The DType of a C++ type.
// clang-format off
template <class T> constexpr DType dtype_of() = delete;
template <> constexpr DType dtype_of<bool>() { return DType::boolean; }
template <> constexpr DType dtype_of<int8_t>() { return DType::int8; }
template <> constexpr DType dtype_of<int16_t>() { return DType::int16; }
template <> constexpr DType dtype_of<int32_t>() { return DType::int32; }
template <> constexpr DType dtype_of<int64_t>() { return DType::int64; }
template <> constexpr DType dtype_of<uint8_t>() { return DType::uint8; }
template <> constexpr DType dtype_of<uint16_t>() { return DType::uint16; }
template <> constexpr DType dtype_of<uint32_t>() { return DType::uint32; }
template <> constexpr DType dtype_of<uint64_t>() { return DType::uint64; }
template <> constexpr DType dtype_of<float>() { return DType::float32; }
template <> constexpr DType dtype_of<double>() { return DType::float64; }
// clang-format on

/// Arrays with several axes that other libraries own, such as xt::xarray and xt::xtensor. They are dense and row-major,
/// which is checked if the type states it.
template <class A>
concept ShapedArray = requires(A& a) {
  a.data();
  a.shape().begin();
  a.shape().end();
  typename std::remove_cvref_t<A>::value_type;
};
template <class A>
Shape shape_of(const A& array) {
  if constexpr (requires { A::static_layout; })
    static_assert(static_cast<int>(A::static_layout) == 1, "the array's layout has to be row-major");
  return Shape(array.shape().begin(), array.shape().end());
}

/// The caller's memory, to be read: dense, row-major. It has to live, unmodified, until the call that it is given to
/// returns. Read in place if it has the dtype of its destination and is aligned for it; copied otherwise.
struct View {
  DType dtype = DType::float32;
  Shape shape;
  const void* data = nullptr;

  View() = default;
  View(DType d, Shape s, const void* p) : dtype(d), shape(std::move(s)), data(p) {}
  template <class T>
  View(std::span<const T> values, Shape s) : dtype(dtype_of<T>()), shape(std::move(s)), data(values.data()) {}
  template <class T>
  View(std::span<const T> values) : View(values, {static_cast<int64_t>(values.size())}) {}
  template <class T>
  View(const std::vector<T>& values) : View(std::span<const T>(values)) {}
  template <class T>
  View(const std::vector<T>& values, Shape s) : View(std::span<const T>(values), std::move(s)) {}
  template <ShapedArray A>
  View(const A& array) : View(dtype_of<typename A::value_type>(), shape_of(array), array.data()) {}
};

/// The caller's memory, to be written: dense, row-major, with the dtype and the shape of the array that is written to
/// it.
struct MutableView {
  DType dtype = DType::float32;
  Shape shape;
  void* data = nullptr;

  MutableView() = default;
  MutableView(DType d, Shape s, void* p) : dtype(d), shape(std::move(s)), data(p) {}
  template <class T>
  MutableView(std::span<T> values, Shape s) : dtype(dtype_of<T>()), shape(std::move(s)), data(values.data()) {}
  template <class T>
  MutableView(std::span<T> values) : MutableView(values, {static_cast<int64_t>(values.size())}) {}
  template <class T>
  MutableView(std::vector<T>& values) : MutableView(std::span<T>(values)) {}
  template <class T>
  MutableView(std::vector<T>& values, Shape s) : MutableView(std::span<T>(values), std::move(s)) {}
  template <ShapedArray A>
  MutableView(A& array) : MutableView(dtype_of<typename A::value_type>(), shape_of(array), array.data()) {}
};

/// An array: dense, row-major, aligned to 64 bytes if the library made it. A copy shares the elements. Thread-safe as
/// long as the elements are not written to.
class PXL_API Array {
 public:
  /// A float32 scalar, 0.
  Array();
  Array(const Array&);
  Array(Array&&) noexcept;
  Array& operator=(const Array&);
  Array& operator=(Array&&) noexcept;
  ~Array();

  /// A copy of a view's elements.
  static Result<Array> copy(const View& view);
  /// The elements of a view, without a copy (elements that are not aligned for their type are copied).
  /// `owner` is kept as long as the array, or a copy of it, lives; the memory must live as long and stay unmodified.
  static Result<Array> wrap(const View& view, std::shared_ptr<const void> owner);

  DType dtype() const;
  const Shape& shape() const;
  int64_t size() const;  ///< elements
  const void* data() const;
  /// The elements, to be written. They are copied first if they are the caller's own (wrap), or if a value of a program
  /// shares them; copies of this array see the changes. Null if there is no memory for the copy.
  void* mutable_data() noexcept;

  /// The elements, of a type that has to be the array's: else the span is empty.
  template <class T>
  std::span<const T> values() const {
    if (dtype() != dtype_of<T>()) return {};
    return {static_cast<const T*>(data()), static_cast<size_t>(size())};
  }
  /// The element of a scalar, or the first one, converted; 0 if there is none.
  double item() const;
  View view() const { return {dtype(), shape(), data()}; }

  struct State;
  explicit Array(std::shared_ptr<State> state);
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

PXL_END_NAMESPACE
