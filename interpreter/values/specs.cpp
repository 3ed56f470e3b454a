// Dtypes and specs as values: `float32`, `float32[8, 784]`, `float32[x.shape]`, `float32[x.spec]`.
#include <fmt/format.h>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {
Value shape_tuple(const Shape& shape) { return make_tuple(std::vector<Value>(shape.begin(), shape.end())); }
}  // namespace

std::string DTypeObject::repr(Interpreter&) { return std::string(name(value)); }
bool DTypeObject::equals(Interpreter&, const Value& other) {
  const DType* d = other.as_dtype();
  return d && *d == value;
}
std::optional<std::string> DTypeObject::hash_key() const { return fmt::format("d{}", static_cast<int>(value)); }
std::optional<Value> DTypeObject::member(Interpreter&, std::string_view member_name) {
  if (member_name == "name") return Value(name(value));
  if (member_name == "size") return Value(static_cast<int64_t>(size_of(value)));
  if (member_name == "is_float") return Value(is_floating(value) || is_float8(value));
  if (member_name == "is_int") return Value(is_integer(value));
  return std::nullopt;
}

// Subscripts: extents, lists of extents, a tensor's shape, or one spec, whose other properties are kept.
Value DTypeObject::index(Interpreter& in, const Value& key) {
  auto* parts = key.as<TupleObject>();
  const std::vector<Value> dims = parts ? parts->items : std::vector<Value>{key};
  TensorSpec spec;
  spec.dtype = value;
  if (dims.size() == 1 && dims[0].is_object() && !dims[0].as<SequenceObject>() && !dims[0].as_array()) {
    const TensorSpec like = to_spec(in, dims[0], "shape of a spec");
    spec.shape = like.shape;
    spec.meta_shape = like.meta_shape;
    return spec;
  }
  for (const Value& d : dims) {
    if (auto* list = d.as<SequenceObject>()) {
      for (const Value& e : list->items) spec.shape.push_back(to_index(e, "extent of a spec"));
    } else {
      spec.shape.push_back(to_index(d, "extent of a spec"));
    }
  }
  for (int64_t d : spec.shape) {
    if (d < 0)
      throw Error(fmt::format("a shape's extents cannot be negative: {}", bracket_text(spec.shape))).as(codes::shape);
  }
  element_count(spec.shape);
  return spec;
}

Value DTypeObject::call(Interpreter& in, Arguments args) {
  const Value v = ArgReader(std::string(name(value)), args, {"x"}).value("x");
  if (mentions_tensor(v)) {
    Arguments cast;
    cast.span = args.span;
    cast.positional = {v, Value(value)};
    return invoke(in, builtin_named(in, "cast"), std::move(cast));
  }
  // bool(x) is Python's on everything but arrays with axes.
  if (value == DType::boolean && (!v.as_array() || v.as_array()->rank() == 0)) return truth_of(in, v);
  return cast_array(in, v, value);
}

std::string SpecObject::repr(Interpreter&) { return text(value); }
bool SpecObject::equals(Interpreter&, const Value& other) {
  const TensorSpec* s = other.as_spec();
  return s && *s == value;
}
std::optional<std::string> SpecObject::hash_key() const {
  return "p" + text(value) + (value.meta_shape.empty() ? "" : bracket_text(value.meta_shape));
}
std::optional<Value> SpecObject::member(Interpreter&, std::string_view name) {
  if (name == "shape") return shape_tuple(value.shape);
  if (name == "dtype") return Value(value.dtype);
  if (name == "meta_shape") return shape_tuple(value.meta_shape);
  if (name == "rank" || name == "ndim") return Value(static_cast<int64_t>(value.shape.size()));
  if (name == "size" || name == "nelms") return Value(value.size());
  if (name == "spec") return Value(value);
  return std::nullopt;
}
std::vector<std::string> SpecObject::member_names() const {
  return {"shape", "dtype", "meta_shape", "rank", "ndim", "size", "nelms", "spec"};
}

}  // namespace pxl
