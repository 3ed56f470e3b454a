#include "interpreter/onnx/import_literals.hpp"

#include <cmath>

namespace pxl::onnx {

namespace {

constexpr int64_t max_literal = 16;  ///< maximum elements of an array that is written out in the text

}  // namespace

ProgramText element_text(const Array& a, int64_t i) {
  if (a.dtype() == DType::boolean) return a.integer(i) ? FixedText("true") : FixedText("false");
  if (is_floating(a.dtype())) return number_literal(a.number(i), a.dtype() != DType::float64);
  return number_literal(a.integer(i));
}

bool is_writable(const Array& a) {
  if (a.size() > max_literal || a.rank() > 2 || a.dtype() == DType::uint64 || is_float8(a.dtype())) return false;
  for (int64_t d : a.shape())
    if (d == 0 && a.rank() > 1) return false;
  for (int64_t i = 0; is_floating(a.dtype()) && i < a.size(); ++i)
    if (!std::isfinite(a.number(i))) return false;
  return true;
}

namespace {

ProgramText nested_text(const Array& a, size_t axis, int64_t& at) {
  if (axis == a.shape().size()) return element_text(a, at++);
  std::vector<ProgramText> items;
  for (int64_t i = 0; i < a.shape()[axis]; ++i) items.push_back(nested_text(a, axis + 1, at));
  return list_text(items);
}

}  // namespace

ProgramText array_text(const Array& a) {
  int64_t at = 0;
  return assemble("array({}, {})", {nested_text(a, 0, at), identifier(pxl::name(a.dtype()))});
}

ProgramText list_text(const std::vector<ProgramText>& items) { return assemble("[{}]", {joined(items, ", ")}); }

}  // namespace pxl::onnx
