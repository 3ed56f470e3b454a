// Dicts.
#include <algorithm>
#include <bit>
#include <cmath>

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {

namespace {

/// Equal numbers are one key, whatever their kinds. A float that is no 64-bit int is a key by its bits.
struct NumberKey {
  enum Kind : uint8_t { natural, negative, other } kind;
  uint64_t bits;
  explicit NumberKey(const Value& v) {
    if (v.is_int64()) {
      kind = v.int64() < 0 ? negative : natural, bits = static_cast<uint64_t>(v.int64());
      return;
    }
    if (v.is_natural()) {
      kind = natural, bits = v.as_natural();
      return;
    }
    if (v.is_float()) {
      const double d = v.as_double();
      kind = other, bits = std::bit_cast<uint64_t>(d);
      if (d != std::floor(d) || d < -9223372036854775808.0 || d >= 18446744073709551616.0) return;
      kind = d < 0 ? negative : natural;
      bits = d < 0 ? static_cast<uint64_t>(static_cast<int64_t>(d)) : static_cast<uint64_t>(d);
      return;
    }
    kind = v.as_int() < 0 ? negative : natural;
    bits = static_cast<uint64_t>(v.as_int());
  }
  bool operator==(const NumberKey&) const = default;
};

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::optional<uint64_t> hash_below(const Value& v, int depth);

/// The hash of all values in a tuple or record. `kind` differs between the two.
std::optional<uint64_t> hash_of_all(const std::vector<Value>& values, uint64_t kind, int depth) {
  uint64_t all = values.size() + kind;
  charge(static_cast<int64_t>(values.size()) * 10);
  for (const Value& v : values) {
    auto* text = v.as<StringObject>();
    const std::optional<uint64_t> one = v.is_int64()    ? static_cast<uint64_t>(v.int64())
                                        : text          ? text->hash()
                                        : v.is_number() ? NumberKey(v).bits
                                                        : hash_below(v, depth + 1);
    if (!one) return std::nullopt;
    all = (all ^ *one) * 0x9e3779b97f4a7c15u;
    all ^= all >> 32;
  }
  return mixed(all);
}

/// Deep nesting is refused as a key, since the traversal is recursive.
std::optional<uint64_t> hash_below(const Value& v, int depth) {
  if (v.is_none()) return mixed(1);
  if (v.is_number()) return mixed(NumberKey(v).bits + 2);
  if (auto* s = v.as<StringObject>()) return s->hash();
  if (auto* t = v.as<TupleObject>()) {
    if (t->hash != 0) return t->hash;
    if (depth > 100) return std::nullopt;
    const std::optional<uint64_t> all = hash_of_all(t->items, 3, depth);
    if (all) t->hash = *all | 1;
    return all ? std::optional(t->hash) : std::nullopt;
  }
  if (auto* r = v.as<RecordObject>()) {
    if (depth > 100) return std::nullopt;
    return hash_of_all(r->values, 4, depth);
  }
  const std::optional<std::string> key = v.object()->hash_key();
  if (!key) return std::nullopt;
  return std::hash<std::string>()(*key);
}

uint64_t need_hash(const Value& key) {
  if (const std::optional<uint64_t> h = hash_of(key)) return *h;
  throw Error(
      with_article(key.type_name()) + " cannot be a key of a dict",
      {"keys are none, bools, numbers, strings, dtypes, specs, tensors, streams, and tuples and records of these"})
      .as(codes::key);
}

}  // namespace

std::optional<uint64_t> hash_of(const Value& v) {
  if (v.is_int64()) return mixed(static_cast<uint64_t>(v.int64()) + 2);
  if (auto* s = v.as<StringObject>()) return s->hash();
  if (auto* t = v.as<TupleObject>(); t && t->hash != 0) return t->hash;
  return hash_below(v, 0);
}

namespace {
bool are_same_keys(const std::vector<Value>& a, const std::vector<Value>& b) {
  charge(10);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Value& x, const Value& y) {
    if (x.is_int64() && y.is_int64()) return x.int64() == y.int64();
    if (x.is_text() && y.is_text() && x.object() == y.object()) return true;
    return is_same_key(x, y);
  });
}
}  // namespace

