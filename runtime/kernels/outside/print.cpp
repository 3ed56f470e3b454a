#include "runtime/kernels/outside/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/base/effects.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {
namespace {

std::string element(const Array& array, int64_t i, const PrintFormat& f) {
  if (array.dtype() == DType::boolean) return array.integer(i) != 0 ? "true" : "false";
  if (array.dtype() == DType::uint64) return std::to_string(array.data<uint64_t>()[i]);
  if (is_integer(array.dtype())) return std::to_string(array.integer(i));
  const double value = array.number(i);
  const auto digits = static_cast<int>(f.digits);
  if (std::isfinite(value) && f.floats == FloatFormat::fixed) return fmt::format("{:.{}f}", value, digits);
  if (std::isfinite(value) && f.floats == FloatFormat::scientific) return fmt::format("{:.{}e}", value, digits);
  // Every float8 number is also a float16 number.
  std::string shortest = is_float8(array.dtype()) ? number_text(half(static_cast<float>(value)))
                                                  : with_type(array.dtype(), [&]<class T>(type_tag<T>) -> std::string {
                                                      if constexpr (std::is_integral_v<T>)
                                                        return {};
                                                      else
                                                        return number_text(array.data<T>()[i]);
                                                    });
  if (f.floats == FloatFormat::automatic && shortest.size() > f.digits + size_t{6})
    return fmt::format("{:.{}g}", value, std::max(1, digits));
  return shortest;
}

/// The elements of one axis that are shown; -1 for elements that are left out.
std::vector<int64_t> shown(const Array& array, int64_t extent, const PrintFormat& f) {
  std::vector<int64_t> items;
  const bool edges = array.size() > f.threshold && extent > 2 * f.edge_items;
  for (int64_t i = 0; i < extent; ++i) {
    if (edges && i == f.edge_items) {
      items.push_back(-1);
      i = extent - f.edge_items;
      if (i == extent) break;
    }
    items.push_back(i);
  }
  return items;
}

/// Appends the part from `offset`, which has `inner` elements and whose first axis is `depth`.
void append(const Array& array, size_t depth, int64_t offset, int64_t inner, const PrintFormat& f, std::string& text) {
  const Shape& shape = array.shape();
  if (depth == shape.size()) {
    text += element(array, offset, f);
    return;
  }
  const int64_t extent = shape[depth], step = extent == 0 ? 0 : inner / extent;
  const std::string indent(depth + 1, ' ');
  const bool rows = depth + 1 < shape.size();
  text += f.open;
  bool first = true;
  for (int64_t i : shown(array, extent, f)) {
    if (rows) {
      text += "\n" + indent;
      if (i < 0)
        text += "...";
      else
        append(array, depth + 1, offset + i * step, step, f, text);
      continue;
    }
    const std::string item = i < 0 ? "..." : element(array, offset + i * step, f);
    const size_t begun = text.rfind('\n') + 1;  // npos + 1 is 0: the first line
    if (!first && text.size() - begun + f.separator.size() + item.size() > static_cast<size_t>(f.line_width))
      text += "\n" + indent;
    else if (!first)
      text += f.separator;
    text += item;
    first = false;
  }
  if (rows && extent > 0) text += "\n" + std::string(depth, ' ');
  text += f.close;
}

}  // namespace

std::string print_text(const Array& array, const PrintFormat& format) {
  std::string text = format.title + ": ";
  append(array, 0, 0, array.size(), format, text);
  // An empty line separates blocks of lines.
  return text + (array.rank() > 1 ? "\n\n" : "\n");
}

Kernel print_kernel(const TensorSpec& t, const PrintFormat& format, bool prints) {
  return [t, format, prints, bytes = static_cast<size_t>(t.bytes())](const Buffers& b) {
    if (prints && permits(Effect::prints)) {
      Array array(t.dtype, t.shape);
      if (bytes != 0) std::memcpy(array.mutable_raw(), b.in[0], bytes);
      const int32_t *replica = b.input<int32_t>(1), replicas = replica[1];
      PrintFormat titled = format;
      if (replicas > 1) titled.title += fmt::format("_replica_{}", *replica);
      write_err(print_text(array, titled));
    }
    if (bytes != 0 && b.in[0] != b.out[0]) std::memmove(b.out[0], b.in[0], bytes);
  };
}

}  // namespace pxl
