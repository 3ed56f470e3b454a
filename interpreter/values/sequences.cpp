// Lists, tuples and ranges.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {

Value make_list(std::vector<Value> items) { return make_ref<ListObject>(std::move(items)); }
Value make_tuple(std::vector<Value> items) { return make_ref<TupleObject>(std::move(items)); }
Value make_pair(Value first, Value second) {
  std::vector<Value> items;
  items.reserve(2);
  items.push_back(std::move(first));
  items.push_back(std::move(second));
  return make_tuple(std::move(items));
}

SequenceObject::~SequenceObject() {
  for (Value& v : items) v.bury();
}

std::optional<Iterator> SequenceObject::iterate(Interpreter&) {
  auto self = static_ref_cast<SequenceObject>(shared_from_this());
  return Iterator([self, i = size_t{0}](Value& out) mutable {
    if (i >= self->items.size()) return false;
    out = self->items[i++];
    return true;
  });
}

bool SequenceObject::contains(Interpreter& in, const Value& item) {
  for (size_t i = 0; i < items.size(); ++i) {
    const Value v = items[i];  // a copy, since comparing may run code that changes the list
    if (identical(in, v, item) || equal(in, v, item)) return true;
  }
  return false;
}

bool SequenceObject::equals(Interpreter& in, const Value& other) {
  auto* o = other.as<SequenceObject>();
  if (!o || &typeid(*o) != &typeid(*this) || o->items.size() != items.size()) return false;
  DepthGuard guard(in);
  for (size_t i = 0; i < items.size() && i < o->items.size(); ++i) {
    if (!identical(in, items[i], o->items[i]) && !equal(in, items[i], o->items[i])) return false;
  }
  return true;
}

namespace {
std::string joined(Interpreter& in, const std::vector<Value>& items) {
  std::string s;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) s += ", ";
    s += repr_of(in, items[i]);
    check_text_size(s);
  }
  return s;
}
}  // namespace

std::string ListObject::repr(Interpreter& in) { return "[" + joined(in, items) + "]"; }
std::string TupleObject::repr(Interpreter& in) { return "(" + joined(in, items) + (items.size() == 1 ? ",)" : ")"); }

std::function<void()> ListObject::state() {
  return [this, old = items] { items = old; };
}

namespace {

Value list_pop(ListObject& list, const Value& index) {
  if (list.items.empty()) throw run_error("pop from an empty list").as(codes::index);
  list.changing();
  const auto size = static_cast<int64_t>(list.items.size());
  const int64_t i = index.is_none() ? size - 1 : wrap_index(to_index(index, "pop: `index`"), size, "a list");
  Value v = std::move(list.items[static_cast<size_t>(i)]);
  charge_steps(size - i, 1);
  list.items.erase(list.items.begin() + i);
  return v;
}

size_t find_in(Interpreter& in, const ListObject& list, const Value& item) {
  for (size_t i = 0; i < list.items.size(); ++i) {
    const Value v = list.items[i];
    if (identical(in, v, item) || equal(in, v, item)) return i;
  }
  throw run_error(repr_of(in, item) + " is not in the list").as(codes::value);
}

using In = Interpreter&;
using List = ListObject&;
using A = const Arguments&;
using V = const Value*;
constexpr Member<ListObject> list_rows[] = {
    {"append", "(item)", "Adds an element at the end.", "l.append(4)\nl",
     [](In, List list, V v, size_t) -> Value {
       list.changing();
       if (list.items.empty()) list.items.reserve(4);  // a short list grows once
       list.items.push_back(v[0]);
       return {};
     }},
    {"extend", "(items)", "Adds the elements of an iterable at the end.", "l.extend(range(2))\nl",
     [](In in, List list, V v, size_t) -> Value {
       std::vector<Value> items = elements_of(in, v[0]);
       if (list.items.size() + items.size() > max_elements) throw run_error("extend: the list would be too long");
       list.changing();
       for (Value& item : items) list.items.push_back(std::move(item));
       return {};
     }},
    {"insert", "(index, item)", "Adds an element before the one at a position.", "l.insert(1, 9)\nl",
     [](In, List list, V v, size_t) -> Value {
       const auto size = static_cast<int64_t>(list.items.size());
       int64_t i = to_index(v[0], "insert: `index`");
       if (i < 0) i = std::max<int64_t>(0, i < -size ? 0 : i + size);
       list.changing();
       charge_steps(size, 1);
       list.items.insert(list.items.begin() + std::min(i, size), v[1]);
       return {};
     }},
    {"pop", "(index = -1)", "Removes the element at a position and returns it.", "l.pop(), l",
     [](In, List list, V v, size_t) { return list_pop(list, v[0]); }},
    {"remove", "(item)", "Removes the first element that equals a value; an error if there is none.", "l.remove(1)\nl",
     [](In in, List list, V v, size_t) -> Value {
       const size_t i = find_in(in, list, v[0]);
       list.changing();
       list.items.erase(list.items.begin() + static_cast<std::ptrdiff_t>(i));
       return {};
     }},
    {"index", "(item)", "The position of the first element that equals a value; an error if there is none.",
     "l.index(2)",
     [](In in, List list, V v, size_t) -> Value { return static_cast<int64_t>(find_in(in, list, v[0])); }},
    {"count", "(item)", "The number of elements that equal a value.", "l.count(1)",
     [](In in, List list, V v, size_t) -> Value {
       int64_t count = 0;
       for (size_t i = 0; i < list.items.size(); ++i) {
         const Value item = list.items[i];
         if (identical(in, item, v[0]) || equal(in, item, v[0])) ++count;
       }
       return count;
     }},
    {"reverse", "()", "Reverses the order of the elements.", "l.reverse()\nl",
     [](In, List list, V, size_t) -> Value {
       list.changing();
       charge_steps(static_cast<int64_t>(list.items.size()), 2);
       std::reverse(list.items.begin(), list.items.end());
       return {};
     }},
    {"sort", "(key = none, reverse = false)",
     "Sorts the elements, by the result of a function if there is a key. Equal elements keep their order.",
     "l.sort(reverse = true)\nl",
     [](In in, List list, A args) -> Value {
       Arguments more = args;
       more.positional.insert(more.positional.begin(), make_list(list.items));
       const Value sorted = builtin_named(in, "sorted");
       std::vector<Value> ordered = elements_of(in, invoke(in, sorted, std::move(more)));
       list.changing();
       list.items = std::move(ordered);
       return {};
     }},
    {"copy", "()", "A new list of the same elements.", "l.copy() is l",
     [](In, List list, V, size_t) { return make_list(list.items); }},
    {"clear", "()", "Removes all elements.", "l.clear()\nl",
     [](In, List list, V, size_t) -> Value {
       std::vector<Value> old;
       list.changing();
       old.swap(list.items);
       return {};
     }},
};
constexpr std::span<const Member<ListObject>> list_table(list_rows);

}  // namespace

