// Checks of JSON text from untrusted files, before a parser makes values of it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/limits/budget.hpp"

namespace pxl {

/// Whether lists and objects are nested at most `most` deep: values take many times the memory of their brackets.
inline bool is_nested_at_most(std::string_view json, size_t most) {
  size_t depth = 0;
  bool in_text = false;
  charge(static_cast<int64_t>(json.size()));
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      at += c == '\\';
    } else if (c == '[' || c == '{') {
      if (++depth > most) return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

/// The value of a text whose objects have each key once. `twice` gets the first key that an object has twice, and the
/// value is discarded then, as for a text that is no JSON.
inline nlohmann::json parse_unrepeated(std::string_view text, std::string& twice) {
  using nlohmann::json;
  std::vector<std::set<std::string>> open;
  bool repeated = false;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second && !repeated) {
      repeated = true;
      twice = parsed.get<std::string>();
    }
    return true;
  };
  json value = json::parse(text, watch, false);
  return repeated ? json(json::value_t::discarded) : value;
}

}  // namespace pxl
