// The spelling of a plan's fields, for the writer and the reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/plan/node.hpp"

namespace pxl::plan_text {

/// The words of an enum, and how many values it has.
inline std::string_view word(Form form) { return name(form); }
inline std::string_view word(DType dtype) { return name(dtype); }
inline std::string_view word(TensorKind kind) {
  constexpr std::string_view words[] = {"variable", "constant", "input", "result", "stream"};
  return words[static_cast<size_t>(kind)];
}
template <class E>
inline constexpr size_t word_count = 0;
template <>
inline constexpr size_t word_count<Form> = static_cast<size_t>(Form::sparse) + 1;
template <>
inline constexpr size_t word_count<DType> = std::size(dtype_rows);
template <>
inline constexpr size_t word_count<TensorKind> = static_cast<size_t>(TensorKind::stream) + 1;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
/// Written as its fields in braces.
template <class T>
inline constexpr bool is_record =
    std::is_class_v<T> && !is_list<T> && !is_optional<T> && !std::is_same_v<T, std::string> && !std::is_same_v<T, Attr>;

}  // namespace pxl::plan_text
