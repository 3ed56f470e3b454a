// Dtypes and specs as values: `float32`, `float32[8, 784]`, `float32[x.shape]`, `float32[x.spec]`.
#include <fmt/format.h>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/error_of_part.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
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

namespace {

using In = Interpreter&;
using Got = std::optional<Value>;
constexpr Member<DTypeObject> dtype_rows[] = {
    {"name", "The name of the dtype.", "float16.name", [](In, DTypeObject& d) -> Got { return Value(name(d.value)); }},
    {"size", "The bytes of an element.", "float16.size",
     [](In, DTypeObject& d) -> Got { return Value(static_cast<int64_t>(size_of(d.value))); }},
    {"is_float", "Whether elements are floating-point numbers, float8 included.", "int32.is_float",
     [](In, DTypeObject& d) -> Got { return Value(is_floating(d.value) || is_float8(d.value)); }},
    {"is_int", "Whether elements are integers.", "int32.is_int",
     [](In, DTypeObject& d) -> Got { return Value(is_integer(d.value)); }},
};
constexpr std::span<const Member<DTypeObject>> dtype_member_table(dtype_rows);

constexpr Member<SpecObject>::Get spec_rank = [](In, SpecObject& s) -> Got {
  return Value(static_cast<int64_t>(s.value.shape.size()));
};
constexpr Member<SpecObject>::Get spec_size = [](In, SpecObject& s) -> Got { return Value(s.value.size()); };
constexpr Member<SpecObject> spec_rows[] = {
    {"shape", "The extents, as a tuple of ints.", "s.shape",
     [](In, SpecObject& s) -> Got { return shape_tuple(s.value.shape); }},
    {"dtype", "The dtype of the elements.", "s.dtype", [](In, SpecObject& s) -> Got { return Value(s.value.dtype); }},
    {"meta_shape", "The extents of the whole tensor that a shard is a part of; empty for others.", "s.meta_shape",
     [](In, SpecObject& s) -> Got { return shape_tuple(s.value.meta_shape); }},
    {"rank", "The number of axes.", "s.rank", spec_rank},
    {"ndim", "The number of axes: rank, by NumPy's name.", "s.ndim", spec_rank},
    {"size", "The number of elements.", "s.size", spec_size},
    {"nelms", "The number of elements: size, by PopXL's name.", "s.nelms", spec_size},
    {"spec", "The spec itself, so that code may ask tensors, arrays and specs alike.", "s.spec",
     [](In, SpecObject& s) -> Got { return Value(s.value); }},
};
constexpr std::span<const Member<SpecObject>> spec_table(spec_rows);

}  // namespace

MemberTable dtype_members() {
  return member_table("dtype",
                      "The type of a tensor's or array's elements. `float32[2, 3]` is a spec, `float32(x)` converts.",
                      "", dtype_member_table);
}
MemberTable spec_members() {
  return member_table("spec", "A dtype and a shape: what is known of a tensor before a run.", "s = float32[2, 3]",
                      spec_table);
}

std::optional<Value> DTypeObject::member(Interpreter& in, std::string_view member_name) {
  return member_of_table(in, dtype_member_table, *this, member_name);
}
std::vector<std::string> DTypeObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, dtype_member_table);
  return names;
}

namespace {

int64_t extent_of(Interpreter& in, const Value& d) {
  if (d.is_none() || (d.is_int64() && d.int64() == -1))
    throw Error(fmt::format("an extent of a spec is an int, not {}", repr_of(in, d)),
                {"a size that each run decides is a parameter: `program infer(batch: size = 64) { ... }`"})
        .as(codes::shape);
  const int64_t extent = to_index(d, "extent of a spec");
  if (extent < 0) throw Error(fmt::format("an extent of a spec cannot be negative: {}", extent)).as(codes::shape);
  return extent;
}

}  // namespace

// A subscript is an extent, a list of extents, a tensor's shape, or one spec. The other properties of the spec are
// kept.
Value DTypeObject::index(Interpreter& in, const Value& key) {
  auto* parts = key.as<TupleObject>();
  const std::vector<Value> dims = parts ? parts->items : std::vector<Value>{key};
  TensorSpec spec;
  spec.dtype = value;
  if (dims.size() == 1 && dims[0].is_object() && !dims[0].as<SequenceObject>() && !dims[0].as_array()) {
    const TensorSpec like = to_spec(in, dims[0], "shape of a spec");
    spec = like;
    spec.dtype = value;
    return spec;
  }
  for (size_t i = 0; i < dims.size(); ++i)
    of_part(i, [&] {
      auto* list = dims[i].as<SequenceObject>();
      for (const Value& d : list ? list->items : std::vector<Value>{dims[i]}) spec.shape.push_back(extent_of(in, d));
    });
  element_count(spec.shape);
  return spec;
}

Value DTypeObject::call(Interpreter& in, Arguments args) {
  const bool is_shape =
      args.positional.size() > 1 && args.named.empty() && args.span &&
      std::all_of(args.positional.begin(), args.positional.end(), [](const Value& v) { return v.is_int(); });
  if (const size_t open = is_shape ? args.span.text().find('(') : std::string_view::npos;
      open != std::string_view::npos) {
    const std::string_view text = args.span.text();
    const std::string spec = fmt::format("{}[{}]", text.substr(0, open), text.substr(open + 1, text.size() - open - 2));
    Error e("the shape of a spec is in brackets", {fmt::format("write `{}`", spec)});
    throw std::move(e).as(codes::type).offer(args.span, spec);
  }
  const Value v = ArgReader(name(value), args, {"x"}).value("x");
  if (mentions_tensor(v)) {
    Arguments cast;
    cast.span = args.span;
    cast.positional = {v, Value(value)};
    return invoke(in, builtin_named(in, "cast"), std::move(cast));
  }
  // bool(x) behaves as in Python on everything except arrays with axes.
  if (value == DType::boolean && (!v.as_array() || v.as_array()->rank() == 0)) return truth_of(in, v);
  return cast_array(in, v, value);
}

std::string SpecObject::repr(Interpreter&) { return text(value); }
bool SpecObject::equals(Interpreter&, const Value& other) {
  const TensorSpec* s = other.as_spec();
  return s && *s == value;
}
std::optional<std::string> SpecObject::hash_key() const { return "p" + spec_key(value); }
std::optional<Value> SpecObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, spec_table, *this, name);
}
std::vector<std::string> SpecObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, spec_table);
  return names;
}

}  // namespace pxl
