#include "interpreter/values/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/records.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {
namespace {

using Json = nlohmann::ordered_json;

constexpr int max_depth = 200;  ///< maximum nesting of lists and dicts

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

Json json_of(Interpreter& in, const Value& v, int depth);

/// Different keys may have one text; the later value then replaces the earlier one.
Json object_of(Interpreter& in, const DictObject& dict, int depth) {
  Json::object_t object;
  if (std::all_of(dict.items.begin(), dict.items.end(), [](const auto& item) { return item.first.is_text(); })) {
    object.reserve(dict.items.size());
    for (const auto& [key, value] : dict.items) object.emplace_back(*key.as_string(), json_of(in, value, depth + 1));
    return object;
  }
  std::unordered_map<std::string, size_t> where;  // the library searches its objects key by key
  for (const auto& [key, value] : dict.items) {
    Json made = json_of(in, value, depth + 1);
    const auto [at, is_new] = where.emplace(str_of(in, key), object.size());
    if (is_new)
      object.emplace_back(at->first, std::move(made));
    else
      object.begin()[static_cast<ptrdiff_t>(at->second)].second = std::move(made);
  }
  return object;
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
  if (v.is_natural()) return v.as_natural();
  if (v.is_int()) return v.as_int();
  if (v.is_float()) return number(v.as_double());
  if (const auto* record = v.as<RecordObject>()) {
    Json object = Json::object();
    for (size_t i = 0; i < record->values.size(); ++i)
      object[record->field(i)] = json_of(in, record->values[i], depth + 1);
    return object;
  }
  if (const auto* dict = v.as<DictObject>()) {
    return object_of(in, *dict, depth);
  }
  if (const auto* list = v.as<ListObject>()) {
    Json all = Json::array();
    for (const Value& x : list->items) all.push_back(json_of(in, x, depth + 1));
    return all;
  }
  throw Error(fmt::format("to_json: a {} has no counterpart in JSON", v.type_name()),
              {"numbers, strings, bools, none, lists, dicts, records and arrays have"})
      .as(codes::type);
}

/// Makes values while it parses a text, without a tree of JSON, whose objects would be searched key by key.
class JsonReader final : public nlohmann::json_sax<Json> {
 public:
  Value result() && { return std::move(result_); }

  bool null() override { return add({}); }
  bool boolean(bool v) override { return add(v); }
  bool number_integer(int64_t v) override { return add(v); }
  bool number_unsigned(uint64_t v) override { return add(Value::natural(v)); }
  bool number_float(double v, const std::string&) override { return add(v); }
  bool string(std::string& v) override { return add(std::move(v)); }
  bool binary(Json::binary_t&) override { return false; }  // JSON text contains no binary values
  bool start_object(size_t) override { return open(make_ref<DictObject>()); }
  bool key(std::string& name) override {
    Open& to = open_.back();
    to.key = std::move(name);
    if (to.dict->find(to.key))
      throw Error(fmt::format("from_json: an object has the key `{}` twice", *to.key.as_string())).as(codes::value);
    return true;
  }
  bool end_object() override {
    Value dict = std::move(open_.back().dict);
    return close(std::move(dict));
  }
  bool start_array(size_t) override { return open(nullptr); }
  bool end_array() override {
    Value list = make_list(std::move(open_.back().items));
    return close(std::move(list));
  }
  bool parse_error(size_t, const std::string&, const Json::exception& e) override {
    std::string why = e.what();
    if (const size_t from = why.find("] "); from != why.npos) why.erase(0, from + 2);  // the library's number
    throw Error("from_json: " + why).as(codes::value);
  }

 private:
  /// A list or dict that is not closed yet.
  struct Open {
    Ref<DictObject> dict;  ///< null means a list
    std::vector<Value> items;
    Value key;
  };

  bool open(Ref<DictObject> dict) {
    check_depth("from_json", static_cast<int>(open_.size()));
    open_.push_back({std::move(dict), {}, {}});
    return true;
  }
  bool close(Value whole) {
    open_.pop_back();
    return add(std::move(whole));
  }
  bool add(Value v) {
    charge(1);
    if (open_.empty()) {
      result_ = std::move(v);
    } else if (Open& to = open_.back(); to.dict) {
      to.dict->put(to.key, std::move(v));
    } else {
      if (to.items.size() >= max_elements) throw run_error("from_json: the list is too long");
      to.items.push_back(std::move(v));
    }
    return true;
  }

  std::vector<Open> open_;
  Value result_;
};

}  // namespace

std::string json_of(Interpreter& in, const Value& v) {
  std::string text = json_of(in, v, 0).dump(-1, ' ', false, Json::error_handler_t::replace);
  check_text_size(text);
  return text;
}

Value value_of_json(std::string_view text) {
  charge(static_cast<int64_t>(text.size()));
  JsonReader reader;
  Json::sax_parse(text, &reader);
  return std::move(reader).result();
}

}  // namespace pxl
