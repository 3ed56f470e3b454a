#include "runtime/graph/shown_names.hpp"

#include <algorithm>

#include "runtime/base/diagnostics/library_sources.hpp"

namespace pxl {

namespace {

constexpr size_t max_shown_text = 40;  ///< bytes of an expression that stands for its tensor

/// The place of an op in the user's text: code of the library is at the call that led there.
Span users_place(const Origin& origin) {
  Span at = origin.span;
  for (const Frame* f = origin.frames.get(); f && at && is_library(at.file->name()); f = f->outer.get()) at = f->at;
  return at && !is_library(at.file->name()) ? at : Span();
}

/// The text of an expression at a place; empty if it is long, or a whole statement.
std::string short_text(const Origin& origin) {
  const std::string_view text = users_place(origin).text();
  const bool is_expression = text.find('=') == text.npos || text.find('(') < text.find('=');
  return text.size() <= max_shown_text && text.find('\n') == text.npos && is_expression ? std::string(text)
                                                                                        : std::string();
}

/// The name without its scopes, and without the "__t12" of names that occur twice.
std::string plain_name(std::string_view name) {
  const std::string_view last = last_part(name);
  const size_t mark = last.rfind("__t");
  const bool numbered = mark != last.npos && mark > 0 && mark + 3 < last.size() &&
                        std::all_of(last.begin() + static_cast<std::ptrdiff_t>(mark) + 3, last.end(),
                                    [](char c) { return c >= '0' && c <= '9'; });
  return std::string(numbered ? last.substr(0, mark) : last);
}

}  // namespace

bool is_unnamed(const Tensor& tensor) {
  if (tensor.kind != TensorKind::variable && tensor.kind != TensorKind::constant) return false;
  const std::string_view written = users_place(tensor.origin).text();
  return plain_name(tensor.name) == "t" && !written.starts_with("variable t") && !written.starts_with("constant t");
}

std::string shown_name(const Tensor& tensor) {
  const bool made = tensor.kind == TensorKind::result && tensor.producer;
  std::string text = made ? short_text(tensor.producer->origin) : std::string();
  if (is_unnamed(tensor)) {
    text = short_text(tensor.origin);
    if (!text.starts_with("variable(") && !text.starts_with("constant(")) text.clear();
  }
  return text.empty() ? plain_name(tensor.name) : text;
}

std::string operand_text(const Tensor& tensor) {
  std::string text = shown_name(tensor);
  return text.find(' ') == text.npos || text.ends_with(')') ? text : "(" + text + ")";
}

std::string shown_name(const Op& op) {
  std::string text = short_text(op.origin);
  return text.empty() ? std::string(op.row->name) : text;
}

std::string called_name(const Op& op) {
  const std::string_view text = users_place(op.origin).text();
  const auto part_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const auto end = std::ranges::find_if_not(text, part_of_name);
  const std::string_view name(text.begin(), end);
  return end == text.end() || *end != '(' || name.empty() ? std::string(op.row->name) : std::string(name);
}

std::string shown_name(const Graph& graph) {
  if (graph.is_main()) return "the main graph";
  return graph.title().empty() ? graph.id() : graph.title();
}

}  // namespace pxl
