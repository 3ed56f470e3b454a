// Subscripts of lists, strings, arrays and tensors.
#include <fmt/format.h>

#include "interpreter/values/containers.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {

int64_t to_index(const Value& v, const std::string& what) {
  if (v.is_bool() || v.is_int()) return v.as_int();
  if (const Array* a = v.as_array()) {
    if (a->rank() == 0 && (is_integer(a->dtype()) || a->dtype() == DType::boolean)) return a->integer(0);
  }
  type_error(what + ": expected an int, got " + with_article(v.type_name()));
}

int64_t element_index(const Value& v, const std::string& what) {
  try {
    return to_index(v, what);
  } catch (Error& e) {
    e.first().code = codes::index;
    throw;
  }
}

Error index_error(const std::string& shown, int64_t length, const std::string& what) {
  return run_error(fmt::format("index {} is out of range for {} of {}", shown, what, counted(length, "element")))
      .as(codes::index);
}

int64_t wrap_index(int64_t index, int64_t length, const std::string& what, std::string shown) {
  const int64_t i = index < 0 ? index + length : index;
  if (i < 0 || i >= length) {
    throw index_error(shown.empty() ? std::to_string(index) : shown, length, what);
  }
  return i;
}

SliceRange resolve_slice(const Value& first, const Value& last, const Value& stride, int64_t length) {
  const auto bound = [](const Value& v, const char* what) { return v.is_int64() ? v.int64() : to_index(v, what); };
  const int64_t step = stride.is_none() ? 1 : bound(stride, "slice step");
  if (step == 0) throw run_error("a slice's step cannot be zero");
  auto clamp = [&](const Value& v, int64_t missing, const char* what) {
    if (v.is_none()) return missing;
    int64_t i = bound(v, what);
    if (i < 0) i = i < -length ? -1 : i + length;
    if (step > 0) return i < 0 ? int64_t{0} : std::min(i, length);
    return i < 0 ? int64_t{-1} : std::min(i, length - 1);
  };
  const int64_t start = clamp(first, step > 0 ? 0 : length - 1, "slice start");
  const int64_t stop = clamp(last, step > 0 ? length : -1, "slice stop");
  int64_t count = 0;
  if (step > 0 && stop > start) count = (stop - start - 1) / step + 1;
  // -(step + 1) + 1 would be -step, which overflows for the smallest int.
  if (step < 0 && start > stop) {
    count = static_cast<int64_t>((static_cast<uint64_t>(start - stop) - 1) / (~static_cast<uint64_t>(step) + 1)) + 1;
  }
  return {start, step, count};
}

}  // namespace pxl
