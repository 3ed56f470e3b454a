// JSON as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pxl::tiles {

/// Returns the JSON as one line. Names come from programs and may be truncated within a UTF-8 sequence, which is
/// replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace pxl::tiles
