// Tables of members: each attribute or method has one row. Attribute access, completion, help and the reference page
// (docs/methods.md) read the same rows.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/effects.hpp"

namespace pxl {

/// The help for a member. An attribute, which is read without a call, has no parameters.
struct MemberInfo : Signature {
  std::string_view doc;      ///< help text, in sentences
  std::string_view example;  ///< lines of a program after the table's setup; the last one is an expression
  /// Whether the example reads or writes files; it is then shown without its result.
  bool uses_files = false;
};

/// The arguments' values in the order of a row's parameters, with none for absent ones. Throws as ArgReader does.
std::vector<Value> values_by_parameter(const MemberInfo& row, const Arguments& args);

/// A row in the table of a class T: an attribute (`get`) or a method (`call`).
template <class T>
struct Member {
  using Get = std::optional<Value> (*)(Interpreter&, T&);
  using Call = Value (*)(Interpreter&, T&, const Arguments&);
  /// The type of Method::direct.
  using Direct = Value (*)(Interpreter&, T&, const Value* values, size_t count);

  MemberInfo info;
  Get get = nullptr;
  Call call = nullptr;
  Effects effects = no_effects;
  Direct direct = nullptr;
  uint8_t direct_min = 0, direct_max = 0;

  constexpr Member(std::string_view name, std::string_view doc, std::string_view example, Get g)
      : info{{name, {}}, doc, example}, get(g) {}
  constexpr Member(std::string_view name, std::string_view parameters, std::string_view doc, std::string_view example,
                   Call c, Effects e = no_effects)
      : info{{name, parameters}, doc, example, e.has(Effect::reads_files) || e.has(Effect::writes_files)},
        call(c),
        effects(e) {}
  /// A method with one value per parameter. Parameters without a default are required.
  constexpr Member(std::string_view name, std::string_view parameters, std::string_view doc, std::string_view example,
                   Direct d)
      : info{{name, parameters}, doc, example}, direct(d) {
    each_parameter(parameters, [&](std::string_view, std::string_view fallback) {
      if (fallback.empty()) ++direct_min;
      ++direct_max;
    });
  }
  bool is_method() const { return call || direct; }
  /// Calls a method.
  Value invoke(Interpreter& in, T& self, const Arguments& args) const {
    args.callee = &info;
    if (call) return call(in, self, args);
    const std::vector<Value> values = values_by_parameter(info, args);
    return direct(in, self, values.data(), values.size());
  }
};

/// The row with a name, or null.
template <class T>
const Member<T>* find_member(std::span<const Member<T>> rows, std::string_view name) {
  for (const Member<T>& row : rows)
    if (row.info.name == name) return &row;
  return nullptr;
}

/// The method of a row, bound to an object, which it keeps alive. `row` has static storage duration.
template <class T>
Value bind_member(const Member<T>& row, T& self) {
  auto body = [&row, owner = static_ref_cast<T>(self.shared_from_this())](Interpreter& in, const Arguments& args) {
    return row.invoke(in, *owner, args);
  };
  return make_method(row.effects, row.info, std::move(body));
}

/// The member with a name: an attribute's value, or a method bound to the object. Returns nullopt if no row has the
/// name.
template <class T>
std::optional<Value> member_of_table(Interpreter& in, std::span<const Member<T>> rows, T& self, std::string_view name) {
  const Member<T>* row = find_member(rows, name);
  if (!row) return std::nullopt;
  if (row->get) return row->get(in, self);
  return bind_member(*row, self);
}

/// Implements Object::method_of_class.
template <class T>
Method method_of_table(std::span<const Member<T>> rows, std::string_view name) {
  const Member<T>* row = find_member(rows, name);
  if (!row || !row->is_method()) return {};
  Method m;
  m.row = row;
  m.call = [](const void* r, Interpreter& in, Object& self, const Arguments& args) {
    return static_cast<const Member<T>*>(r)->invoke(in, static_cast<T&>(self), args);
  };
  if (!row->direct) return m;
  m.direct = [](const void* r, Interpreter& in, Object& self, const Value* values, size_t count) {
    return static_cast<const Member<T>*>(r)->direct(in, static_cast<T&>(self), values, count);
  };
  m.direct_min = row->direct_min;
  m.direct_max = row->direct_max;
  return m;
}

/// Appends the names in a table, in order.
template <class T>
void append_names(std::vector<std::string>& names, std::span<const Member<T>> rows) {
  for (const Member<T>& row : rows) names.emplace_back(row.info.name);
}

/// All members that one kind of values has.
struct MemberTable {
  std::string_view kind;   ///< name in help: "str", "session"
  std::string_view doc;    ///< what the values are, and how a program gets them
  std::string_view setup;  ///< a program that runs before each example; may be empty
  std::vector<const MemberInfo*> rows;
};

template <class T>
MemberTable member_table(std::string_view kind, std::string_view doc, std::string_view setup,
                         std::span<const Member<T>> rows) {
  MemberTable table{kind, doc, setup, {}};
  for (const Member<T>& row : rows) table.rows.push_back(&row.info);
  return table;
}

/// The tables for all kinds of values, in the order of the reference page (library/member_tables.cpp).
const std::vector<MemberTable>& member_tables();

}  // namespace pxl
