#include "interpreter/syntax/fixes/foreign_dtypes.hpp"

#include <utility>

namespace pxl::syntax {

std::string dtype_of_word(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"half", "float16"},      {"single", "float32"},      {"double", "float64"},  {"long", "int64"},
      {"short", "int16"},       {"byte", "uint8"},          {"char", "int8"},       {"bf16", "bfloat16"},
      {"boolean", "bool"},      {"Bool", "bool"},           {"bool_", "bool"},      {"float_", "float64"},
      {"BFloat16", "bfloat16"}, {"Half", "float16"},        {"fp16", "float16"},    {"fp32", "float32"},
      {"fp64", "float64"},      {"FloatTensor", "float32"}, {"LongTensor", "int64"}};
  for (const auto& [foreign, here] : words)
    if (word == foreign) return std::string(here);
  constexpr std::pair<std::string_view, std::string_view> families[] = {
      {"f", "float"}, {"Float", "float"}, {"i", "int"}, {"Int", "int"}, {"u", "uint"}, {"UInt", "uint"}};
  for (const auto& [foreign, here] : families) {
    const std::string_view bits = word.starts_with(foreign) ? word.substr(foreign.size()) : std::string_view();
    const bool is_float = here == "float";
    if (bits == "16" || bits == "32" || bits == "64" || (!is_float && bits == "8"))
      return std::string(here) + std::string(bits);
  }
  return {};
}

}  // namespace pxl::syntax