MemberTable list_members() {
  return member_table("list", "Values in order; lists can be changed. Tuples, `(1, 2)`, cannot, and have no methods.",
                      "l = [3, 1, 2]", list_table);
}

Method ListObject::method_of_class(std::string_view name) const { return method_of_table(list_table, name); }
std::optional<Value> ListObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, list_table, *this, name);
}
std::vector<std::string> ListObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, list_table);
  return names;
}

// ---- ranges

namespace {
int64_t range_length(const RangeObject& r) {
  if (r.step > 0 ? r.start >= r.stop : r.start <= r.stop) return 0;
  const auto distance =
      static_cast<uint64_t>(r.step > 0 ? r.stop : r.start) - static_cast<uint64_t>(r.step > 0 ? r.start : r.stop);
  const uint64_t step = r.step > 0 ? static_cast<uint64_t>(r.step) : ~static_cast<uint64_t>(r.step) + 1;
  const uint64_t n = step == 1 ? distance : (distance - 1) / step + 1;
  if (n > static_cast<uint64_t>(INT64_MAX)) throw run_error("the range has more elements than a 64-bit int can count");
  return static_cast<int64_t>(n);
}
}  // namespace

std::string RangeObject::repr(Interpreter&) {
  return step == 1 ? fmt::format("range({}, {})", start, stop) : fmt::format("range({}, {}, {})", start, stop, step);
}
std::optional<int64_t> RangeObject::length(Interpreter&) { return range_length(*this); }
bool RangeObject::truth(Interpreter&) { return range_length(*this) > 0; }
Value RangeObject::index(Interpreter&, const Value& key) {
  const int64_t n = range_length(*this);
  if (auto* s = key.as<SliceObject>()) {
    const SliceRange r = resolve_slice(*s, n);
    std::vector<Value> out;
    if (r.count > static_cast<int64_t>(max_elements))
      throw run_error("the slice of the range has too many elements for a list");
    charge_steps(r.count, 10);
    for (int64_t i = 0; i < r.count; ++i) out.push_back(at(r.start + i * r.step));
    return make_list(std::move(out));
  }
  return at(wrap_index(element_index(key, "index of a range"), n, "a range"));
}
std::optional<Iterator> RangeObject::iterate(Interpreter&) {
  auto self = static_ref_cast<RangeObject>(shared_from_this());
  return Iterator([self, i = int64_t{0}, n = range_length(*this)](Value& out) mutable {
    if (i >= n) return false;
    out = self->at(i++);
    return true;
  });
}
bool RangeObject::contains(Interpreter&, const Value& item) {
  if (!item.is_number()) return false;
  int64_t v = 0;
  if (item.is_float()) {
    const double d = item.as_double();
    if (!(d > -9.2e18 && d < 9.2e18) || d != static_cast<double>(static_cast<int64_t>(d))) return false;
    v = static_cast<int64_t>(d);
  } else if (item.is_natural()) {
    return false;
  } else {
    v = item.as_int();
  }
  if (step > 0 ? (v < start || v >= stop) : (v > start || v <= stop)) return false;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(v) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(v);
  return distance % (step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1) == 0;
}
bool RangeObject::equals(Interpreter&, const Value& other) {
  auto* o = other.as<RangeObject>();
  if (!o) return false;
  const int64_t n = range_length(*this);
  return n == range_length(*o) && (n == 0 || (start == o->start && (n == 1 || step == o->step)));
}

}  // namespace pxl
