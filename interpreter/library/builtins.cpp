// Python-like functions: printing, iteration, conversions. Arithmetic functions are in builtins_math.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/errors/errors.hpp"
#include "interpreter/language/operators.hpp"
#include "interpreter/language/tests.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/text/strings.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/text.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/processes/processes.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

Value print(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  const std::string sep = a.string("sep");
  std::string line;
  for (size_t i = 0; i < args.positional.size(); ++i) {
    if (i) line += sep;
    line += str_of(in, args.positional[i]);
  }
  line += a.string("end");
  host_of(in).write(line);
  return {};
}

Value range_of(const Value& first, const Value& second, const Value& third) {
  const auto bound = [](const Value& v, const char* what) { return v.is_int64() ? v.int64() : to_index(v, what); };
  const bool one = second.is_none();
  const int64_t start = one ? 0 : bound(first, "range: `start`");
  const int64_t stop = one ? bound(first, "range: `start`") : bound(second, "range: `stop`");
  const int64_t step = third.is_none() ? 1 : bound(third, "range: `step`");
  if (step == 0) throw Error("range: the step cannot be zero");
  return make_ref<RangeObject>(start, stop, step);
}
Value range(Interpreter&, const Arguments& args) {
  ArgReader a(args);
  for (const char* name : {"start", "stop", "step"})
    if (a.has(name)) a.integer(name);
  return range_of(a.value("start"), a.value_or("stop", Value()), a.value_or("step", Value()));
}

Value iterator(const char* name, Iterator it) { return make_ref<IteratorObject>(name, std::move(it)); }

Value enumerate_from(Interpreter& in, const Value& items, int64_t start) {
  return iterator("enumerate", row_iterator(2, [it = Cursor(in, items), i = start](Value* pair) mutable {
                    if (!it.next(pair[1])) return false;
                    pair[0] = i++;
                    return true;
                  }));
}
Value enumerate(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  return enumerate_from(in, a.value("items"), a.integer("start"));
}

Value zip_of(Interpreter& in, const Value* values, size_t count, bool strict) {
  std::vector<Cursor> its;
  its.reserve(count);
  for (size_t i = 0; i < count; ++i) its.emplace_back(in, values[i]);
  return iterator("zip", row_iterator(count, [its = std::move(its), strict](Value* items) mutable {
                    for (size_t i = 0; i < its.size(); ++i) {
                      if (its[i].next(items[i])) continue;
                      if (strict && i > 0) throw run_error("zip: the iterables have different lengths");
                      for (size_t k = 1; strict && k < its.size(); ++k)
                        if (its[k].next(items[k])) throw run_error("zip: the iterables have different lengths");
                      return false;
                    }
                    return !its.empty();
                  }));
}
Value zip(Interpreter& in, const Arguments& args) {
  return zip_of(in, args.positional.data(), args.positional.size(), ArgReader(args).boolean("strict"));
}

Value map(Interpreter& in, const Arguments& args) {
  if (args.positional.size() < 2 || !args.named.empty()) type_error("map: expected a function and the values");
  std::vector<Cursor> its;
  for (size_t i = 1; i < args.positional.size(); ++i) its.emplace_back(in, args.positional[i]);
  std::vector<Value> row(its.size());
  return iterator("map", [&in, its = std::move(its), row, f = args.positional[0]](Value& out) mutable {
    for (size_t i = 0; i < its.size(); ++i)
      if (!its[i].next(row[i])) return false;
    out = invoke(in, f, row.data(), row.size());
    return true;
  });
}

Value filter(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  return iterator("filter", [&in, it = Cursor(in, a.value("items")), f = a.value("function")](Value& out) mutable {
    for (Value v; it.next(v);) {
      check_interrupt();
      if (!truth_of(in, f.is_none() ? v : invoke(in, f, &v, 1))) continue;
      out = std::move(v);
      return true;
    }
    return false;
  });
}

/// An entry that `sorted` orders: a key, and the position of its item.
struct SortKey {
  Value key;
  size_t item;
  uint64_t prefix = 0;  ///< if two prefixes differ, they order as their keys do
};

/// The kinds of values with prefixes: ints, floats, strs, and tuples that begin with one of these.
enum class Prefix : uint8_t { none, integer, floating, text };

