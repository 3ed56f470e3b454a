// Values as JSON text, and back. Errors name `to_json` and `from_json`.
#pragma once

#include <string>
#include <string_view>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

/// One line of text. NaN and infinities become null. Throws for a value without a counterpart in JSON.
std::string json_of(Interpreter& in, const Value& v);
Value value_of_json(std::string_view text);

}  // namespace pxl
