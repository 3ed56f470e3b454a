// Operations on any value: text, truth, equality, elements, members.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

std::string str_of(Interpreter& in, const Value& v) {
  if (!v.is_object()) return repr_of(in, v);
  if (const std::string* s = v.as_string()) return *s;
  if (v.as<SequenceObject>() || v.as<DictObject>()) return repr_of(in, v);
  DepthGuard guard(in);
  return v.object()->str(in);
}

std::string repr_of(Interpreter& in, const Value& v) {
  if (v.is_none()) return "none";
  if (v.is_bool()) return v.as_bool() ? "true" : "false";
  if (v.is_natural()) return fmt::format("{}", v.as_natural());
  if (v.is_int()) return std::to_string(v.as_int());
  if (v.is_float()) return number_text(v.as_double());
  charge(150);
  // If a container contains itself, its inner occurrence is printed as `[...]`.
  struct Open {
    std::vector<const Object*> objects;
  };
  std::vector<const Object*>& open = of_thread<Open>().objects;
  const Object* self = v.object().get();
  const bool container = v.as<SequenceObject>() || v.as<DictObject>();
  if (container && std::find(open.begin(), open.end(), self) != open.end()) {
    return v.as<DictObject>() ? "{...}" : v.as<ListObject>() ? "[...]" : "(...)";
  }
  DepthGuard guard(in);
  struct Mark {
    std::vector<const Object*>* in;
    Mark(std::vector<const Object*>* objects, const Object* p) : in(objects) {
      if (in) in->push_back(p);
    }
    ~Mark() {
      if (in) in->pop_back();
    }
  } mark(container ? &open : nullptr, self);
  return v.object()->repr(in);
}

bool truth_of(Interpreter& in, const Value& v) {
  if (v.is_bool()) return v.as_bool();
  if (v.is_none()) return false;
  if (v.is_natural()) return true;
  if (v.is_int()) return v.as_int() != 0;
  if (v.is_float()) return v.as_double() != 0;
  return v.object()->truth(in);
}

bool identical(Interpreter& in, const Value& a, const Value& b) {
  if (in.checking && (is_unknown(a) || is_unknown(b))) throw Unevaluated{};
  if (a.is_object() != b.is_object()) return false;
  if (a.is_object()) {
    if (a.object() == b.object()) return true;
    if (a.object()->is_handle()) return a.object()->equals(in, b);
    return false;
  }
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_float() != b.is_float() || a.is_bool() != b.is_bool()) return false;
  return number_order(a, b) == 0;
}

bool equal(Interpreter& in, const Value& a, const Value& b) {
  if (a.is_int64() && b.is_int64()) return a.int64() == b.int64();
  if (auto* s = a.as<StringObject>())
    if (auto* t = b.as<StringObject>()) return s->value == t->value;
  if (in.checking && (is_unknown(a) || is_unknown(b))) throw Unevaluated{};
  charge(60);
  if (a.is_number() && b.is_number()) return number_order(a, b) == 0;
  // Arrays inside containers, and arrays in `in`, are compared as a whole, as numpy.array_equal does.
  if (a.as_array() || b.as_array()) {
    const Array *x = a.as_array(), *y = b.as_array();
    if (!(x || a.is_number()) || !(y || b.is_number())) return false;
    if ((x ? x->shape() : Shape()) != (y ? y->shape() : Shape())) return false;
    for (int64_t i = 0; i < (x ? x : y)->size(); ++i) {
      charge(20);
      if (number_order(x ? element_value(*x, i) : a, y ? element_value(*y, i) : b) != 0) return false;
    }
    return true;
  }
  if (!a.is_object() || !b.is_object()) return a.is_none() && b.is_none();
  return a.object()->equals(in, b);
}

namespace {

int quick_order(const SequenceObject& a, const SequenceObject& b) {
  const size_t count = std::min(a.items.size(), b.items.size());
  for (size_t i = 0; i < count; ++i) {
    const Value &x = a.items[i], &y = b.items[i];
    const int order = x.as<TupleObject>() ? no_quick_order : pxl::quick_order(x, y);
    if (order != 0) return order;
  }
  return a.items.size() < b.items.size() ? -1 : a.items.size() > b.items.size() ? 1 : 0;
}

}  // namespace