/// Computes the prefix of a key, and returns its kind.
Prefix prefix_of(const Value& key, uint64_t& prefix) {
  constexpr uint64_t sign = uint64_t{1} << 63;
  const auto* tuple = key.as<TupleObject>();
  if (tuple && tuple->items.empty()) return Prefix::none;
  const Value& v = tuple ? tuple->items[0] : key;
  if (v.is_int64()) {
    prefix = static_cast<uint64_t>(v.int64()) ^ sign;
    return Prefix::integer;
  }
  if (v.is_float() && !std::isnan(v.float64())) {
    const auto bits = std::bit_cast<uint64_t>(v.float64() + 0.0);  // -0.0 becomes 0.0
    prefix = bits & sign ? ~bits : bits | sign;
    return Prefix::floating;
  }
  const std::string* text = v.as_string();
  if (!text) return Prefix::none;
  for (size_t i = 0; i < sizeof prefix; ++i)
    prefix = prefix << 8 | (i < text->size() ? static_cast<unsigned char>((*text)[i]) : 0);
  return Prefix::text;
}

/// Sets the prefixes, or clears them if the keys differ in kind.
void set_prefixes(std::vector<SortKey>& keys) {
  if (keys.empty()) return;
  const bool tuples = keys[0].key.as<TupleObject>() != nullptr;
  const Prefix kind = prefix_of(keys[0].key, keys[0].prefix);
  const bool alike = kind != Prefix::none && std::all_of(keys.begin(), keys.end(), [&](SortKey& k) {
                       return (k.key.as<TupleObject>() != nullptr) == tuples && prefix_of(k.key, k.prefix) == kind;
                     });
  if (!alike)
    for (SortKey& k : keys) k.prefix = 0;
}

Value sorted_by(Interpreter& in, const Value& of, const Value& key, bool reverse) {
  constexpr int64_t compare_ns = 50;
  std::vector<Value> items = elements_of(in, of);
  std::vector<SortKey> keys;
  keys.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    keys.push_back({key.is_none() ? items[i] : invoke(in, key, &items[i], 1), i});
  set_prefixes(keys);
  // A hand-written merge sort: it stays within bounds whatever the comparison answers (NaNs have no order).
  auto less = [&](const SortKey& x, const SortKey& y) {
    charge(compare_ns);
    if (x.prefix != y.prefix) return x.prefix < y.prefix;
    if (const int order = quick_order(x.key, y.key); order != no_quick_order) return order < 0;
    const Value v = apply_comparison(in, ast::CompareOp::lt, x.key, y.key);
    return truth_of(in, v);
  };
  std::vector<SortKey> buffer(keys.size());
  for (size_t width = 1; width < keys.size(); width *= 2) {
    for (size_t from = 0; from < keys.size(); from += 2 * width) {
      size_t i = from, j = std::min(from + width, keys.size());
      const size_t mid = j, end = std::min(from + 2 * width, keys.size());
      for (size_t k = from; k < end; ++k) {
        // Stable in both directions: among equal items the left one stays first.
        const bool right = i >= mid || (j < end && (reverse ? less(keys[i], keys[j]) : less(keys[j], keys[i])));
        buffer[k] = std::move(right ? keys[j++] : keys[i++]);
      }
    }
    keys.swap(buffer);
  }
  std::vector<Value> out;
  out.reserve(keys.size());
  for (const SortKey& k : keys) out.push_back(std::move(items[k.item]));
  return make_list(std::move(out));
}

Value sorted(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  return sorted_by(in, a.value("items"), a.value_or("key", Value()), a.boolean("reverse"));
}

Value in_reverse(Interpreter& in, const Value& of) {
  std::vector<Value> items = elements_of(in, of);
  std::reverse(items.begin(), items.end());
  return make_list(std::move(items));
}

Value reversed(Interpreter& in, const Arguments& args) { return in_reverse(in, ArgReader(args).value("items")); }

Value to_list(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  return make_list(args.positional.empty() && args.named.empty() ? std::vector<Value>{}
                                                                 : elements_of(in, a.value("items")));
}
Value to_tuple(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  return make_tuple(args.positional.empty() && args.named.empty() ? std::vector<Value>{}
                                                                  : elements_of(in, a.value("items")));
}
Value to_dict(Interpreter& in, const Arguments& args) {
  auto dict = make_ref<DictObject>();
  const std::optional<Value> update = dict->member(in, "update");
  invoke(in, *update, args);
  return dict;
}

