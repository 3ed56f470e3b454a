// Conversions between kinds of values: to arrays, shapes, specs and dtypes.
#include <fmt/format.h>

#include <cmath>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/error_of_part.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tensor/exact.hpp"

namespace pxl {

namespace {

// The leaves of a nested list. The first branch determines the shape. Depth is limited by kMaxRank.
struct Leaves {
  static constexpr size_t kMaxRank = 32;
  static constexpr size_t max_leaves = size_t{1} << 28;  ///< shared sublists may have exponentially many
  Interpreter& in;
  std::function<Array(const Value&)> array_of_number;  ///< converts a number beside arrays
  Shape shape;
  std::vector<Value> numbers;  ///< filled if all leaves are numbers
  std::vector<Array> arrays;   ///< filled if the leaves are arrays of one shape

  Leaves(Interpreter& i, std::function<Array(const Value&)> of_number) : in(i), array_of_number(std::move(of_number)) {}

  void read(const Value& v, size_t depth) {
    charge(20);
    if (numbers.size() > max_leaves || arrays.size() > max_leaves)
      throw run_error("the nested lists have too many elements for an array").as(codes::memory);
    std::vector<Value> items;
    if (auto* s = v.as<SequenceObject>()) {
      items = s->items;
    } else if (v.as<RangeObject>()) {
      items = elements_of(in, v);
    } else {
      leaf(v, depth);
      return;
    }
    if (depth >= kMaxRank) throw Error(fmt::format("lists nested deeper than {} cannot be an array", kMaxRank));
    if (shape.size() == depth && !closed) {
      shape.push_back(static_cast<int64_t>(items.size()));
    } else if (depth >= shape.size() || shape[depth] != static_cast<int64_t>(items.size())) {
      ragged();
    }
    for (const Value& e : items) read(e, depth + 1);
    if (items.empty()) closed = true;
  }

 private:
  bool closed = false;  ///< a leaf was visited, so the depth is known
  [[noreturn]] void ragged() {
    throw Error("the lists are ragged: the rows of an array must have one length").as(codes::shape);
  }
  void leaf(const Value& v, size_t depth) {
    if (closed ? depth != shape.size() : depth < shape.size()) ragged();
    closed = true;
    if (v.is_number()) {
      if (!arrays.empty())
        arrays.push_back(array_of_number(v));
      else
        numbers.push_back(v);
    } else if (const Array* a = v.as_array()) {
      for (const Value& n : numbers) arrays.push_back(array_of_number(n));
      numbers.clear();
      arrays.push_back(*a);
    } else {
      if (v.is_object()) v.object()->check_has_elements();
      misuse_error("expected an array, a number or a list of them, got " + with_article(v.type_name()), v);
    }
    if (!arrays.empty() && arrays.back().shape() != arrays.front().shape()) ragged();
  }
};

DType wider(DType a, DType b) {
  if (a == b) return a;
  auto rank = [](DType t) { return is_floating(t) ? 2 : is_integer(t) ? 1 : 0; };
  if (rank(a) != rank(b)) return rank(a) > rank(b) ? a : b;
  if (is_floating(a) && size_of(a) == size_of(b)) return compute_dtype(a);  // float16 and bfloat16
  return size_of(a) >= size_of(b) ? a : b;
}

DType natural(const std::vector<Value>& numbers) {
  bool floats = numbers.empty(), ints = false, wide = false, naturals = false;
  for (const Value& n : numbers) {
    floats |= n.is_float();
    ints |= n.is_int();
    naturals |= n.is_natural();
    if (n.is_int() && !n.is_natural() && (n.as_int() > INT32_MAX || n.as_int() < INT32_MIN)) wide = true;
  }
  if (floats) return DType::float32;
  return naturals ? DType::uint64 : wide ? DType::int64 : ints ? DType::int32 : DType::boolean;
}

}  // namespace

namespace {

/// Converts one number to T: rounds to nearest, and refuses numbers beyond T's range (exact.hpp). A cast also drops
/// fractions for an int, and converts nonzero numbers to true.
template <class T>
T converted(const Value& n, DType type, bool cast, std::string_view what) {
  const auto fitting = [&](auto x) {
    if constexpr (std::is_same_v<T, bool>) {
      if (cast) return x != 0;
    } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(x)>) {
      if (cast) x = std::trunc(x);
    }
    if (!holds<T>(x)) refuse_value(x, type, what);
    return cast_element<T>(x);
  };
  if (n.is_float()) return fitting(n.as_double());
  return n.is_natural() ? fitting(n.as_natural()) : fitting(n.as_int());
}

/// `dtype` is the result's dtype. Without it, host data becomes 32-bit as in PopXL. Bools remain bools, ints become
/// int32 (int64 if they do not fit), floats become float32.
Array array_of(Interpreter& in, const Value& v, std::optional<DType> dtype, bool cast, std::string_view what) {
  const auto convert = [&](const Array& a, DType type) { return cast ? a.cast(type) : convert_exactly(a, type, what); };
  if (const Array* a = v.as_array()) return dtype ? convert(*a, *dtype) : *a;
  Leaves leaves(in, [&](const Value& n) { return array_of(in, n, dtype, cast, what); });
  leaves.read(v, 0);
  if (leaves.arrays.empty()) {
    const DType type = dtype ? *dtype : natural(leaves.numbers);
    Array out(type, leaves.shape);
    if (out.size() == 0 || !out.has_elements()) return out;
    charge_steps(out.size(), 5);
    with_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = out.mutable_data<T>();
      for (size_t i = 0; i < leaves.numbers.size(); ++i)
        to[i] = converted<T>(leaves.numbers[i], type, cast || !dtype, what);
    });
    return out;
  }
  DType type = leaves.arrays[0].dtype();
  for (const Array& a : leaves.arrays) type = wider(type, a.dtype());
  if (dtype) type = *dtype;
  Shape shape = leaves.shape;
  const Shape& inner = leaves.arrays[0].shape();
  shape.insert(shape.end(), inner.begin(), inner.end());
  Array out(type, shape);
  if (!out.has_elements()) return out;
  std::byte* to = out.mutable_raw();
  for (const Array& a : leaves.arrays) {
    const Array c = convert(a, type);
    std::copy(c.raw(), c.raw() + c.bytes(), to);
    to += c.bytes();
  }
  return out;
}

}  // namespace