int quick_order(const Value& a, const Value& b) {
  if (a.is_int64() && b.is_int64()) return a.int64() < b.int64() ? -1 : a.int64() > b.int64() ? 1 : 0;
  if (auto* s = a.as<StringObject>(), *t = b.as<StringObject>(); s && t) {
    charge(static_cast<int64_t>(std::min(s->value.size(), t->value.size()) / 8));
    const int order = s->value.compare(t->value);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (auto* s = a.as<TupleObject>(), *t = b.as<TupleObject>(); s && t) return quick_order(*s, *t);
  if (!a.is_float() || !b.is_float()) return no_quick_order;
  const double x = a.float64(), y = b.float64();
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : no_quick_order;
}

Iterator iterator_of(Interpreter& in, const Value& v) {
  if (v.is_object()) {
    if (std::optional<Iterator> it = v.object()->iterate(in)) return *std::move(it);
  }
  misuse_error(with_article(v.type_name()) + " is not iterable", v);
}

Cursor::Cursor(Interpreter& in, Value iterable)
    : iterable_(std::move(iterable)),
      sequence_(iterable_.as<SequenceObject>()),
      text_(iterable_.as<StringObject>()),
      range_(iterable_.as<RangeObject>()),
      stream_(iterable_.as<IteratorObject>()) {
  if (range_)
    length_ = static_cast<size_t>(range_->length(in).value_or(0));
  else if (!sequence_ && !text_ && !stream_)
    iterator_ = iterator_of(in, iterable_);
}

std::vector<Value> elements_of(Interpreter& in, const Value& v) {
  if (auto* s = v.as<SequenceObject>()) {
    charge_steps(s->length(in).value_or(0), 10);
    return s->items;
  }
  if (v.is_object()) {
    std::optional<int64_t> n = v.as<RangeObject>() ? v.object()->length(in) : std::nullopt;
    if (n && *n > static_cast<int64_t>(max_elements))
      throw run_error(fmt::format("{} elements are too many for a list", *n));
  }
  Iterator it = iterator_of(in, v);
  std::vector<Value> out;
  for (Value item; it.next(item);) {
    if (out.size() > max_elements) throw run_error("the iteration has too many elements for a list");
    out.push_back(std::move(item));
  }
  return out;
}

int64_t length_of(Interpreter& in, const Value& v) {
  if (auto* s = v.as<SequenceObject>()) return static_cast<int64_t>(s->items.size());
  if (auto* s = v.as<StringObject>()) return s->characters();
  if (v.is_object()) {
    if (std::optional<int64_t> n = v.object()->length(in)) return *n;
  }
  misuse_error(with_article(v.type_name()) + " has no length", v);
}

namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t max_listed = 12;
  std::string text = "its names: ";
  for (size_t i = 0; i < names.size() && i < max_listed; ++i) text += (i ? ", `" : "`") + names[i] + "`";
  return names.size() > max_listed ? text + " and others" : text;
}

}  // namespace

Value member_of(Interpreter& in, const Value& v, const std::string& name, const Span& at) {
  std::vector<std::string> names;
  if (v.is_object()) {
    if (std::optional<Value> m = v.object()->member(in, name)) return *std::move(m);
    names = v.object()->member_names();
  }
  std::vector<std::string> notes;
  if (std::string hint = did_you_mean(name, names); !hint.empty())
    notes.push_back(hint);
  else if (const std::vector<std::string> own = v.is_object() ? v.object()->own_names() : std::vector<std::string>();
           !own.empty())
    notes.push_back(list_of(own));
  const auto* ns = v.as<NamespaceObject>();
  if (v.is_object())
    if (std::string note = v.object()->note_on_missing(name); !note.empty()) notes.push_back(std::move(note));
  Error e(fmt::format("{} has no member `{}`", ns ? "`" + ns->name + "`" : with_article(v.type_name()), name), notes);
  e.as(codes::unknown_member);
  e.locate(at, position_of(in).frames);
  throw e;
}

}  // namespace pxl
