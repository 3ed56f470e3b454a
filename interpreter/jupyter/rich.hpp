// Display of values in a notebook: always as text, arrays also as tables, graphs also as pictures.
#pragma once

#include <nlohmann/json.hpp>

#include "interpreter/tools/engine.hpp"

namespace pxl::jupyter {

/// A MIME bundle. `shown` is the text form.
nlohmann::json rich(Engine& engine, const Value& value, const std::string& shown);

}  // namespace pxl::jupyter
