// Parses the templates of import.hpp's rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/onnx/import.hpp"

namespace pxl::onnx {

/// The text between braces.
struct Placeholder {
  FixedText parameter;  ///< set for {,parameter=source}
  std::string source, kind;
  FixedText otherwise;
  bool optional = false, has_otherwise = false;
};

Placeholder placeholder_of(FixedText text);

/// Calls f(literal text, placeholder text or nullopt) for each part of a template.
template <class F>
void each_part(FixedText text, F f) {
  while (!text.view().empty()) {
    const size_t open = text.view().find('{');
    if (open == std::string_view::npos) {
      f(text, std::optional<FixedText>());
      return;
    }
    const size_t close = text.view().find('}', open);
    f(text.substr(0, open), std::optional(text.substr(open + 1, close - open - 1)));
    text = text.substr(close + 1);
  }
}

/// Whether the source of a placeholder is the number of an input, not the name of an attribute.
bool is_input(std::string_view source);
bool has_input(const Node& node, size_t i);
/// Inputs of a node that must be known while the graph is built.
std::vector<size_t> host_inputs(const Node& node, const ImportRow& row);

}  // namespace pxl::onnx
