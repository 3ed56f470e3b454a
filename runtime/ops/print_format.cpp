#include "runtime/ops/print_format.hpp"

#include <fmt/format.h>

#include "runtime/ops/infer.hpp"

namespace pxl {

namespace {

FloatFormat float_format(const OpContext& s) {
  const std::string& name = s.string("float_format");
  if (name == "auto") return FloatFormat::automatic;
  if (name == "fixed") return FloatFormat::fixed;
  if (name == "scientific") return FloatFormat::scientific;
  if (name == "none") return FloatFormat::none;
  refuse(s, fmt::format("float_format must be auto, fixed, scientific or none, not {}", name));
}

}  // namespace

PrintFormat print_format(const OpContext& s) {
  PrintFormat f;
  f.title = s.string("title");
  f.threshold = s.integer("summarise_threshold");
  f.edge_items = s.integer("edge_items");
  f.line_width = s.integer("max_line_width");
  f.digits = s.integer("digits");
  f.floats = float_format(s);
  f.separator = s.string("separator");
  f.open = s.string("open_bracket");
  f.close = s.string("close_bracket");
  if (f.threshold < 0 || f.edge_items < 0 || f.line_width < 1) refuse(s, "sizes must not be negative");
  if (f.digits < 0 || f.digits > 100) refuse(s, fmt::format("digits must be in 0..100, got {}", f.digits));
  return f;
}

}  // namespace pxl
