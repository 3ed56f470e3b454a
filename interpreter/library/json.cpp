// Values as JSON text and back, and lines of JSON in a growing file.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "interpreter/library/builtins.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/append_line.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/codes.hpp"

namespace pxl {
namespace {

using Json = nlohmann::ordered_json;

constexpr int max_depth = 200;  ///< of lists and dicts within each other

void check_depth(const char* function, int depth) {
  if (depth > max_depth)
    throw Error(fmt::format("{}: more than {} lists and dicts within each other", function, max_depth))
        .as(codes::value);
}

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json array_json(const Array& a, size_t axis, int64_t& at) {
  if (axis == a.shape().size()) {
    const int64_t i = at++;
    switch (a.dtype()) {
      case DType::boolean: return a.data<bool>()[i];
      case DType::int64: return a.data<int64_t>()[i];
      case DType::uint64: return a.data<uint64_t>()[i];
      default: break;
    }
    return is_integer(a.dtype()) ? Json(static_cast<int64_t>(a.number(i))) : number(a.number(i));
  }
  Json list = Json::array();
  for (int64_t i = 0; i < a.shape()[axis]; ++i) list.push_back(array_json(a, axis + 1, at));
  return list;
}

Json json_of(Interpreter& in, const Value& v, int depth) {
  check_depth("to_json", depth);
  charge(1);
  if (v.is_none()) return nullptr;
  if (const std::string* s = v.as_string()) return *s;
  if (const Array* a = v.as_array()) {
    if (static_cast<size_t>(a->size()) > max_elements) throw run_error("to_json: the array is too large for text");
    charge(a->size());
    int64_t at = 0;
    return array_json(*a, 0, at);
  }
  if (v.is_bool()) return v.as_bool();
  if (v.is_int()) return v.as_int();
  if (v.is_float()) return number(v.as_double());
  if (const auto* dict = v.as<DictObject>()) {
    Json object = Json::object();
    for (const auto& [key, value] : dict->items) object[str_of(in, key)] = json_of(in, value, depth + 1);
    return object;
  }
  if (const auto* list = v.as<ListObject>()) {
    Json all = Json::array();
    for (const Value& x : list->items) all.push_back(json_of(in, x, depth + 1));
    return all;
  }
  throw Error(fmt::format("to_json: a {} has no counterpart in JSON", v.type_name()),
              {"numbers, strings, bools, none, lists, dicts and arrays have"})
      .as(codes::type);
}

Value value_of(const Json& j, int depth) {
  check_depth("from_json", depth);
  charge(1);
  switch (j.type()) {
    case Json::value_t::boolean: return j.get<bool>();
    case Json::value_t::number_integer: return j.get<int64_t>();
    case Json::value_t::number_unsigned: {
      const auto x = j.get<uint64_t>();
      return x <= static_cast<uint64_t>(INT64_MAX) ? Value(static_cast<int64_t>(x)) : Value(static_cast<double>(x));
    }
    case Json::value_t::number_float: return j.get<double>();
    case Json::value_t::string: return j.get<std::string>();
    case Json::value_t::array: {
      if (j.size() > max_elements) throw run_error("from_json: the list is too long");
      std::vector<Value> items;
      for (const Json& x : j) items.push_back(value_of(x, depth + 1));
      return make_list(std::move(items));
    }
    case Json::value_t::object: {
      auto dict = std::make_shared<DictObject>();
      for (const auto& [key, x] : j.items()) dict->put(key, value_of(x, depth + 1));
      return dict;
    }
    default: return {};
  }
}

std::string line_of(Interpreter& in, const Value& v) {
  std::string text = json_of(in, v, 0).dump(-1, ' ', false, Json::error_handler_t::replace);
  check_text_size(text);
  return text;
}

Value from_json(Interpreter&, const Arguments& args) {
  const std::string text = ArgReader("from_json", args, {"text"}).string("text");
  charge(static_cast<int64_t>(text.size()));
  try {
    // A callback of the parser bounds the depth before the tree is built.
    const auto bounded = [](int depth, Json::parse_event_t, Json&) {
      check_depth("from_json", depth);
      return true;
    };
    return value_of(Json::parse(text, bounded), 0);
  } catch (const Json::exception& e) {
    std::string why = e.what();
    if (const size_t from = why.find("] "); from != why.npos) why.erase(0, from + 2);  // the library's number
    throw Error("from_json: " + why).as(codes::value);
  }
}

Value append_json(Interpreter& in, const Arguments& args) {
  const ArgReader a("append_json", args, {"path", "value"});
  append_line(a.string("path"), line_of(in, a.value("value")));
  return {};
}

}  // namespace

void bind_json_builtins(Scope& p) {
  define(p, no_effects, "to_json", "to_json(value)",
         "JSON text of numbers, strings, bools, none, lists, dicts and arrays; NaN and infinities become null.",
         [](Interpreter& in, const Arguments& args) -> Value {
           return line_of(in, ArgReader("to_json", args, {"value"}).value("value"));
         });
  define(p, no_effects, "from_json", "from_json(text)", "The value of a JSON text.", from_json);
  define(p, Effect::writes_files, "append_json", "append_json(path, value)",
         "Appends a value to a file as a line of JSON, as a log of metrics.", append_json);
}

}  // namespace pxl
