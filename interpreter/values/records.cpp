#include "interpreter/values/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {

namespace {

bool same_field(Interpreter& in, const Value& a, const Value& b) {
  const Array *x = a.as_array(), *y = b.as_array();
  if (!x || !y) return identical(in, a, b) || equal(in, a, b);
  return x->spec() == y->spec() && std::memcmp(x->raw(), y->raw(), static_cast<size_t>(x->bytes())) == 0;
}

/// The same record with new values for some fields, if these need no check.
std::optional<Value> with_values(Interpreter& in, const RecordObject& r, const Arguments& args) {
  if (!r.type->plain || in.checking || !args.positional.empty()) return std::nullopt;
  std::vector<Value> values = r.values;
  std::vector<bool> given(values.size());
  for (const NamedArg& n : args.named) {
    size_t i = 0;
    while (i < values.size() && r.field(i) != n.name) ++i;
    if (i == values.size() || given[i]) return std::nullopt;
    values[i] = n.value;
    given[i] = true;
  }
  if (!r.type->admits(values.data(), values.size())) return std::nullopt;
  return make_ref<RecordObject>(r.type, std::move(values));
}

/// The record with new values for some fields, checked as in a new record.
Value with_fields(Interpreter& in, RecordObject& r, const Arguments& args) {
  if (std::optional<Value> made = with_values(in, r, args)) return *std::move(made);
  Arguments all = args;
  for (size_t i = 0; i < r.values.size(); ++i) {
    const auto is_it = [&](const NamedArg& n) { return n.name == r.field(i); };
    if (std::none_of(args.named.begin(), args.named.end(), is_it))
      all.named.push_back({r.field(i), r.values[i], {}});  // it is not written
  }
  if (!args.positional.empty())
    throw Error(r.type_name() + ".with takes fields by name", {fmt::format("`with({} = ...)`", r.field(0))})
        .as(codes::arguments);
  return r.type->make(in, r.type_name() + ".with", std::move(all));
}

constexpr Member<RecordObject> record_rows[] = {
    {"fields", "A dict of the fields by name, in order.", "Size(3).fields",
     [](Interpreter&, RecordObject& r) -> std::optional<Value> {
       auto dict = make_ref<DictObject>();
       for (size_t i = 0; i < r.values.size(); ++i) dict->put(Value(r.field(i)), r.values[i]);
       return Value(dict);
     }},
    {"with", "(name = value, ...)", "The record with other values for some fields.", "Size(3).with(depth = 2)",
     with_fields},
};
constexpr std::span<const Member<RecordObject>> record_table(record_rows);

}  // namespace

MemberTable record_members() {
  return member_table(
      "record",
      "An immutable value with named fields, equal by value: `record NAME(fields)` declares a type, whose "
      "calls make records. Its fields are members too.",
      "record Size(width: int, depth: int = 4)", record_table);
}

std::optional<Value> RecordType::member(Interpreter&, std::string_view name) {
  if (name == "name") return Value(code->name);
  if (name == "doc") return Value(code->doc);
  return std::nullopt;
}

// Frees a chain of records without recursion.
RecordObject::~RecordObject() {
  for (Value& v : values) v.bury();
}

std::string RecordObject::repr(Interpreter& in) {
  std::string out = type_name() + "(";
  for (size_t i = 0; i < values.size(); ++i)
    out += fmt::format("{}{} = {}", i ? ", " : "", field(i), repr_of(in, values[i]));
  return out + ")";
}

bool RecordObject::equals(Interpreter& in, const Value& other) {
  auto* o = other.as<RecordObject>();
  if (!o || o->type->code != type->code) return false;
  const DepthGuard guard(in);
  for (size_t i = 0; i < values.size(); ++i)
    if (!same_field(in, values[i], o->values[i])) return false;
  return true;
}

Method RecordObject::method_of_class(std::string_view name) const { return method_of_table(record_table, name); }

std::optional<Value> RecordObject::member(Interpreter& in, std::string_view name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (field(i) == name) return values[i];
  return member_of_table(in, record_table, *this, name);
}

std::vector<std::string> RecordObject::member_names() const {
  std::vector<std::string> names = own_names();
  append_names(names, record_table);
  return names;
}

std::vector<std::string> RecordObject::own_names() const {
  std::vector<std::string> names;
  for (const ast::Parameter& p : type->code->fields) names.push_back(p.name);
  return names;
}

Value RecordObject::index(Interpreter&, const Value& key) {
  const std::vector<std::string> names = own_names();
  const std::string* given = key.as_string();
  const bool known = given && std::find(names.begin(), names.end(), *given) != names.end();
  Error e(with_article(type_name()) + " cannot be indexed");
  if (!names.empty()) e.first().notes.push_back(fmt::format("a field is a member: `.{}`", known ? *given : names[0]));
  throw std::move(e).as(codes::type);
}

void RecordObject::set_member(Interpreter&, std::string_view name, Value) {
  throw Error(fmt::format("`{}` can't be assigned: a record does not change", name),
              {fmt::format("`with({} = ...)` makes another one", name)})
      .as(codes::assignment);
}

void RecordObject::references(References& to) const {
  to.add(type);
  for (const Value& v : values) to.add(v);
}

}  // namespace pxl
