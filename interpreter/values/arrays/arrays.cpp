// Host arrays as values: printing, members, iteration over the first axis, truth.
#include <fmt/format.h>

#include <cstring>

#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Value element_value(const Array& a, int64_t i) {
  if (a.dtype() == DType::boolean) return a.integer(i) != 0;
  if (is_floating(a.dtype()) || is_float8(a.dtype())) return a.number(i);
  if (a.dtype() == DType::uint64) return Value::natural(a.data<uint64_t>()[i]);
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

using In = Interpreter&;
using ArrayRef = ArrayObject&;
using A = const Arguments&;
using Got = std::optional<Value>;
constexpr Member<ArrayObject>::Get rank_of = [](In, ArrayRef a) -> Got { return Value(a.value.rank()); };
constexpr Member<ArrayObject>::Get count_of = [](In, ArrayRef a) -> Got { return Value(a.value.size()); };
constexpr Member<ArrayObject> array_rows[] = {
    {"shape", "The extents, as a tuple of ints.", "a.shape",
     [](In, ArrayRef a) -> Got {
       return make_tuple(std::vector<Value>(a.value.shape().begin(), a.value.shape().end()));
     }},
    {"dtype", "The dtype of the elements.", "a.dtype", [](In, ArrayRef a) -> Got { return Value(a.value.dtype()); }},
    {"spec", "Dtype and shape, as streams and graphs take them.", "a.spec",
     [](In, ArrayRef a) -> Got { return Value(a.value.spec()); }},
    {"rank", "The number of axes.", "a.rank", rank_of},
    {"ndim", "The number of axes: rank, by NumPy's name.", "a.ndim", rank_of},
    {"size", "The number of elements.", "a.size", count_of},
    {"nelms", "The number of elements: size, by PopXL's name.", "a.nelms", count_of},
    {"T", "The array with its axes in reverse order: transpose without a permutation.", "a.T",
     [](In in, ArrayRef a) -> Got { return op_by_name(in, "transpose", {Value(a.value)}); }},
    {"tolist", "()", "The elements as numbers in lists, one list for each axis.", "a.tolist()",
     [](In, ArrayRef a, A args) -> Value {
       const ArgReader none(args);
       return nested_list(a.value);
     }},
    {"item", "()", "The only element of an array, as a number.", "a[0, 1].item()",
     [](In, ArrayRef a, A args) -> Value {
       const ArgReader none(args);
       if (a.value.size() != 1)
         throw run_error(fmt::format("item: the array has {} elements, not one", a.value.size()));
       return element_value(a.value, 0);
     }},
    {"astype", "(dtype)", "A new array with the elements converted to a dtype.", "a.astype(int32)",
     [](In, ArrayRef a, A args) -> Value { return a.value.cast(to_dtype(ArgReader(args).value("dtype"), "astype")); }},
    {"copy", "()", "A new array of the same elements.", "a.copy() is a",
     [](In, ArrayRef a, A args) -> Value {
       const ArgReader none(args);
       return a.value.clone();
     }},
};
constexpr std::span<const Member<ArrayObject>> array_table(array_rows);

}  // namespace

const OpRow* array_op_method(std::string_view name) {
  return find_member(array_table, name) ? nullptr : find_op_method(name);
}

MemberTable array_members() {
  return member_table("array",
                      "Numbers of one dtype in memory, with axes: what runs take and return. Most ops are methods as "
                      "well: `a.sum(axis = 0)`.",
                      "a = array([[1.0, 2.5], [3.0, 4.0]])", array_table);
}

std::vector<std::string> ArrayObject::member_names() const {
  std::vector<std::string> names = op_method_names();
  append_names(names, array_table);
  return names;
}

std::optional<Value> ArrayObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, array_table, *this, name)) return found;
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