[[noreturn]] void refuse_tensor(const std::string& what) {
  throw Error(what, {"its value is a result of a run, `stream out y = t`, or of `eval(t)`"}).as(codes::no_value_yet);
}

Error no_int(const Value* text) {
  return run_error(fmt::format("int: `{}` is not a 64-bit integer", *text->as_string()));
}
Error no_float(const Value* text) { return run_error(fmt::format("float: `{}` is no number", *text->as_string())); }

Value to_int(Value v, const Value& base_given) {
  if (std::optional<Value> s = scalar_of(v)) v = *s;
  if (v.is_float()) {
    if (std::isnan(v.as_double()) || std::isinf(v.as_double()))
      throw run_error("int: " + number_text(v.as_double()) + " is no int");
    return int_from_double(std::trunc(v.as_double()));
  }
  if (v.is_bool()) return v.as_int();
  if (v.is_int()) return v;
  if (const std::string* s = v.as_string()) {
    const int64_t base = base_given.is_none() ? 10 : to_index(base_given, "int: `base`");
    if (base != 0 && (base < 2 || base > 36)) throw run_error("int: the base is 0 or from 2 to 36");
    if (std::optional<int64_t> parsed = parse_int(*s, static_cast<int>(base))) return *parsed;
    throw no_int(&v);
  }
  if (as_tensor(v))
    refuse_tensor("int: a tensor has no value before a session runs; `cast(t, int32)` converts it in the graph");
  type_error("int: expected a number or a str, got " + with_article(v.type_name()));
}

Value int_builtin(Interpreter&, const Arguments& args) {
  ArgReader a(args);
  return to_int(a.value_or("x", Value(0)), a.value_or("base", Value()));
}

Value to_float(Value v) {
  if (std::optional<Value> s = scalar_of(v)) v = *s;
  if (v.is_number()) return v.as_double();
  if (const std::string* s = v.as_string()) {
    if (std::optional<double> parsed = parse_float(*s)) return *parsed;
    throw no_float(&v);
  }
  if (const Array* x = v.as_array()) {
    throw run_error(fmt::format("float: an array of shape {} is no single number", bracket_text(x->shape())));
  }
  if (as_tensor(v))
    refuse_tensor("float: a tensor has no value before a session runs; `cast(t, float32)` converts it in the graph");
  type_error("float: expected a number or a str, got " + with_article(v.type_name()));
}

Value float_builtin(Interpreter&, const Arguments& args) { return to_float(ArgReader(args).value_or("x", Value(0.0))); }

