// Values that only a run produces, as a look at a program represents them (language/look.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpreter/values/value.hpp"
#include "runtime/base/unevaluated.hpp"

namespace pxl {

/// A value that only a run produces. Every operation that needs the value throws Unevaluated during a look.
struct UnknownObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::unknown;
  std::optional<TensorSpec> spec;  ///< for an array: the spec; its elements are unknown
  std::optional<Value> element;    ///< the element in each iteration; the number of iterations is unknown
  explicit UnknownObject(std::optional<TensorSpec> s = {}) : spec(std::move(s)) {}
  std::string type_name() const override;
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  void set_member(Interpreter&, std::string_view, Value) override {}
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  Value index(Interpreter&, const Value& key) override;
  void set_index(Interpreter&, const Value&, Value) override {}
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override;
  bool equals(Interpreter&, const Value&) override;
  std::optional<std::string> hash_key() const override;
  bool is_context() const override { return true; }
  Value enter(Interpreter&) override;
};

Value unknown_value();
Value unknown_array(TensorSpec spec);
Value unknown_array(Shape shape, DType dtype);
/// Whether a value is unknown, or an object whose state is unknown (Object::forget).
inline bool is_unknown(const Value& v) {
  return v.is_object() && (v.object()->forgotten() || v.as<UnknownObject>() != nullptr);
}
/// Whether a value is unknown, or is a list, tuple or dict that holds an unknown value.
bool holds_unknown(const Value& v);
bool holds_unknown(const Arguments& args);
/// The spec of an array whose elements are unknown.
std::optional<TensorSpec> unknown_spec(const Value& v);
/// The value that code sees: unknown if its state was forgotten.
Value as_known(Value v);

/// Whether an error of a value whose spec alone is known follows from the spec; others depend on what is unknown.
bool depends_on_specs(const Error& e);

}  // namespace pxl
