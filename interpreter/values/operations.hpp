// Operations that every kind of value supports.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

/// The text that `print` shows, and the text inside containers.
std::string str_of(Interpreter& in, const Value& v);
std::string repr_of(Interpreter& in, const Value& v);
/// f"{v:spec}": Python's format mini-language.
std::string format_value(Interpreter& in, const Value& v, std::string_view spec);

bool truth_of(Interpreter& in, const Value& v);
bool equal(Interpreter& in, const Value& a, const Value& b);
/// -1, 0 or 1 for two ints, floats, strs, or tuples of these; `no_quick_order` for other values, which may have an
/// order too.
int quick_order(const Value& a, const Value& b);
inline constexpr int no_quick_order = 2;
/// `a is b`.
bool identical(Interpreter& in, const Value& a, const Value& b);

Iterator iterator_of(Interpreter& in, const Value& v);
/// All elements of a value. Throws if there are more than fit into a list.
std::vector<Value> elements_of(Interpreter& in, const Value& v);
int64_t length_of(Interpreter& in, const Value& v);
/// A member, or an Error with the nearest name.
Value member_of(Interpreter& in, const Value& v, const std::string& name, const Span& at);

inline bool can_be_called(const Value& v) { return v.is_object() && v.object()->callable(); }
/// Calls anything callable. Errors that leave it get `args.span` if they have no location yet.
Value invoke(Interpreter& in, const Value& callee, Arguments args);
Value invoke(Interpreter& in, const Value& callee, std::initializer_list<Value> positional);
Value invoke(Interpreter& in, const Value& callee, const Value* values, size_t count);
inline Value invoke(Interpreter& in, const Value& callee) { return invoke(in, callee, nullptr, 0); }

}  // namespace pxl
