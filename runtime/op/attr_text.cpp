#include "runtime/op/attr_text.hpp"

#include <fmt/format.h>

namespace pxl {

std::string attr_text(const Attr& attr) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "-";
        else if constexpr (std::is_same_v<T, double>)
          return fmt::format("{:a}", v);
        else if constexpr (std::is_same_v<T, std::string>)
          return fmt::format("\"{}\"", v);
        else if constexpr (std::is_same_v<T, DType>)
          return fmt::format("d{}", static_cast<int>(v));
        else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>>) {
          std::string text = "[";
          for (const auto x : v) text += attr_text(Attr(x)) + ",";
          return text + "]";
        } else
          return fmt::format("{}:{}", std::is_same_v<T, bool> ? 'b' : 'i', v);
      },
      attr);
}

}  // namespace pxl
