// Arithmetic on host numbers and lists under names that ops have too. Calls with tensors and arrays are forwarded to
// the op.
#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <numbers>

#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/operators.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

bool is_data(const Value& v) { return v.as_array() || as_tensor(v); }

// The first argument, by position or name.
const Value* first(const Arguments& args) {
  if (!args.positional.empty()) return &args.positional[0];
  return args.named.empty() ? nullptr : &args.named[0].value;
}

Value to_op(Interpreter& in, const char* op, Arguments args) { return call_op(in, get_op(op), std::move(args)); }

Value total_of(Interpreter& in, Arguments args) {
  const Value* v = first(args);
  if (v && is_data(*v)) return to_op(in, "sum", std::move(args));
  ArgReader a("sum", args, {"items", "start", "axis", "keepdims"});
  if (a.has("axis") || a.has("keepdims")) {
    Arguments rest;
    rest.span = args.span;
    rest.positional = {Value(to_array(in, a.value("items"))), a.value_or("axis", Value())};
    if (a.has("keepdims")) rest.named.push_back({"keepdims", a.value("keepdims"), {}});
    return to_op(in, "sum", std::move(rest));
  }
  Value total = a.value_or("start", Value());
  Iterator it = iterator_of(in, a.value("items"));
  int64_t terms = total.is_none() ? 0 : 1;
  for (Value item; it.next(item);) {
    check_interrupt();
    ++terms;
    // Without `start`, the sum begins with the first element, so that sums of tensors add no constant to the graph.
    total = total.is_none() ? (item.is_bool() ? Value(item.as_int()) : item)
                            : apply_binary(in, ast::BinaryOp::add, total, item);
  }
  if (terms == 1 && as_tensor(total)) return op_by_name(in, "identity", {total});  // a new tensor, as other sums are
  return total.is_none() ? Value(0) : total;
}

// The sum of a list that has only ints or only floats. Adds the terms in order, as apply_binary does.
std::optional<Value> quick_total(const Value& v) {
  auto* s = v.as<SequenceObject>();
  if (!s || s->items.empty()) return std::nullopt;
  charge_steps(static_cast<int64_t>(s->items.size()), 10);
  if (s->items[0].is_int64()) {
    int64_t total = 0;
    for (const Value& item : s->items)
      if (!item.is_int64() || __builtin_add_overflow(total, item.int64(), &total)) return std::nullopt;
    return total;
  }
  if (!s->items[0].is_float()) return std::nullopt;
  double total = s->items[0].float64();
  for (size_t i = 1; i < s->items.size(); ++i) {
    if (!s->items[i].is_float()) return std::nullopt;
    total += s->items[i].float64();
  }
  return total;
}

// Whether the arguments after the first are an axis or a list of axes, optionally with keepdims.
bool are_axes(const std::vector<Value>& args) {
  if (args.size() < 2 || args.size() > 3 || (args.size() == 3 && !args[2].is_bool())) return false;
  if (auto* list = args[1].as<SequenceObject>())
    return std::all_of(list->items.begin(), list->items.end(), [](const Value& v) { return v.is_int(); });
  return args[1].is_int() || (args.size() == 3 && args[1].is_none());
}

Value extreme(Interpreter& in, Arguments args, bool largest) {
  const char* name = largest ? "max" : "min";
  Arguments options;
  bool op_options = false;
  for (const NamedArg& n : args.named) {
    if (n.name == "key" || n.name == "default")
      options.named.push_back(n);
    else
      op_options = true;
  }
  if (args.positional.empty() || op_options || (args.positional.size() == 1 && is_data(args.positional[0]))) {
    return to_op(in, name, std::move(args));
  }
  const bool has_axes =
      !args.positional.empty() &&
      (as_tensor(args.positional[0]) || (args.positional[0].as_array() && args.positional[0].as_array()->rank() > 0));
  if (has_axes && options.named.empty() && are_axes(args.positional)) {
    return to_op(in, name, std::move(args));  // max(t, 0) is by axis, as in PopXL and NumPy
  }
  bool tensors = false;
  for (const Value& v : args.positional)
    tensors = tensors || mentions_tensor(v) || (v.as_array() && v.as_array()->size() != 1);
  const bool one = args.positional.size() == 1;
  if (tensors && !one) {
    Arguments operands;
    operands.span = args.span;
    operands.positional = args.positional;
    return to_op(in, largest ? "maximum" : "minimum", std::move(operands));
  }
  ArgReader a(name, options, {"key", "default"});
  const std::vector<Value> items = one ? elements_of(in, args.positional[0]) : args.positional;
  if (items.empty()) {
    if (!options.named.empty()) return a.value("default");
    throw run_error(std::string(name) + " of nothing");
  }
  auto key = [&](const Value& v) { return a.has("key") ? invoke(in, a.value("key"), {v}) : v; };
  Value best = items[0], best_key = key(best);
  for (size_t i = 1; i < items.size(); ++i) {
    check_interrupt();
    const Value k = key(items[i]);
    if (!truth_of(in, apply_comparison(in, largest ? ast::CompareOp::gt : ast::CompareOp::lt, k, best_key))) continue;
    best = items[i];
    best_key = k;
  }
  return best;
}

