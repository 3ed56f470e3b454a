// Lists as text, in place of fmt::join: its formatters would be compiled anew for each file that uses them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pxl {

/// The parts with the separator between them; numbers as fmt writes them.
std::string join_texts(std::span<const std::string> parts, std::string_view separator = ", ");
std::string join_texts(std::span<const std::string_view> parts, std::string_view separator = ", ");
std::string join_texts(std::span<const int64_t> parts, std::string_view separator = ", ");
std::string join_texts(std::span<const double> parts, std::string_view separator = ", ");
std::string join_texts(std::span<const int> parts, std::string_view separator = ", ");

}  // namespace pxl
