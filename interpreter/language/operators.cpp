// Operators on any values: numbers compute here, tensors and arrays use the op table, and containers behave by their
// kind.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/language/operators.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/arguments.hpp"

namespace pxl {

namespace {

using ast::BinaryOp;
using ast::CompareOp;

bool is_data(const Value& v) { return v.as_array() || as_tensor(v); }

[[noreturn]] void refuse(std::string_view op, const Value& a, const Value& b, std::vector<std::string> notes = {}) {
  for (const Value* v : {&a, &b})
    for (std::string& note : notes_on_misuse(*v))
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  if (op == "+" && a.as<ListObject>() && !b.as<SequenceObject>())
    notes.emplace_back("lists are joined: `xs + [x]`; `xs.append(x)` adds an element");
  if (op == "*" && a.as_string() && b.is_float()) notes.emplace_back("a text is repeated by an int: `int(n)`");
  throw Error(
      fmt::format("`{}` does not work on {} and {}", op, with_article(a.type_name()), with_article(b.type_name())),
      std::move(notes))
      .as(codes::type);
}

enum class Elements : uint8_t { bools, ints, floats };

Elements elements(const Value& v) {
  const Tensor* t = as_tensor(v);
  if (!t && !v.as_array()) return v.is_bool() ? Elements::bools : v.is_float() ? Elements::floats : Elements::ints;
  const DType dtype = t ? t->spec.dtype : v.as_array()->dtype();
  return dtype == DType::boolean ? Elements::bools : is_integer(dtype) ? Elements::ints : Elements::floats;
}

const char* op_name(BinaryOp op, bool logic) {
  switch (op) {
    case BinaryOp::add: return "add";
    case BinaryOp::sub: return "sub";
    case BinaryOp::mul: return "mul";
    case BinaryOp::div: return "div";
    case BinaryOp::floor_div: return "floor_div";
    case BinaryOp::mod: return "mod";
    case BinaryOp::matmul: return "matmul";
    case BinaryOp::power: return "pow";
    case BinaryOp::bit_and: return logic ? "logical_and" : "bitwise_and";
    case BinaryOp::bit_or: return logic ? "logical_or" : "bitwise_or";
    case BinaryOp::bit_xor: return "bitwise_xor";
    case BinaryOp::shift_left: return "shift_left";
    case BinaryOp::shift_right: return "shift_right";
  }
  return nullptr;
}

Value cast_to(Interpreter& in, const Value& v, DType dtype) {
  if (v.is_number()) return v.is_bool() ? Value(v.as_int()) : v;
  return op_by_name(in, "cast", {v, Value(dtype)});
}

// A bool is treated as an int of the other operand's dtype.
Value bool_as_int(Interpreter& in, const Value& v, const Value& other) {
  if (elements(v) != Elements::bools) return v;
  const Tensor* t = as_tensor(other);
  const Array* x = other.as_array();
  const bool alike = (t || x) && elements(other) != Elements::bools;
  return cast_to(in, v, alike ? (t ? t->spec.dtype : x->dtype()) : DType::int32);
}

// Arrays and tensors have the same arithmetic. The kinds of elements determine the op, whether it computes at once or
// is added to a graph.
Value data_binary(Interpreter& in, BinaryOp op, const Value& a, const Value& b) {
  const Elements x = elements(a), y = elements(b);
  const bool bools = x == Elements::bools && y == Elements::bools;
  switch (op) {
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shift_left:
    case BinaryOp::shift_right:
      if (x == Elements::floats || y == Elements::floats)
        throw Error(fmt::format("`{}` works on bools and ints, not on floats", text(op)),
                    op == BinaryOp::bit_and || op == BinaryOp::bit_or
                        ? std::vector<std::string>{fmt::format("`{}` counts what is not 0 as true", op_name(op, true))}
                    : op == BinaryOp::bit_xor ? std::vector<std::string>{"a power is written `x ** 2`"}
                                              : std::vector<std::string>{})
            .as(codes::type);
      if (bools && op != BinaryOp::shift_left && op != BinaryOp::shift_right)
        return op_by_name(in, op_name(op, true), a, b);
      break;
    case BinaryOp::div: {
      if (x == Elements::floats && y == Elements::floats) break;
      // The quotient of ints is a float32. Ints beside a floating-point array or tensor are converted as for other
      // operators.
      auto as_float = [&](const Value& v, const Value& other) {
        if (elements(v) == Elements::floats) return v;
        const bool with_floats = !other.is_number() && elements(other) == Elements::floats;
        return with_floats ? bool_as_int(in, v, other) : cast_to(in, v, DType::float32);
      };
      return op_by_name(in, op_name(op, false), as_float(a, b), as_float(b, a));
    }
    case BinaryOp::matmul: return op_by_name(in, op_name(op, false), a, b);
    default: break;
  }
  if (x != Elements::bools && y != Elements::bools) return op_by_name(in, op_name(op, false), a, b);
  return op_by_name(in, op_name(op, false), bool_as_int(in, a, b), bool_as_int(in, b, a));
}

Value text_binary(Interpreter& in, BinaryOp op, const Value& a, const Value& b) {
  const std::string *x = a.as_string(), *y = b.as_string();
  if (op == BinaryOp::add && x && y) {
    if (x->size() + y->size() > max_text) throw run_error("the joined text is too long");
    return *x + *y;
  }
  if (op == BinaryOp::mul && ((x && !b.is_float() && b.is_number()) || (y && !a.is_float() && a.is_number()))) {
    const std::string& s = x ? *x : *y;
    const int64_t n = x ? b.as_int() : a.as_int();
    if (n > 0 && s.size() > max_text / static_cast<size_t>(n)) throw run_error("the repeated text is too long");
    if (n <= 0 || s.empty()) return std::string();
    std::string out;
    out.reserve(s.size() * static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      charge(static_cast<int64_t>(2 + s.size() / 4));
      out += s;
    }
    return out;
  }
  std::vector<std::string> notes;
  if (op == BinaryOp::add) notes.emplace_back("an f-string puts values into text: f\"loss {x}\"");
  if (op == BinaryOp::mod) notes.emplace_back("`%` does not format text; write an f-string: f\"{x:.2f}\"");
  (void)in;
  refuse(text(op), a, b, notes);
}

Value sequence_binary(BinaryOp op, const Value& a, const Value& b) {
  auto *x = a.as<SequenceObject>(), *y = b.as<SequenceObject>();
  if (op == BinaryOp::add && x && y && is_tuple(*x) == is_tuple(*y)) {
    if (x->items.size() + y->items.size() > max_elements) throw run_error("the joined list is too long");
    std::vector<Value> items;
    items.reserve(x->items.size() + y->items.size());
    items.insert(items.end(), x->items.begin(), x->items.end());
    items.insert(items.end(), y->items.begin(), y->items.end());
    return is_tuple(*x) ? make_tuple(std::move(items)) : make_list(std::move(items));
  }
  const bool times =
      op == BinaryOp::mul && ((x && b.is_number() && !b.is_float()) || (y && a.is_number() && !a.is_float()));
  if (times) {
    SequenceObject& s = x ? *x : *y;
    const int64_t n = x ? b.as_int() : a.as_int();
    if (n > 0 && s.items.size() > max_elements / static_cast<size_t>(n))
      throw run_error("the repeated list is too long");
    std::vector<Value> items;
    if (n > 0 && !s.items.empty()) {
      items.reserve(s.items.size() * static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) {
        charge_steps(static_cast<int64_t>(s.items.size()), 10);
        items.insert(items.end(), s.items.begin(), s.items.end());
      }
    }
    return is_tuple(s) ? make_tuple(std::move(items)) : make_list(std::move(items));
  }
  refuse(text(op), a, b);
}

Value dict_union(const DictObject& a, const DictObject& b) {
  auto out = make_ref<DictObject>();
  for (auto& [k, v] : a.items) out->put(k, v);
  for (auto& [k, v] : b.items) out->put(k, v);
  return out;
}

// A list of numbers becomes an array if the other operand is an array or a tensor.
Value operand(Interpreter& in, const Value& v) {
  if (v.as<SequenceObject>() && !mentions_tensor(v)) return to_array(in, v);
  return v;
}

bool ordered(CompareOp op, int order) {
  switch (op) {
    case CompareOp::lt: return order == -1;
    case CompareOp::le: return order == -1 || order == 0;
    case CompareOp::gt: return order == 1;
    case CompareOp::ge: return order == 1 || order == 0;
    case CompareOp::eq: return order == 0;
    default: return order != 0;
  }
}

// -1, 0, 1 or 2 (unordered) for values that have an order; lists and tuples element by element.
int order_of(Interpreter& in, CompareOp op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return number_order(a, b);
  if (auto* s = a.as<StringObject>(), *t = b.as<StringObject>(); s && t) {
    charge(static_cast<int64_t>(std::min(s->value.size(), t->value.size()) / 4));
    const int c = s->value.compare(t->value);
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  if (std::optional<Value> x = scalar_of(a), y = scalar_of(b); (x || a.is_number()) && (y || b.is_number()))
    return number_order(x ? *x : a, y ? *y : b);
  auto *x = a.as<SequenceObject>(), *y = b.as<SequenceObject>();
  if (x && y && is_tuple(*x) == is_tuple(*y)) {
    const DepthGuard guard(in);
    for (size_t i = 0; i < x->items.size() && i < y->items.size(); ++i) {
      const Value &v = x->items[i], &w = y->items[i];
      const bool quick = (v.is_int64() && w.is_int64()) || (v.as<StringObject>() && w.as<StringObject>());
      if (quick) {
        if (const int order = order_of(in, op, v, w); order != 0) return order;
      } else if (!equal(in, v, w)) {
        return order_of(in, op, v, w);
      }
    }
    return x->items.size() < y->items.size() ? -1 : x->items.size() > y->items.size() ? 1 : 0;
  }
  refuse(text(op), a, b);
}

Value data_compare(Interpreter& in, CompareOp op, const Value& a, const Value& b) {
  auto operand_like = [](const Value& v) { return is_data(v) || v.is_number() || v.as<SequenceObject>(); };
  if (!operand_like(a) || !operand_like(b)) {
    // `t == none` and `t == "x"` are not compared element by element.
    if (op == CompareOp::eq) return false;
    if (op == CompareOp::ne) return true;
    refuse(text(op), a, b);
  }
  const Value x = operand(in, a), y = operand(in, b);
  switch (op) {
    case CompareOp::eq: return op_by_name(in, "equal", x, y);
    case CompareOp::ne: return op_by_name(in, "not_equal", x, y);
    case CompareOp::lt: return op_by_name(in, "less", x, y);
    case CompareOp::le: return op_by_name(in, "less_equal", x, y);
    case CompareOp::gt: return op_by_name(in, "greater", x, y);
    default: return op_by_name(in, "greater_equal", x, y);
  }
}

bool contains(Interpreter& in, const Value& container, const Value& item) {
  if (!container.is_object())
    type_error("`in` needs a list, tuple, dict, str or range, not " + with_article(container.type_name()));
  if (as_tensor(container))
    type_error("`in` does not look into a tensor: its values exist only when a session runs", codes::no_value_yet);
  if (const Array* a = container.as_array()) {
    for (int64_t i = 0; i < a->size(); ++i) {
      charge(20);
      if (equal(in, element_value(*a, i), item)) return true;
    }
    return false;
  }
  return container.object()->contains(in, item);
}

}  // namespace

namespace {

// If the specs of arrays are known but their elements are not, the result's spec is known.
Value binary_of_specs(Interpreter& in, BinaryOp op, const Value& a, const Value& b) {
  auto stand_in = [](const Value& v) -> std::optional<Value> {
    if (const auto spec = unknown_spec(v)) return Value(Array::unevaluated(spec->dtype, spec->shape));
    if (is_unknown(v) || !(v.is_number() || v.as_array())) return std::nullopt;
    return v;
  };
  const std::optional<Value> x = stand_in(a), y = stand_in(b);
  if (!x || !y) return unknown_value();
  try {
    const Value made = apply_binary(in, op, *x, *y);
    if (const Array* array = made.as_array()) return unknown_array(array->spec());
  } catch (const Unevaluated&) {
  } catch (const Error& e) {
    if (depends_on_specs(e)) throw;
  }
  return unknown_value();
}

}  // namespace

Value apply_binary(Interpreter& in, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return number_binary(op, a, b);
  if (in.checking && (is_unknown(a) || is_unknown(b))) {
    if (as_tensor(a) || as_tensor(b) || graphs_of(in).in_program()) lacks_part(in);
    return binary_of_specs(in, op, a, b);
  }
  if (a.is_text() && b.is_text()) return text_binary(in, op, a, b);
  if (a.as<ListObject>() && b.as<ListObject>()) return sequence_binary(op, a, b);
  const bool data_a = is_data(a), data_b = is_data(b);
  if (data_a || data_b) {
    const Value other = data_a && data_b ? Value() : operand(in, data_a ? b : a);
    const Value &x = data_a ? a : other, &y = data_b ? b : other;
    const bool usable = (is_data(x) || x.is_number()) && (is_data(y) || y.is_number());
    if (!usable) {
      refuse(text(op), a, b,
             a.as_spec() || b.as_spec() ? std::vector<std::string>{"a spec has no data: give a tensor or an array"}
                                        : std::vector<std::string>{});
    }
    return data_binary(in, op, x, y);
  }
  if (a.as_string() || b.as_string()) return text_binary(in, op, a, b);
  if (a.as<SequenceObject>() || b.as<SequenceObject>()) return sequence_binary(op, a, b);
  if (op == BinaryOp::bit_or && a.as<DictObject>() && b.as<DictObject>())
    return dict_union(*a.as<DictObject>(), *b.as<DictObject>());
  refuse(text(op), a, b);
}

Value apply_comparison(Interpreter& in, CompareOp op, const Value& a, const Value& b) {
  if (in.checking && (is_unknown(a) || is_unknown(b))) {
    if (as_tensor(a) || as_tensor(b)) lacks_part(in);
    return unknown_value();
  }
  switch (op) {
    case CompareOp::is: return identical(in, a, b);
    case CompareOp::is_not: return !identical(in, a, b);
    case CompareOp::in: return contains(in, b, a);
    case CompareOp::not_in: return !contains(in, b, a);
    default: break;
  }
  if (a.is_number() && b.is_number()) return ordered(op, number_order(a, b));
  if (a.as<TupleObject>() && b.as<TupleObject>() && op != CompareOp::eq && op != CompareOp::ne)
    return ordered(op, order_of(in, op, a, b));
  if (is_data(a) || is_data(b)) return data_compare(in, op, a, b);
  if (op == CompareOp::eq) return equal(in, a, b);
  if (op == CompareOp::ne) return !equal(in, a, b);
  return ordered(op, order_of(in, op, a, b));
}

Value apply_unary(Interpreter& in, ast::UnaryOp op, const Value& a) {
  using ast::UnaryOp;
  if (op == UnaryOp::logical_not) return !truth_of(in, a);
  if (a.is_number()) {
    switch (op) {
      case UnaryOp::minus: return a.is_float() ? Value(-a.as_double()) : number_binary(BinaryOp::sub, Value(0), a);
      case UnaryOp::plus: return a.is_bool() ? Value(a.as_int()) : a;
      default:
        if (a.is_float()) type_error("`~` works on ints and bools, not on floats");
        return ~a.as_int();
    }
  }
  if (is_data(a)) {
    if (op == UnaryOp::plus) return as_tensor(a) ? op_by_name(in, "identity", {a}) : a;
    if (op == UnaryOp::minus) {
      if (elements(a) == Elements::bools) {
        type_error(fmt::format("`-` does not work on {} of bools; `~` negates them", with_article(a.type_name())));
      }
      return op_by_name(in, "negate", {a});
    }
    if (elements(a) == Elements::floats) type_error("`~` works on ints and bools, not on floats");
    return op_by_name(in, elements(a) == Elements::bools ? "logical_not" : "bitwise_not", {a});
  }
  const char* symbol = op == UnaryOp::minus ? "-" : op == UnaryOp::plus ? "+" : "~";
  misuse_error(fmt::format("`{}` does not work on {}", symbol, with_article(a.type_name())), a);
}

}  // namespace pxl
