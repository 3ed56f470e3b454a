// JSON on its way to another process.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pxl {

/// Without line breaks; what is no UTF-8 is replaced.
inline std::string json_text(const nlohmann::json& j) {
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pxl