bool is_same_key(const Value& a, const Value& b) {
  if (!a.is_object() || !b.is_object()) {
    if (a.is_object() || b.is_object()) return false;
    if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
    if (a.is_int64() && b.is_int64()) return a.int64() == b.int64();
    return NumberKey(a) == NumberKey(b);
  }
  if (a.object() == b.object()) return true;
  if (auto* s = a.as<StringObject>()) {
    auto* t = b.as<StringObject>();
    return t && s->value == t->value;
  }
  if (auto* s = a.as<TupleObject>()) {
    auto* t = b.as<TupleObject>();
    return t && are_same_keys(s->items, t->items);
  }
  if (auto* s = a.as<RecordObject>()) {
    auto* t = b.as<RecordObject>();
    return t && s->type->code == t->type->code && are_same_keys(s->values, t->values);
  }
  if (b.as_string() || b.as<TupleObject>() || b.as<RecordObject>()) return false;
  return a.object()->hash_key() == b.object()->hash_key();
}

namespace {
constexpr size_t few_items = 8;  // maximum number of items without a table
/// The hash bits that do not select the start position in the table.
uint32_t part_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
}  // namespace

/// If there are few keys, they are compared without a hash.
size_t DictObject::among_few(const Value& key) const {
  const std::vector<DictItems::Item>& all = items.all_;
  const size_t count = all.size();
  size_t i = 0;
  if (auto* text = key.as<StringObject>()) {
    const auto is_same = [&](const Value& v) {
      auto* other = v.as<StringObject>();
      return other && (other == text || other->value == text->value);
    };
    while (i < count && !is_same(all[i].first)) ++i;
  } else {
    while (i < count && !is_same_key(all[i].first, key)) ++i;
  }
  return i == count ? none : i;
}
size_t DictObject::place_in_table(const Value& key, uint64_t hash) const {
  const size_t mask = table_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const Place& place = table_[at];
    if (place.item == 0 || (place.part == part_of(hash) && is_same_key(items.all_[place.item - 1].first, key)))
      return at;
  }
}
size_t DictObject::in_table(const Value& key, uint64_t hash) const {
  const uint32_t item = table_[place_in_table(key, hash)].item;
  return item == 0 ? none : item - 1;
}
size_t DictObject::where(const Value& key) const {
  if (table_.empty()) return among_few(key);
  const std::optional<uint64_t> hash = hash_of(key);
  return hash ? in_table(key, *hash) : none;
}
void DictObject::add_to_table(size_t item) {
  const size_t mask = table_.size() - 1;
  size_t at = hashes_[item] & mask;
  while (table_[at].item != 0) at = (at + 1) & mask;
  table_[at] = {static_cast<uint32_t>(item + 1), part_of(hashes_[item])};
}
/// Frees a place. Later keys of the same run move up, so that a search from their hash still reaches them.
void DictObject::free_place(size_t place) {
  const size_t mask = table_.size() - 1;
  for (size_t at = (place + 1) & mask; table_[at].item != 0; at = (at + 1) & mask) {
    const size_t wanted = hashes_[table_[at].item - 1] & mask;
    if (((at - wanted) & mask) < ((at - place) & mask)) continue;
    table_[place] = table_[at];
    place = at;
  }
  table_[place] = {};
}
void DictObject::close_gaps() {
  size_t to = 0;
  for (size_t from = items.first_; from < items.all_.size(); ++from) {
    if (items.all_[from].first.is_unset()) continue;
    if (to != from) {
      items.all_[to] = std::move(items.all_[from]);
      hashes_[to] = hashes_[from];
    }
    ++to;
  }
  items.all_.resize(to);
  hashes_.resize(to);
  items.gaps_ = items.first_ = 0;
}
// Maximum load factor 1/2, so that probe sequences are short.
void DictObject::make_table() {
  if (items.gaps_ > 0) close_gaps();
  table_.clear();
  const std::vector<DictItems::Item>& all = items.all_;
  if (all.size() <= few_items) return hashes_.clear();
  while (hashes_.size() < all.size()) hashes_.push_back(need_hash(all[hashes_.size()].first));
  size_t size = 32;
  while (size < 4 * all.size()) size *= 2;
  table_.assign(size, {});
  for (size_t i = 0; i < all.size(); ++i) add_to_table(i);
}

