// Dicts.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"

namespace pxl {

std::optional<std::string> key_of(const Value& v) {
  if (v.is_none()) return "n";
  if (v.is_float()) {
    const double d = v.as_double();
    if (d == std::floor(d) && d >= -9223372036854775808.0 && d < 18446744073709551616.0) {
      return d < 0 ? fmt::format("i{}", static_cast<int64_t>(d)) : fmt::format("i{}", static_cast<uint64_t>(d));
    }
    return fmt::format("f{}", std::bit_cast<uint64_t>(d));
  }
  if (v.is_natural()) return fmt::format("i{}", v.as_natural());
  if (v.is_number()) return fmt::format("i{}", v.as_int());
  return v.object()->hash_key();
}

namespace {
std::string need_key(const Value& key) {
  std::optional<std::string> k = key_of(key);
  if (!k) {
    throw Error(with_article(key.type_name()) + " cannot be a key of a dict",
                {"keys are none, bools, numbers, strings, dtypes, specs, tensors, streams and tuples of these"})
        .as(codes::key);
  }
  return *k;
}
}  // namespace

const Value* DictObject::find(const Value& key) const {
  std::optional<std::string> k = key_of(key);
  if (!k) return nullptr;
  auto it = where_.find(*k);
  return it == where_.end() ? nullptr : &items[it->second].second;
}
void DictObject::put(const Value& key, Value value) {
  changing();
  auto [it, fresh] = where_.try_emplace(need_key(key), items.size());
  if (fresh)
    items.emplace_back(key, std::move(value));
  else
    items[it->second].second = std::move(value);
}
bool DictObject::erase(const Value& key) {
  auto it = where_.find(need_key(key));
  if (it == where_.end()) return false;
  changing();
  const size_t at = it->second;
  where_.erase(it);
  charge_steps(static_cast<int64_t>(items.size()), 5);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  for (auto& [k, i] : where_) {
    if (i > at) --i;
  }
  return true;
}
std::function<void()> DictObject::state() {
  return [this, old = items, where = where_] {
    items = old;
    where_ = where;
  };
}
DictObject::~DictObject() {
  for (auto& [k, v] : items) {
    bury(k);
    bury(v);
  }
}

std::string DictObject::repr(Interpreter& in) {
  std::string s = "{";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) s += ", ";
    s += repr_of(in, items[i].first) + ": " + repr_of(in, items[i].second);
    check_text_size(s);
  }
  return s + "}";
}
Value DictObject::index(Interpreter& in, const Value& key) {
  need_key(key);
  if (const Value* v = find(key)) return *v;
  std::vector<std::string> names;
  for (auto& [k, v] : items) {
    if (const std::string* s = k.as_string()) names.push_back(*s);
  }
  std::vector<std::string> notes;
  if (const std::string* s = key.as_string()) {
    if (std::string hint = did_you_mean(*s, names); !hint.empty()) notes.push_back(hint);
  }
  throw run_error("the dict has no key " + repr_of(in, key), notes).as(codes::key);
}
void DictObject::set_index(Interpreter&, const Value& key, Value value) { put(key, std::move(value)); }
std::optional<Iterator> DictObject::iterate(Interpreter&) {
  auto self = std::static_pointer_cast<DictObject>(shared_from_this());
  return Iterator([self, i = size_t{0}, n = items.size()]() mutable -> std::optional<Value> {
    if (self->items.size() != n) throw run_error("the dict changed its size while it was iterated");
    return i < n ? std::optional<Value>(self->items[i++].first) : std::nullopt;
  });
}
bool DictObject::contains(Interpreter&, const Value& item) { return find(item) != nullptr; }
bool DictObject::equals(Interpreter& in, const Value& other) {
  auto* o = other.as<DictObject>();
  if (!o || o->items.size() != items.size()) return false;
  DepthGuard guard(in);
  for (auto& [k, v] : items) {
    const Value* w = o->find(k);
    if (!w || !equal(in, v, *w)) return false;
  }
  return true;
}
void DictObject::clear() {
  changing();
  items.clear();
  where_.clear();
}

