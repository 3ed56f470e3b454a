// Host arrays as values: printing, members, iteration over the first axis, truth.
#include <fmt/format.h>

#include <cstring>

#include "interpreter/values/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Value element_value(const Array& a, int64_t i) {
  if (a.dtype() == DType::boolean) return a.integer(i) != 0;
  if (is_floating(a.dtype()) || is_float8(a.dtype())) return a.number(i);
  return a.integer(i);
}

std::optional<Value> scalar_of(const Value& v) {
  const Array* a = v.as_array();
  if (!a || a->size() != 1) return std::nullopt;
  return element_value(*a, 0);
}

std::string ArrayObject::str(Interpreter&) { return to_text(value); }
std::string ArrayObject::repr(Interpreter&) {
  if (value.rank() == 0) return to_text(value);
  PrintOptions options;
  options.separator = ", ";
  std::string body = to_text(value, options);
  // Continuation lines are aligned with the opening bracket of the first line.
  std::string out;
  for (char c : body) {
    out += c;
    if (c == '\n') out += "      ";
  }
  return "array(" + out + ", " + std::string(name(value.dtype())) + ")";
}

std::vector<std::string> ArrayObject::member_names() const {
  std::vector<std::string> names = op_method_names();
  names.insert(names.end(),
               {"shape", "dtype", "spec", "rank", "ndim", "size", "nelms", "T", "tolist", "item", "astype", "copy"});
  return names;
}

namespace {

Value nested_list(const Array& a) {
  if (a.rank() == 0) return element_value(a, 0);
  std::vector<Value> out;
  for (int64_t i = 0; i < a.shape()[0]; ++i) {
    const Array r = a.rows(i, i + 1);
    out.push_back(nested_list(r.reshaped(Shape(a.shape().begin() + 1, a.shape().end()))));
  }
  return make_list(std::move(out));
}

}  // namespace

std::optional<Value> ArrayObject::member(Interpreter& in, std::string_view name) {
  if (name == "shape") return make_tuple(std::vector<Value>(value.shape().begin(), value.shape().end()));
  if (name == "dtype") return Value(value.dtype());
  if (name == "spec") return Value(value.spec());
  if (name == "rank" || name == "ndim") return Value(value.rank());
  if (name == "size" || name == "nelms") return Value(value.size());
  if (name == "T") return op_by_name(in, "transpose", {Value(value)});
  const Array copy = value;
  if (name == "tolist") {
    return make_method(no_effects, "tolist", [copy](Interpreter&, const Arguments& args) -> Value {
      ArgReader("tolist", args, {});
      return nested_list(copy);
    });
  }
  if (name == "item") {
    return make_method(no_effects, "item", [copy](Interpreter&, const Arguments& args) -> Value {
      ArgReader("item", args, {});
      if (copy.size() != 1) {
        throw run_error(fmt::format("item: the array has {} elements, not one", copy.size()));
      }
      return element_value(copy, 0);
    });
  }
  if (name == "astype") {
    return make_method(no_effects, "astype", [copy](Interpreter&, const Arguments& args) -> Value {
      return copy.cast(to_dtype(ArgReader("astype", args, {"dtype"}).value("dtype"), "astype"));
    });
  }
  if (name == "copy") {
    return make_method(no_effects, "copy", [copy](Interpreter&, const Arguments& args) -> Value {
      ArgReader("copy", args, {});
      return copy.clone();
    });
  }
  return op_method(Value(shared_from_this()), name);
}

Value ArrayObject::index(Interpreter& in, const Value& key) { return array_get(in, value, key); }
void ArrayObject::set_index(Interpreter& in, const Value& key, Value v) {
  changing();
  array_set(in, value, key, v);
}
std::function<void()> ArrayObject::state() {
  return [this, old = value] { value = old; };
}

std::optional<int64_t> ArrayObject::length(Interpreter&) {
  if (value.rank() == 0) throw run_error("a 0-d array has no length").as(codes::shape);
  return value.shape()[0];
}
std::optional<Iterator> ArrayObject::iterate(Interpreter&) {
  if (value.rank() == 0) throw run_error("a 0-d array is not iterable").as(codes::shape);
  const Array a = value;
  Shape inner(a.shape().begin() + 1, a.shape().end());
  return Iterator([a, inner, i = int64_t{0}]() mutable -> std::optional<Value> {
    if (i >= a.shape()[0]) return std::nullopt;
    Value v(a.rows(i, i + 1).reshaped(inner));
    ++i;
    return v;
  });
}
bool ArrayObject::truth(Interpreter&) {
  if (value.size() != 1) {
    throw Error(fmt::format("an array of shape {} has no truth value", bracket_text(value.shape())),
                {"reduce it first: any(a), all(a), or compare with allclose"})
        .as(codes::value);
  }
  return value.number(0) != 0;
}

}  // namespace pxl