/// The largest or smallest number among positional arguments, or in one list; nullopt for other values.
std::optional<Value> quick_extreme(const Value* v, size_t count, bool largest) {
  if (auto* list = count == 1 ? v[0].as<SequenceObject>() : nullptr) {
    v = list->items.data();
    count = list->items.size();
    charge_steps(static_cast<int64_t>(count), 10);
  } else if (count == 1) {
    return std::nullopt;
  }
  const auto is_plain = [](const Value& x) { return x.is_int64() || x.is_float(); };
  if (count == 0 || !std::all_of(v, v + count, is_plain)) return std::nullopt;
  const Value* best = v;
  for (size_t i = 1; i < count; ++i) {
    const int order = number_order(v[i], *best);
    if (largest ? order == 1 : order == -1) best = v + i;
  }
  return *best;
}
template <bool largest>
Value extreme_of(Interpreter& in, const Value* v, size_t count) {
  if (std::optional<Value> found = quick_extreme(v, count, largest)) return *std::move(found);
  Arguments args;
  args.span = position_of(in).here;
  args.positional.assign(v, v + count);
  return extreme(in, std::move(args), largest);
}

Value absolute(Interpreter& in, Arguments args) {
  const Value* v = first(args);
  if (!v || !v->is_number()) return to_op(in, "abs", std::move(args));
  const Value x = ArgReader("abs", args, {"x"}).value("x");
  if (x.is_float()) return std::fabs(x.as_double());
  if (x.is_natural()) return x;
  return x.as_int() < 0 ? apply_unary(in, ast::UnaryOp::minus, x) : Value(x.as_int());
}

// Rounds half to even, on the decimal that the float represents, as Python does.
double rounded(double d, int64_t digits) {
  if (!std::isfinite(d)) return d;
  if (digits == 0) return std::nearbyint(d);
  if (digits > 0) return digits > 320 ? d : *parse_float(fmt::format("{:.{}f}", d, digits));
  if (digits < -308) return 0.0;
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(d / scale) * scale;
}

Value round_number(Interpreter& in, Arguments args) {
  const Value* v = first(args);
  const bool scalar = v && (v->is_number() || (v->as_array() && v->as_array()->rank() == 0 &&
                                               args.positional.size() + args.named.size() > 1));
  if (!scalar) return to_op(in, "round", std::move(args));
  ArgReader a("round", args, {"x", "digits"});
  const Value given = a.value("x");
  const Value x = given.is_number() ? given : *scalar_of(given);
  if (!x.is_float()) {
    const int64_t digits = a.integer_or("digits", 0);
    if (digits < 0) return int_from_double(rounded(x.as_double(), digits));
    return x.is_bool() ? Value(x.as_int()) : x;
  }
  if (!a.has("digits")) {
    if (!std::isfinite(x.as_double())) throw run_error("round: " + number_text(x.as_double()) + " is no int");
    return int_from_double(std::nearbyint(x.as_double()));
  }
  return rounded(x.as_double(), a.integer("digits"));
}

Value power(Interpreter& in, Arguments args) {
  const bool plain = args.positional.size() == 2 && args.positional[0].is_number() && args.positional[1].is_number();
  if (!plain) return to_op(in, "pow", std::move(args));
  return apply_binary(in, ast::BinaryOp::power, args.positional[0], args.positional[1]);
}