Value character(const Value& code) {
  const int64_t c = to_index(code, "chr: `code`");
  if (c < 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
    throw run_error(fmt::format("chr: {} is no code point", c), {"those are from 0 to 0x10ffff, without surrogates"})
        .as(codes::value);
  std::string text;
  append_utf8(text, static_cast<char32_t>(c));
  return text_value(text);
}

Value code_point(const Value& v) {
  const std::string* text = v.as_string();
  if (!text) type_error("ord: `text`: expected a str, got " + with_article(v.type_name()));
  size_t end = 0;
  const char32_t c = text->empty() ? 0 : next_code_point(*text, end);
  if (text->empty() || end != text->size())
    throw run_error(fmt::format("ord: expected one character, got {}", counted(code_points(*text), "character")))
        .as(codes::value);
  return static_cast<int64_t>(c);
}

bool any_or_all(Interpreter& in, const Value& v, bool any) {
  if (const Array* x = v.as_array()) {
    for (int64_t i = 0; i < x->size(); ++i) {
      charge(5);
      if ((x->number(i) != 0) == any) return any;
    }
    return !any;
  }
  Iterator it = iterator_of(in, v);
  for (Value item; it.next(item);) {
    check_interrupt();
    // An array with several elements counts as true if all (or any) of them are true.
    const Array* x = item.as_array();
    const bool yes = x && x->size() != 1 ? any_or_all(in, item, any) : truth_of(in, item);
    if (yes == any) return any;
  }
  return !any;
}

/// `any` and `all`: of a tensor, and along axes, an op.
template <bool any>
Value truth_of_one(Interpreter& in, const Value* v, size_t) {
  return as_tensor(v[0]) ? op_by_name(in, any ? "any" : "all", {v[0]}) : Value(any_or_all(in, v[0], any));
}
template <bool any>
Value truth(Interpreter& in, Arguments args) {
  if (args.positional.size() + args.named.size() > 1) return call_op(in, get_op(any ? "any" : "all"), std::move(args));
  const Value items = ArgReader(args).value("items");
  return truth_of_one<any>(in, &items, 1);
}

Value is_instance(const Value& v, const Value& types) {
  if (is_unknown(v)) throw Unevaluated{};
  auto one = [&](const Value& t) {
    if (const std::string* s = t.as_string()) return v.type_name() == *s;
    if (auto* f = t.as<BuiltinObject>()) return v.type_name() == f->name;
    if (auto* r = t.as<RecordType>()) return v.as<RecordObject>() && v.as<RecordObject>()->type->code == r->code;
    if (const DType* d = t.as_dtype(); d && *d == DType::boolean && v.is_bool()) return true;
    if (const DType* d = t.as_dtype()) return v.as_array() && v.as_array()->dtype() == *d;
    if (auto* m = t.as<ModuleObject>()) return v.as<ModuleInstance>() && v.as<ModuleInstance>()->code == m->code;
    if (is_unknown(t)) throw Unevaluated{};
    if (t.is_none()) return v.is_none();
    throw Error("isinstance: `type`: expected a type, got " + with_article(t.type_name()),
                {"types are `int`, `list` and other functions that make values, records, modules, dtypes, and names in "
                 "quotes: \"tensor\""})
        .as(codes::type);
  };
  if (auto* list = types.as<SequenceObject>()) return std::any_of(list->items.begin(), list->items.end(), one);
  return one(types);
}

Value isinstance(Interpreter&, const Arguments& args) {
  ArgReader a(args);
  try {
    return is_instance(a.value("x"), a.value("type"));
  } catch (Error& e) {
    if (args.spans.size() > 1) e.locate(args.spans[1], nullptr);
    throw;
  }
}

Value environment(Interpreter&, const Arguments& args) {
  ArgReader a(args);
  const std::string name = a.string("name");
  require_effect(Effect::reads_environment);
  // getenv would stop at a NUL in the name and return the value of another variable.
  const char* value = name.find('\0') == name.npos ? std::getenv(name.c_str()) : nullptr;
  return value ? Value(std::string(value)) : a.value_or("default", Value());
}

Value time_now(Interpreter&, const Arguments& args) {
  const ArgReader none(args);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double seconds = std::chrono::duration<double>(now).count();
  if (!processes().several()) return seconds;
  return std::stod(processes().from_first(fmt::format("{}", seconds), "read the time"));
}

}  // namespace