Array to_array(Interpreter& in, const Value& v) { return array_of(in, v, std::nullopt, true, {}); }
Array to_array(Interpreter& in, const Value& v, DType dtype, std::string_view what) {
  return array_of(in, v, dtype, false, what);
}
Array cast_array(Interpreter& in, const Value& v, DType dtype) { return array_of(in, v, dtype, true, {}); }

TensorSpec to_spec(Interpreter& in, const Value& v, const char* what) {
  if (const TensorSpec* s = v.as_spec()) return *s;
  if (v.is_object())
    if (std::optional<TensorSpec> spec = v.object()->spec_in_graph()) return *spec;
  if (const Array* a = v.as_array()) return a->spec();
  if (v.as_dtype()) {
    throw Error(fmt::format("{}: expected a spec such as float32[8, 784], got the dtype {}", what, repr_of(in, v)),
                {fmt::format("a scalar is `{}[]`", repr_of(in, v))})
        .as(codes::type);
  }
  Error e(fmt::format("{}: expected a spec such as float32[8, 784], got {}", what, with_article(v.type_name())));
  if (v.as<SequenceObject>()) e.first().notes.emplace_back("a spec is a dtype with a shape: `float32[8, 784]`");
  throw std::move(e.as(codes::type));
}

Shape to_shape(const Value& v, const char* what) {
  if (const TensorSpec* s = v.as_spec()) return s->shape;
  Shape shape;
  if (auto* s = v.as<SequenceObject>()) {
    for (size_t i = 0; i < s->items.size(); ++i)
      shape.push_back(of_part(i, [&] { return to_index(s->items[i], what); }));
  } else if (const Array* a = v.as_array(); a && a->rank() == 1 && is_integer(a->dtype())) {
    for (int64_t i = 0; i < a->size(); ++i) shape.push_back(a->integer(i));
  } else {
    shape.push_back(to_index(v, what));
  }
  return shape;
}

DType to_dtype(const Value& v, const char* what) {
  if (const DType* d = v.as_dtype()) return *d;
  if (const auto* b = v.as<BuiltinObject>()) {
    if (b->name == "bool") return DType::boolean;
    if (b->name == "int") return DType::int32;
    if (b->name == "float") return DType::float32;
  }
  if (const std::string* s = v.as_string()) {
    if (std::optional<DType> d = dtype_from_name(*s)) return *d;
  }
  throw Error(fmt::format("{}: expected a dtype such as float32, got {}", what, with_article(v.type_name())))
      .as(codes::type);
}

}  // namespace pxl
