#include "interpreter/onnx/import_literals.hpp"

#include "runtime/base/join_texts.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pxl::onnx {

namespace {

constexpr int64_t max_literal = 16;  ///< elements of an array that is written out in the text

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += c;
  }
  return out + "\"";
}

std::string float_text(double value, bool narrow) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value < 0 ? "float(\"-inf\")" : "float(\"inf\")";
  std::string text = narrow ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string element_text(const Array& a, int64_t i) {
  if (a.dtype() == DType::boolean) return a.integer(i) ? "true" : "false";
  if (is_floating(a.dtype())) return float_text(a.number(i), a.dtype() != DType::float64);
  return fmt::format("{}", a.integer(i));
}

bool is_writable(const Array& a) {
  if (a.size() > max_literal || a.rank() > 2 || a.dtype() == DType::uint64) return false;
  for (int64_t d : a.shape())
    if (d == 0 && a.rank() > 1) return false;
  for (int64_t i = 0; is_floating(a.dtype()) && i < a.size(); ++i)
    if (!std::isfinite(a.number(i))) return false;
  return true;
}

namespace {

std::string nested_text(const Array& a, size_t axis, int64_t& at) {
  if (axis == a.shape().size()) return element_text(a, at++);
  std::string out = "[";
  for (int64_t i = 0; i < a.shape()[axis]; ++i) out += (i ? ", " : "") + nested_text(a, axis + 1, at);
  return out + "]";
}

}  // namespace

std::string array_text(const Array& a) {
  int64_t at = 0;
  return fmt::format("array({}, {})", nested_text(a, 0, at), pxl::name(a.dtype()));
}

std::string list_text(const std::vector<std::string>& items) { return fmt::format("[{}]", join_texts(items, ", ")); }

}  // namespace pxl::onnx
