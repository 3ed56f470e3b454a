#include "runtime/base/text/join_texts.hpp"

#include <fmt/format.h>

namespace pxl {

namespace {

template <class T, class Text>
std::string join_parts(std::span<const T> parts, std::string_view separator, Text text) {
  std::string all;
  for (const T& part : parts) {
    if (&part != parts.data()) all += separator;
    all += text(part);
  }
  return all;
}

}  // namespace

std::string join_texts(std::span<const std::string> parts, std::string_view separator) {
  return join_parts(parts, separator, [](const std::string& part) -> const std::string& { return part; });
}
std::string join_texts(std::span<const std::string_view> parts, std::string_view separator) {
  return join_parts(parts, separator, [](std::string_view part) { return part; });
}
std::string join_texts(std::span<const int64_t> parts, std::string_view separator) {
  return join_parts(parts, separator, [](int64_t part) { return std::to_string(part); });
}
std::string join_texts(std::span<const double> parts, std::string_view separator) {
  return join_parts(parts, separator, [](double part) { return fmt::format("{}", part); });
}
std::string join_texts(std::span<const int> parts, std::string_view separator) {
  return join_parts(parts, separator, [](int part) { return std::to_string(part); });
}

}  // namespace pxl