void bind_core_builtins(Interpreter&, Scope& p) {
  bind_error_builtins(p);
  define(p, Effect::prints,
         {"print(*values, sep = \" \", end = \"\\n\")", "Writes values as text.", R"(print("loss", 0.25, sep = ": "))"},
         print);
  define(p, no_effects, {"len(x)", "Number of elements.", R"(len("word"), len([1, 2]), len(zeros([3, 4])))"},
         [](Interpreter& in, const Arguments& args) -> Value { return length_of(in, ArgReader(args).value("x")); });
  define(p, no_effects,
         {"range(start, stop = none, step = 1)", "Ints from start to stop, without stop.", "list(range(1, 8, 2))"},
         range);
  define(p, no_effects,
         {"enumerate(items, start = 0)", "Pairs of a counter and an element.",
          R"(list(enumerate(["a", "b"], start = 1)))"},
         enumerate);
  define(p, no_effects,
         {"zip(*iterables, strict = false)", "Tuples of elements side by side.", R"(list(zip([1, 2], ["a", "b"])))"},
         zip);
  define(p, no_effects,
         {"map(function, *iterables)", "The function of every element, computed on request.",
          "list(map(x => x * x, [1, 2, 3]))"},
         map);
  define(p, no_effects,
         {"filter(function, items)", "Elements for which the function gives true.",
          "list(filter(x => x % 2 == 1, range(6)))"},
         filter);
  define(p, no_effects,
         {"sorted(items, key = none, reverse = false)", "A sorted list; equal elements keep their order.",
          R"(sorted(["bb", "a", "ccc"], key = len, reverse = true))"},
         sorted);
  define(p, no_effects, {"reversed(items)", "A list in reverse order.", "list(reversed([1, 2, 3]))"}, reversed);
  define(p, no_effects, {"list(items = [])", "A list of the elements.", R"(list("abc"), list(range(3)))"}, to_list);
  define(p, no_effects, {"tuple(items = [])", "A tuple of the elements.", "tuple([1, 2])"}, to_tuple);
  define(p, no_effects,
         {"dict(pairs = [], **entries)", "A dict made from pairs or names.", R"(dict([("a", 1)], b = 2))"}, to_dict);
  define(
      p, no_effects,
      {"int(x = 0, base = 10)", "An int: floats are truncated, strings parsed.", R"(int(2.9), int("ff", base = 16))"},
      int_builtin);
  define(p, no_effects,
         {"float(x = 0.0)", "A float of a number, a string or an array of one element.",
          R"(float("2.5"), float(array([4])))"},
         float_builtin);
  define(p, no_effects, {"str(x = \"\")", "The text that print shows.", "str(1.5) + str([1])"},
         [](Interpreter& in, const Arguments& args) -> Value {
           return str_of(in, ArgReader(args).value_or("x", Value("")));
         });
  define(p, no_effects, {"repr(x)", "The text that shows a value inside containers.", R"(repr("a\nb"))"},
         [](Interpreter& in, const Arguments& args) -> Value { return repr_of(in, ArgReader(args).value("x")); });
  define(p, no_effects, {"chr(code)", "The character for a code point of Unicode.", "chr(97), chr(0x20ac)"},
         [](Interpreter&, const Arguments& args) { return character(ArgReader(args).value("code")); });
  define(p, no_effects, {"ord(text)", "The code point of a text's only character.", "ord('a'), ord('€')"},
         [](Interpreter&, const Arguments& args) { return code_point(ArgReader(args).value("text")); });
  define_direct(p, "chr", 1, 1, [](Interpreter&, const Value* v, size_t) { return character(v[0]); });
  define_direct(p, "ord", 1, 1, [](Interpreter&, const Value* v, size_t) { return code_point(v[0]); });
  p.bind("bool", make_ref<DTypeObject>(DType::boolean));
  define(p, no_effects, {"type(x)", "The name of a value's type.", R"(type(1), type("a"), type(ones([2])))"},
         [](Interpreter&, const Arguments& args) -> Value { return ArgReader(args).value("x").type_name(); });
  define(p, no_effects,
         {"isinstance(x, type)", "Whether a value has a type, or one of several.",
          R"(isinstance([1], list), isinstance(2, (str, float)))"},
         isinstance);
  define(p, no_effects,
         {"any(items, axis = none, keepdims = false)", "Whether some element is true, of a list or along axes.",
          "any([x > 2 for x in [1, 2, 3]]), any(array([[0, 1], [0, 0]]), axis = 0)"},
         truth<true>);
  define(p, no_effects,
         {"all(items, axis = none, keepdims = false)", "Whether all elements are true, of a list or along axes.",
          "all([1 < 2, 2 < 3]), all([]), all(array([[0, 1], [0, 0]]), axis = 0)"},
         truth<false>);
  define(p, Effect::time, {"time()", "Seconds since 1970.", R"(began = time()
time() >= began)"},
         time_now);
  define(p, Effect::reads_environment,
         {"env(name, default = none)", "The value of an environment variable, or the default where it is unset.",
          R"(env("PXL_NO_SUCH_VARIABLE", "unset"))"},
         environment);
  define(p, no_effects, {"exit(code = 0)", "Ends the script.", R"(print("the end")
exit(0))"},
         [](Interpreter&, const Arguments& args) -> Value {
           throw ExitRequest{static_cast<int>(ArgReader(args).integer("code") & 255)};
         });
  define(
      p, no_effects,
      {"expect_error(text)",
       "Context: its block must fail with an error that holds the text. What the block added to graphs is taken back.",
       R"(with expect_error("division by zero") { 1 // 0 }
print("went on"))"},
      [](Interpreter&, const Arguments& args) { return expect_error_context(ArgReader(args).string("text")); });
  define(p, no_effects,
         {"hasattr(x, name)", "Whether a value has a member of that name.", R"(hasattr("text", "split"))"},
         [](Interpreter& in, const Arguments& args) -> Value {
           ArgReader a(args);
           const Value v = a.value("x");
           return v.is_object() && v.object()->member(in, a.string("name")).has_value();
         });
  define(p, no_effects,
         {"getattr(x, name, default)", "A value's member of that name; without one, the default where it is given.",
          R"(getattr([1, 2], "nothing", "no such member"))"},
         [](Interpreter& in, const Arguments& args) -> Value {
           ArgReader a(args);
           const Value v = a.value("x");
           const std::string name = a.string("name");
           if (a.has("default") && !(v.is_object() && v.object()->member(in, name))) return a.value("default");
           return member_of(in, v, name, position_of(in).here);
         });
  define_direct(
      p, "len", 1, 1, [](Interpreter& in, const Value* v, size_t) -> Value { return length_of(in, v[0]); },
      [](const Value& v, Value& out) {
        if (auto* s = v.as<SequenceObject>())
          out = static_cast<int64_t>(s->items.size());
        else if (auto* t = v.as<StringObject>())
          out = t->characters();
        else if (auto* d = v.as<DictObject>())
          out = static_cast<int64_t>(d->items.size());
        else
          return false;
        return true;
      });
  define_direct(p, "str", 1, 1, [](Interpreter& in, const Value* v, size_t) -> Value {
    return v[0].as_string() ? v[0] : Value(str_of(in, v[0]));
  });
  const BuiltinObject::Direct as_int = [](Interpreter&, const Value* v, size_t) {
    const std::string* text = v->as_string();
    if (!text) return to_int(*v, Value());
    const std::optional<int64_t> parsed = parse_int(*text);
    return parsed ? Value(*parsed) : Value::unset();
  };
  const BuiltinObject::Direct as_float = [](Interpreter&, const Value* v, size_t) {
    const std::string* text = v->as_string();
    if (!text) return to_float(*v);
    const std::optional<double> parsed = parse_float(*text);
    return parsed ? Value(*parsed) : Value::unset();
  };
  define_direct(p, "int", 1, 1, as_int, nullptr, no_int);
  define_direct(p, "float", 1, 1, as_float, nullptr, no_float);
  define_direct(p, "range", 1, 3, [](Interpreter&, const Value* v, size_t count) {
    return range_of(v[0], count > 1 ? v[1] : Value(), count > 2 ? v[2] : Value());
  });
  define_direct(p, "enumerate", 1, 1,
                [](Interpreter& in, const Value* v, size_t) { return enumerate_from(in, v[0], 0); });
  define_direct(p, "zip", 0, 3,
                [](Interpreter& in, const Value* v, size_t count) { return zip_of(in, v, count, false); });
  define_direct(p, "sorted", 1, 1,
                [](Interpreter& in, const Value* v, size_t) { return sorted_by(in, v[0], Value(), false); });
  define_direct(p, "reversed", 1, 1, [](Interpreter& in, const Value* v, size_t) { return in_reverse(in, v[0]); });
  define_direct(p, "list", 1, 1,
                [](Interpreter& in, const Value* v, size_t) { return make_list(elements_of(in, v[0])); });
  define_direct(p, "tuple", 1, 1,
                [](Interpreter& in, const Value* v, size_t) { return make_tuple(elements_of(in, v[0])); });
  define_direct(p, "any", 1, 1, truth_of_one<true>);
  define_direct(p, "all", 1, 1, truth_of_one<false>);
  define_direct(p, "isinstance", 2, 2, [](Interpreter&, const Value* v, size_t) { return is_instance(v[0], v[1]); });
  for (const DTypeRow& row : dtype_table()) {
    if (row.dtype != DType::boolean) p.bind(std::string(row.name), Value(row.dtype));
  }
  bind_float8_builtins(p);
  bind_math_builtins(p);
  bind_counting_builtins(p);
}

}  // namespace pxl