const Value* DictObject::find(const Value& key) const {
  const size_t at = where(key);
  return at == none ? nullptr : &items.all_[at].second;
}
void DictObject::put(const Value& key, Value value) {
  changing();
  std::vector<DictItems::Item>& all = items.all_;
  const bool are_few = table_.empty();
  const uint64_t hash = are_few ? 0 : need_hash(key);
  const size_t at = are_few ? among_few(key) : in_table(key, hash);
  if (at != none) return std::swap(all[at].second, value);
  if (items.size() >= max_elements) throw run_error("the dict has too many elements");
  if (are_few && !key.is_int64() && !key.is_text()) need_hash(key);
  if (all.empty()) all.reserve(4);
  all.emplace_back(key, std::move(value));
  if (!are_few) hashes_.push_back(hash);
  if (2 * all.size() <= table_.size())
    add_to_table(all.size() - 1);
  else if (all.size() > few_items)
    make_table();
}
bool DictObject::erase(const Value& key) {
  std::vector<DictItems::Item>& all = items.all_;
  const bool are_few = table_.empty();
  const size_t place = are_few ? 0 : place_in_table(key, need_hash(key));
  const size_t at = are_few ? among_few(key) : table_[place].item == 0 ? none : table_[place].item - 1;
  if (at == none) {
    if (are_few) need_hash(key);
    return false;
  }
  changing();
  const auto old = std::move(all[at]);  // destroyed when the function ends
  if (are_few) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }
  free_place(place);
  all[at] = {Value::unset(), Value()};
  ++items.gaps_;
  while (items.first_ < all.size() && all[items.first_].first.is_unset()) ++items.first_;
  constexpr size_t few_gaps = 16;
  if (items.gaps_ > items.size() + few_gaps) make_table();
  return true;
}
const DictItems::Item* DictObject::next_item(size_t& position) const {
  position = std::max(position, items.first_);
  while (position < items.all_.size() && items.all_[position].first.is_unset()) ++position;
  return position < items.all_.size() ? &items.all_[position++] : nullptr;
}
std::function<void()> DictObject::state() {
  return [this, old = items, hashes = hashes_] {
    items = old;
    hashes_ = hashes;
    make_table();
  };
}
DictObject::~DictObject() {
  for (auto& [k, v] : items) {
    k.bury();
    v.bury();
  }
}