namespace {

enum class DictPart : uint8_t { keys, values, pairs };
Value listed(const DictObject& d, const char* name, const Arguments& args, DictPart part) {
  ArgReader(name, args, {});
  std::vector<Value> out;
  for (const auto& [k, v] : d.items)
    out.push_back(part == DictPart::keys ? k : part == DictPart::values ? v : make_tuple({k, v}));
  return make_list(std::move(out));
}

Value get_or_set(DictObject& d, const char* name, const Arguments& args, bool set) {
  ArgReader a(name, args, {"key", "default"});
  const Value key = a.value("key");
  if (const Value* v = d.find(key)) return *v;
  Value fallback = a.value_or("default", Value());
  if (set) d.put(key, fallback);
  return fallback;
}

using In = Interpreter&;
using Dict = DictObject&;
using A = const Arguments&;
constexpr Member<DictObject> dict_rows[] = {
    {"keys", "()", "A list of the keys, in order of insertion.", "d.keys()",
     [](In, Dict d, A args) { return listed(d, "keys", args, DictPart::keys); }},
    {"values", "()", "A list of the values, in order of insertion.", "d.values()",
     [](In, Dict d, A args) { return listed(d, "values", args, DictPart::values); }},
    {"items", "()", "A list of tuples (key, value), in order of insertion.", "d.items()",
     [](In, Dict d, A args) { return listed(d, "items", args, DictPart::pairs); }},
    {"get", "(key, default = none)", "The value of a key, or the default if there is none.", "d.get('c', 0)",
     [](In, Dict d, A args) { return get_or_set(d, "get", args, false); }},
    {"pop", "(key, default)", "Removes a key and returns its value; the default, if one is given, for an unknown key.",
     "d.pop('a'), d",
     [](In in, Dict d, A args) -> Value {
       ArgReader a("pop", args, {"key", "default"});
       const Value key = a.value("key");
       if (const Value* found = d.find(key)) {
         Value v = *found;
         d.erase(key);
         return v;
       }
       if (args.positional.size() + args.named.size() > 1) return a.value_or("default", Value());
       return d.index(in, key);
     }},
    {"update", "(other, ...)",
     "Sets the entries of other dicts or lists of (key, value) pairs, and `name = value` arguments.",
     "d.update({'b': 5}, c = 3)\nd",
     [](In in, Dict d, A args) -> Value {
       for (const Value& v : args.positional) {
         if (auto other = v.ptr<DictObject>()) {
           const auto entries = other->items;  // a copy: d.update(d) is fine
           for (auto& [k, w] : entries) d.put(k, w);
           continue;
         }
         for (const Value& pair : elements_of(in, v)) {
           std::vector<Value> kv = elements_of(in, pair);
           if (kv.size() != 2) type_error("update: expected a dict or a list of (key, value) pairs");
           d.put(kv[0], kv[1]);
         }
       }
       for (const NamedArg& a : args.named) d.put(Value(a.name), a.value);
       return {};
     }},
    {"setdefault", "(key, default = none)", "The value of a key; an unknown key is set to the default first.",
     "d.setdefault('c', 9), d", [](In, Dict d, A args) { return get_or_set(d, "setdefault", args, true); }},
    {"copy", "()", "A new dict of the same keys and values.", "d.copy() is d",
     [](In, Dict d, A args) -> Value {
       ArgReader("copy", args, {});
       auto copy = std::make_shared<DictObject>();
       for (auto& [k, v] : d.items) copy->put(k, v);
       return copy;
     }},
    {"clear", "()", "Removes all entries.", "d.clear()\nd",
     [](In, Dict d, A args) -> Value {
       ArgReader("clear", args, {});
       d.clear();
       return {};
     }},
};
constexpr std::span<const Member<DictObject>> dict_table(dict_rows);

}  // namespace

MemberTable dict_members() {
  return member_table("dict",
                      "Values by key, in order of insertion. Keys are none, bools, numbers, strs, dtypes, specs, "
                      "tensors, streams, and tuples of these.",
                      "d = {'a': 1, 'b': 2}", dict_table);
}

std::optional<Value> DictObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, dict_table, *this, name);
}
std::vector<std::string> DictObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, dict_table);
  return names;
}

}  // namespace pxl
