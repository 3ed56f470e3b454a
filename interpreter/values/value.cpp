// Values, and the default operations of objects, which are errors that name the type.
#include "interpreter/values/value.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

Value::Value(std::string v) : Value(ObjectPtr(make_ref<StringObject>(std::move(v)))) {}
Value::Value(std::string_view v) : Value(ObjectPtr(make_ref<StringObject>(v))) {}
Value::Value(const char* v) : Value(std::string_view(v)) {}
Value::Value(DType v) : Value(ObjectPtr(make_ref<DTypeObject>(v))) {}
Value::Value(TensorSpec v) : Value(ObjectPtr(make_ref<SpecObject>(std::move(v)))) {}
Value::Value(Array v) : Value(ObjectPtr(make_ref<ArrayObject>(std::move(v)))) {}

Value Value::natural(uint64_t v) {
  Value made(static_cast<int64_t>(v));
  if (v > static_cast<uint64_t>(INT64_MAX)) made.kind_ = Kind::natural;
  return made;
}

void Value::no_int64() const {
  if (!is_natural()) wrong_kind();
  throw run_error(fmt::format("{} does not fit a 64-bit int", bits_),
                  {"`float(x)` is the float that is nearest; an array of uint64 computes with it"})
      .as(codes::arithmetic);
}

void Value::wrong_kind() { throw std::logic_error("a value was taken for one of another kind"); }

const std::string* Value::as_string() const {
  auto* o = as<StringObject>();
  return o ? &o->value : nullptr;
}
const Array* Value::as_array() const {
  auto* o = as<ArrayObject>();
  return o ? &o->value : nullptr;
}
const DType* Value::as_dtype() const {
  auto* o = as<DTypeObject>();
  return o ? &o->value : nullptr;
}
const TensorSpec* Value::as_spec() const {
  auto* o = as<SpecObject>();
  return o ? &o->value : nullptr;
}

std::string Value::type_name() const {
  if (is_none()) return "none";
  if (is_bool()) return "bool";
  if (is_int()) return "int";
  if (is_float()) return "float";
  return object()->type_name();
}

void type_error(const std::string& what, std::string_view code) { throw Error(what).as(code); }

std::vector<std::string> notes_on_misuse(const Value& v) {
  std::string note = v.is_object() ? v.object()->note_on_misuse() : std::string();
  if (note.empty()) return {};
  return {std::move(note)};
}

void misuse_error(const std::string& what, const Value& v) { throw Error(what, notes_on_misuse(v)).as(codes::type); }

std::string with_article(const std::string& noun) {
  if (noun == "none") return noun;
  const bool vowel = !noun.empty() && std::string_view("aeiouAEIO").find(noun[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + noun;
}

std::string Object::repr(Interpreter&) { return "<" + type_name() + ">"; }
std::optional<Value> Object::member(Interpreter&, std::string_view) { return std::nullopt; }
void Object::set_member(Interpreter&, std::string_view name, Value) {
  type_error(fmt::format("cannot set `{}`: {} has no fields that can be set", name, with_article(type_name())));
}
Value Object::call(Interpreter&, Arguments) { type_error(with_article(type_name()) + " is not callable"); }
Value Object::call_by_position(Interpreter& in, const Value* values, size_t count) {
  Arguments args;
  args.span = position_of(in).here;
  args.positional.assign(values, values + count);
  return call(in, std::move(args));
}
Value Object::index(Interpreter&, const Value&) {
  misuse_error(with_article(type_name()) + " cannot be indexed", Value(shared_from_this()));
}
void Object::set_index(Interpreter&, const Value&, Value) {
  type_error(with_article(type_name()) + " does not take assignments to its elements");
}
bool Object::contains(Interpreter& in, const Value& item) {
  std::optional<Iterator> it = iterate(in);
  if (!it) type_error("`in` needs a list, tuple, dict, str or range, not " + with_article(type_name()));
  while (std::optional<Value> v = (*it)()) {
    check_interrupt();
    if (identical(in, *v, item) || equal(in, *v, item)) return true;
  }
  return false;
}
bool Object::truth(Interpreter&) { return true; }
bool Object::equals(Interpreter&, const Value& other) { return other.is_object() && other.object().get() == this; }
std::optional<std::string> Object::hash_key() const { return std::nullopt; }
Value Object::enter(Interpreter&) { type_error("`with` needs a context, not " + with_article(type_name())); }

}  // namespace pxl
