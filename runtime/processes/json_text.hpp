// JSON on its way to another process.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pxl {

/// Without line breaks; bytes that are no UTF-8 are replaced.
inline std::string json_text(const nlohmann::json& j) {
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pxl