// |a - b| <= atol + rtol |b| everywhere; NaNs are close only with equal_nan.
Value allclose(Interpreter& in, const Arguments& args) {
  ArgReader r(args);
  if (mentions_tensor(r.value("a")) || mentions_tensor(r.value("b"))) {
    throw Error("allclose: compares values, and a tensor has none before a session runs",
                {"`eval(t)` gives a tensor's value"})
        .as(codes::no_value_yet);
  }
  const Array a = to_array(in, r.value("a"), DType::float64, "allclose"),
              b = to_array(in, r.value("b"), DType::float64, "allclose");
  const double rtol = r.number("rtol"), atol = r.number("atol");
  const bool equal_nan = r.boolean("equal_nan");
  const Shape shape = broadcast(a.shape(), b.shape());
  if (a.shape() != shape || b.shape() != shape) {
    if (a.size() != 1 && b.size() != 1) {
      throw run_error(
          fmt::format("allclose: the shapes differ: {} and {}", bracket_text(a.shape()), bracket_text(b.shape())))
          .as(codes::shape);
    }
  }
  const int64_t n = std::max(a.size(), b.size());
  if (a.size() == 0 || b.size() == 0) return true;
  for (int64_t i = 0; i < n; ++i) {
    charge(10);
    const double x = a.number(a.size() == 1 ? 0 : i), y = b.number(b.size() == 1 ? 0 : i);
    if (x == y || (equal_nan && std::isnan(x) && std::isnan(y))) continue;
    // Infinities are close to themselves only.
    if (!(std::isfinite(x) && std::isfinite(y)) || !(std::fabs(x - y) <= atol + rtol * std::fabs(y))) return false;
  }
  return true;
}

Value divmod(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  return make_tuple({apply_binary(in, ast::BinaryOp::floor_div, a.value("a"), a.value("b")),
                     apply_binary(in, ast::BinaryOp::mod, a.value("a"), a.value("b"))});
}

}  // namespace

void bind_math_builtins(Scope& p) {
  define(p, no_effects,
         {"sum(items, axis = none, keepdims = false)", "The sum of a list, an array or a tensor.",
          "sum([1, 2, 3]), sum(array([[1, 2], [3, 4]]), axis = 1)"},
         total_of);
  define_direct(p, "sum", 1, 1, [](Interpreter& in, const Value* v, size_t) -> Value {
    if (const std::optional<Value> total = quick_total(v[0])) return *total;
    Arguments args;
    args.span = position_of(in).here;
    args.positional = {v[0]};
    return total_of(in, std::move(args));
  });
  define(p, no_effects,
         {"max(items, axis = none, keepdims = false)", "The largest of a list, of several numbers, or along axes.",
          "max(3, 5), max([[1, 9], [4, 2]], axis = 0)"},
         [](Interpreter& in, Arguments args) { return extreme(in, std::move(args), true); });
  define(p, no_effects,
         {"min(items, axis = none, keepdims = false)", "The smallest of a list, of several numbers, or along axes.",
          "min([3, 1, 2])"},
         [](Interpreter& in, Arguments args) { return extreme(in, std::move(args), false); });
  define_direct(p, "max", 1, 3, extreme_of<true>);
  define_direct(p, "min", 1, 3, extreme_of<false>);
  define(p, no_effects, {"abs(x)", "Magnitude.", "abs(-3), abs(array([-1.5, 2.0]))"}, absolute);
  define_direct(p, "abs", 1, 1, [](Interpreter& in, const Value* v, size_t) -> Value {
    if (v[0].is_int64() && v[0].int64() != INT64_MIN) return std::abs(v[0].int64());
    if (v[0].is_float()) return std::fabs(v[0].float64());
    Arguments args;
    args.span = position_of(in).here;
    args.positional = {v[0]};
    return absolute(in, std::move(args));
  });
  define(p, no_effects,
         {"round(x, digits = none)", "Rounded, halves to even; without digits a number becomes an int.",
          "round(2.5), round(3.14159, 2)"},
         round_number);
  define(p, no_effects, {"pow(base, exponent)", "base ** exponent.", "pow(2, 10)"}, power);
  define(p, no_effects, {"divmod(a, b)", "(a // b, a % b)", "divmod(17, 5)"}, divmod);
  define(p, no_effects,
         {"allclose(a, b, rtol = 1e-5, atol = 1e-8, equal_nan = false)",
          "Whether |a - b| <= atol + rtol |b| for all elements.", "allclose([1.0, 2.0], [1.0, 2.000001])"},
         allclose);
  p.bind("pi", std::numbers::pi);
  p.bind("inf", std::numeric_limits<double>::infinity());
  p.bind("nan", std::numeric_limits<double>::quiet_NaN());
}

}  // namespace pxl
