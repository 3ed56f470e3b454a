// Converts the language's values to those of the library's interface, and back.
#include "pxl/value.hpp"

#include <fmt/format.h>

#include "interpreter/api/access.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl::api {
namespace {

constexpr int max_depth = 200;  ///< maximum nesting of lists and dicts

void check_depth(int depth) {
  if (depth > max_depth)
    throw Error(fmt::format("more than {} lists and dicts within each other", max_depth)).as(codes::value);
}

Value value_of(const v1::Value& given, Borrowed borrowed, int depth);

std::vector<Value> items_of(const v1::List& given, Borrowed borrowed, int depth) {
  std::vector<Value> items;
  for (const v1::Value& v : given) items.push_back(value_of(v, borrowed, depth + 1));
  return items;
}

Value value_of(const v1::Value& given, Borrowed borrowed, int depth) {
  check_depth(depth);
  if (const auto* v = given.as<bool>()) return *v;
  if (const auto* v = given.as<int64_t>()) return *v;
  if (const auto* v = given.as<double>()) return *v;
  if (const auto* v = given.as<std::string>()) return *v;
  if (const auto* v = given.as<v1::Array>()) {
    const v1::Array::State& state = *v->state();
    return state.borrowed && borrowed == Borrowed::copied ? state.array.clone() : state.array;
  }
  if (const auto* v = given.as<v1::DType>()) {
    if (const auto own = dtype_from_name(v1::name(*v))) return *own;
    throw Error(fmt::format("{} is a dtype of given arrays only", v1::name(*v))).as(codes::dtype);
  }
  if (const auto* v = given.as<v1::List>()) return make_list(items_of(*v, borrowed, depth));
  if (const auto* v = given.as<v1::Tuple>()) return make_tuple(items_of(v->items, borrowed, depth));
  if (const auto* v = given.as<v1::Dict>()) {
    auto dict = make_ref<DictObject>();
    for (const auto& [key, value] : *v)
      dict->put(value_of(key, borrowed, depth + 1), value_of(value, borrowed, depth + 1));
    return dict;
  }
  if (const auto* v = given.as<v1::Opaque>())
    throw Error(fmt::format("a {} cannot be given: only its text is known", v->type)).as(codes::type);
  return {};
}

v1::Value public_value(Interpreter& in, const Value& value, int depth) {
  check_depth(depth);
  if (value.is_none()) return {};
  if (value.is_bool()) return value.as_bool();
  if (value.is_natural()) return public_array(Array::scalar(value.as_natural()));  // an int here has 64 bits and a sign
  if (value.is_int()) return value.as_int();
  if (value.is_float()) return value.as_double();
  if (const std::string* text = value.as_string()) return *text;
  if (const Array* array = value.as_array()) return public_array(*array);
  if (const DType* dtype = value.as_dtype()) return public_dtype(*dtype);
  if (const auto* sequence = value.as<SequenceObject>()) {
    v1::List items;
    for (const Value& v : sequence->items) items.push_back(public_value(in, v, depth + 1));
    return value.as<TupleObject>() ? v1::Value(v1::Tuple{std::move(items)}) : v1::Value(std::move(items));
  }
  if (const auto* dict = value.as<DictObject>()) {
    v1::Dict items;
    for (const auto& [k, v] : dict->items)
      items.emplace_back(public_value(in, k, depth + 1), public_value(in, v, depth + 1));
    return items;
  }
  if (const auto* run = value.as<RunResultObject>()) {
    v1::Dict items;
    for (const std::string& name : run->output_names())
      items.emplace_back(name, public_array(run->arrays.at(run->names->outputs.at(name))));
    return items;
  }
  if (const auto* tensor = value.as<TensorObject>(); tensor && depth == 0 && tensor->tensor->graph->is_main())
    return public_value(in, invoke(in, builtin_named(in, "eval"), {value}), depth + 1);
  return v1::Opaque{value.type_name(), repr_of(in, value)};
}

}  // namespace

Value value_of(const v1::Value& value, Borrowed borrowed) { return value_of(value, borrowed, 0); }
v1::Value public_value(Interpreter& in, const Value& value) { return public_value(in, value, 0); }

}  // namespace pxl::api
