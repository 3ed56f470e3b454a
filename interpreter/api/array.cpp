// Arrays of the library's interface: element types, views, and elements that the caller owns.
#include "pxl/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "interpreter/api/access.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tensor/dtype.hpp"

namespace pxl {
namespace {

// Indexed by v1::DType. Entries are found by name, so that no order is assumed.
constexpr size_t num_public = static_cast<size_t>(v1::DType::float8_e5m2) + 1;
constexpr std::array<std::string_view, num_public> names = {
    "bool",    "int8",    "int16",   "int32",      "int64",      "uint8",    "uint16",        "uint32",     "uint64",
    "float16", "float32", "float64", "float8_143", "float8_152", "bfloat16", "float8_e4m3fn", "float8_e5m2"};

DType own_dtype(v1::DType dtype) {
  static const std::array<DType, num_public> table = [] {
    std::array<DType, num_public> all{};
    for (size_t i = 0; i < num_public; ++i) all[i] = dtype_from_name(names[i]).value();
    return all;
  }();
  return table[static_cast<size_t>(dtype)];
}

/// Whether all bytes are valid bools, since reading another byte as bool is undefined.
bool are_bools(const void* data, int64_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  return std::all_of(bytes, bytes + size, [](uint8_t byte) { return byte <= 1; });
}

/// True for each byte that is not 0, as in NumPy.
Array made_bools(const v1::View& view) {
  Array out(DType::boolean, view.shape);
  const auto* bytes = static_cast<const uint8_t*>(view.data);
  std::transform(bytes, bytes + out.size(), out.mutable_data<bool>(), [](uint8_t byte) { return byte != 0; });
  return out;
}

}  // namespace

namespace api {

v1::DType public_dtype(DType dtype) {
  for (size_t i = 0; i < num_public; ++i)
    if (names[i] == name(dtype)) return static_cast<v1::DType>(i);
  throw Error(fmt::format("{} has no counterpart in the interface", name(dtype)), {}, Fault::internal);
}

Array array_of(const v1::View& view, std::shared_ptr<const void> owner, Contents contents) {
  if (static_cast<size_t>(view.dtype) >= num_public)
    throw Error("a view has no valid dtype", {}, Fault::usage).as(codes::dtype);
  const int64_t size = element_count(view.shape);
  if (!view.data && size > 0)
    throw Error(fmt::format("a view of {} elements has no memory", size), {}, Fault::usage).as(codes::value);
  const DType dtype = own_dtype(view.dtype);
  if (size == 0) return Array(dtype, view.shape);
  if (dtype == DType::boolean && contents == Contents::read && !are_bools(view.data, size)) return made_bools(view);
  if (reinterpret_cast<uintptr_t>(view.data) % size_of(dtype) != 0) {
    Array out(dtype, view.shape);
    std::memcpy(out.mutable_raw(), view.data, static_cast<size_t>(out.bytes()));
    return out;
  }
  // The array never writes to this memory: its owner count is not 1, or the array is public and thereby const.
  auto* const data = static_cast<std::byte*>(const_cast<void*>(view.data));
  return Array::wrap(dtype, view.shape, std::shared_ptr<std::byte>(std::const_pointer_cast<void>(owner), data));
}

v1::Array public_array(Array array) {
  return v1::Array(std::make_shared<v1::Array::State>(v1::Array::State{std::move(array)}));
}

}  // namespace api

namespace v1 {

std::string_view name(DType dtype) {
  return static_cast<size_t>(dtype) < num_public ? names[static_cast<size_t>(dtype)] : "";
}

size_t size_of(DType dtype) {
  if (static_cast<size_t>(dtype) >= num_public) return 0;
  return pxl::size_of(own_dtype(dtype));
}

Array::Array() : state_(std::make_shared<State>()) {}
Array::Array(std::shared_ptr<State> state) : state_(std::move(state)) {}
Array::Array(const Array&) = default;
// An array that was moved from is the scalar 0, so that no function needs a check.
Array::Array(Array&& other) noexcept : state_(other.state_) {}
Array& Array::operator=(const Array&) = default;
Array& Array::operator=(Array&& other) noexcept {
  state_ = other.state_;
  return *this;
}
Array::~Array() = default;

Result<Array> Array::copy(const View& view) {
  return api::guarded(Cancel(), [&] { return api::public_array(api::array_of(view).clone()); });
}

Result<Array> Array::wrap(const View& view, std::shared_ptr<const void> owner) {
  return api::guarded(Cancel(), [&] {
    pxl::Array array = api::array_of(view, std::move(owner));
    const bool borrowed = static_cast<const void*>(array.raw()) == view.data;
    return Array(std::make_shared<State>(State{std::move(array), borrowed}));
  });
}

DType Array::dtype() const { return api::public_dtype(state_->array.dtype()); }
const Shape& Array::shape() const { return state_->array.shape(); }
int64_t Array::size() const { return state_->array.size(); }
const void* Array::data() const { return state_->array.raw(); }
void* Array::mutable_data() noexcept {
  try {
    if (state_->borrowed) *state_ = {state_->array.clone()};
    return state_->array.mutable_raw();
  } catch (...) {
    return nullptr;
  }
}
double Array::item() const { return size() > 0 ? state_->array.number(0) : 0; }

}  // namespace v1
}  // namespace pxl