std::string DictObject::repr(Interpreter& in) {
  std::string s = "{";
  for (const auto& [k, v] : items) {
    if (s.size() > 1) s += ", ";
    s += repr_of(in, k) + ": " + repr_of(in, v);
    check_text_size(s);
  }
  return s + "}";
}
Value DictObject::index(Interpreter& in, const Value& key) {
  const size_t at = where(key);
  if (at != none) return items.all_[at].second;
  throw missing(in, key);
}
Error DictObject::missing(Interpreter& in, const Value& key) const {
  need_hash(key);
  std::vector<std::string> names, notes;
  constexpr size_t few_keys = 100;  // a script that catches the error may ask often
  if (const std::string* s = items.size() <= few_keys ? key.as_string() : nullptr) {
    for (const auto& [k, v] : items)
      if (const std::string* name = k.as_string()) names.push_back(*name);
    if (std::string hint = did_you_mean(*s, names); !hint.empty()) notes.push_back(hint);
  }
  return run_error("the dict has no key " + repr_of(in, key), notes).as(codes::key);
}
void DictObject::set_index(Interpreter&, const Value& key, Value value) { put(key, std::move(value)); }
std::optional<Iterator> DictObject::iterate(Interpreter&) {
  auto self = static_ref_cast<DictObject>(shared_from_this());
  return Iterator([self, i = size_t{0}, n = items.size()](Value& out) mutable {
    if (self->items.size() != n) throw run_error("the dict changed its size while it was iterated");
    const DictItems::Item* item = self->next_item(i);
    if (item) out = item->first;
    return item != nullptr;
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
  const auto old = std::move(items);  // destroyed when the function ends
  items = {};
  hashes_.clear();
  table_.clear();
}

Value pairs_of(const DictObject& dict) {
  auto pull = [pairs = std::vector(dict.items.begin(), dict.items.end()), i = size_t{0}](Value* pair) mutable {
    if (i >= pairs.size()) return false;
    pair[0] = std::move(pairs[i].first);
    pair[1] = std::move(pairs[i++].second);
    return true;
  };
  return make_ref<IteratorObject>("items", row_iterator(2, std::move(pull)));
}

namespace {

enum class DictPart : uint8_t { keys, values, pairs };
Value all_of(const DictObject& d, DictPart part) {
  std::vector<Value> out;
  out.reserve(d.items.size());
  for (const auto& [k, v] : d.items)
    out.push_back(part == DictPart::keys ? k : part == DictPart::values ? v : make_pair(k, v));
  return make_list(std::move(out));
}

using In = Interpreter&;
using Dict = DictObject&;
using A = const Arguments&;
using V = const Value*;
constexpr Member<DictObject> dict_rows[] = {
    {"keys", "()", "A list of the keys, in order of insertion.", "d.keys()",
     [](In, Dict d, V, size_t) { return all_of(d, DictPart::keys); }},
    {"values", "()", "A list of the values, in order of insertion.", "d.values()",
     [](In, Dict d, V, size_t) { return all_of(d, DictPart::values); }},
    {"items", "()", "A list of tuples (key, value), in order of insertion.", "d.items()",
     [](In, Dict d, V, size_t) { return all_of(d, DictPart::pairs); }},
    {"get", "(key, default = none)", "The value of a key, or the default if there is none.", "d.get('c', 0)",
     [](In, Dict d, V v, size_t) -> Value {
       const Value* found = d.find(v[0]);
       return found ? *found : v[1];
     }},
    {"pop", "(key, default)", "Removes a key and returns its value; the default, if one is given, for an unknown key.",
     "d.pop('a'), d",
     [](In in, Dict d, A args) -> Value {
       ArgReader a(args);
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
           if (other.get() != &d)
             for (const auto& [k, w] : other->items) d.put(k, w);
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
     "d.setdefault('c', 9), d",
     [](In, Dict d, V v, size_t) -> Value {
       if (const Value* found = d.find(v[0])) return *found;
       d.put(v[0], v[1]);
       return v[1];
     }},
    {"copy", "()", "A new dict of the same keys and values.", "d.copy() is d",
     [](In, Dict d, V, size_t) -> Value {
       auto copy = make_ref<DictObject>();
       for (auto& [k, v] : d.items) copy->put(k, v);
       return copy;
     }},
    {"clear", "()", "Removes all entries.", "d.clear()\nd",
     [](In, Dict d, V, size_t) -> Value {
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

Method DictObject::method_of_class(std::string_view name) const { return method_of_table(dict_table, name); }
std::optional<Value> DictObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, dict_table, *this, name);
}
std::vector<std::string> DictObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, dict_table);
  return names;
}

}  // namespace pxl
