// Dicts.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
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
    if (d == std::floor(d) && d >= -9223372036854775808.0 && d < 9223372036854775808.0) {
      return fmt::format("i{}", static_cast<int64_t>(d));
    }
    return fmt::format("f{}", std::bit_cast<uint64_t>(d));
  }
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
std::vector<std::string> DictObject::member_names() const {
  return {"keys", "values", "items", "get", "pop", "update", "setdefault", "copy", "clear"};
}
std::optional<Value> DictObject::member(Interpreter&, std::string_view name) {
  auto self = std::static_pointer_cast<DictObject>(shared_from_this());
  const std::string n(name);
  if (n == "keys" || n == "values" || n == "items") {
    return make_method(no_effects, n, [self, n](Interpreter&, const Arguments& args) -> Value {
      ArgReader a(n, args, {});
      std::vector<Value> out;
      for (auto& [k, v] : self->items) out.push_back(n == "keys" ? k : n == "values" ? v : make_tuple({k, v}));
      return make_list(std::move(out));
    });
  }
  if (n == "get" || n == "setdefault") {
    return make_method(no_effects, n, [self, n](Interpreter&, const Arguments& args) -> Value {
      ArgReader a(n, args, {"key", "default"});
      const Value key = a.value("key");
      if (const Value* v = self->find(key)) return *v;
      Value fallback = a.value_or("default", Value());
      if (n == "setdefault") self->put(key, fallback);
      return fallback;
    });
  }
  if (n == "pop") {
    return make_method(no_effects, n, [self](Interpreter& in, const Arguments& args) -> Value {
      ArgReader a("pop", args, {"key", "default"});
      const Value key = a.value("key");
      if (const Value* found = self->find(key)) {
        Value v = *found;
        self->erase(key);
        return v;
      }
      if (args.positional.size() + args.named.size() > 1) return a.value_or("default", Value());
      return self->index(in, key);
    });
  }
  if (n == "update") {
    return make_method(no_effects, n, [self](Interpreter& in, const Arguments& args) -> Value {
      for (const Value& v : args.positional) {
        if (auto other = v.ptr<DictObject>()) {
          const auto entries = other->items;  // a copy: d.update(d) is fine
          for (auto& [k, w] : entries) self->put(k, w);
          continue;
        }
        for (const Value& pair : elements_of(in, v)) {
          std::vector<Value> kv = elements_of(in, pair);
          if (kv.size() != 2) type_error("update: expected a dict or a list of (key, value) pairs");
          self->put(kv[0], kv[1]);
        }
      }
      for (const NamedArg& a : args.named) self->put(Value(a.name), a.value);
      return {};
    });
  }
  if (n == "copy") {
    return make_method(no_effects, n, [self](Interpreter&, const Arguments& args) -> Value {
      ArgReader a("copy", args, {});
      auto copy = std::make_shared<DictObject>();
      for (auto& [k, v] : self->items) copy->put(k, v);
      return copy;
    });
  }
  if (n == "clear") {
    return make_method(no_effects, n, [self](Interpreter&, const Arguments& args) -> Value {
      ArgReader a("clear", args, {});
      self->changing();
      self->items.clear();
      self->where_.clear();
      return {};
    });
  }
  return std::nullopt;
}

}  // namespace pxl
