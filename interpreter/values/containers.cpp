// Dicts, builtins, and what all containers share: subscripts, slices, keys, readers of arguments.
#include "interpreter/values/containers.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "interpreter/language/check.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/values/internal.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"

namespace pxl {

Value make_list(std::vector<Value> items) { return std::make_shared<ListObject>(std::move(items)); }
Value make_tuple(std::vector<Value> items) { return std::make_shared<TupleObject>(std::move(items)); }
Value make_method(Effects effects, std::string name, BuiltinObject::Body body, InLook in_look) {
  auto m = std::make_shared<BuiltinObject>(effects, std::move(name), "", "", std::move(body), in_look);
  m->kind = BuiltinObject::Kind::method;
  return m;
}
std::string BuiltinObject::repr(Interpreter&) { return "<function " + name + ">"; }

Value BuiltinObject::call(Interpreter& in, Arguments args) {
  if (in.checking) [[unlikely]]
    return look_at_call(in, std::move(args));
  return body(in, std::move(args));
}

namespace {

// Checks the arguments of a skipped call against the signature: "save(path, array)".
void check_arguments(const BuiltinObject& f, const Arguments& args) {
  const size_t open = f.signature.find('('), close = f.signature.rfind(')');
  if (open == f.signature.npos || close == f.signature.npos || f.signature.find("...") != f.signature.npos) return;
  std::vector<std::string> names, required;
  bool rest = false;
  int depth = 0;
  std::string one;
  auto add = [&] {
    one.erase(0, one.find_first_not_of(' '));
    if (one.starts_with('*')) {
      rest = true;
    } else if (!one.empty()) {
      names.push_back(one.substr(0, one.find_first_of(" =")));
      if (one.find('=') == one.npos) required.push_back(names.back());
    }
    one.clear();
  };
  for (const char c : f.signature.substr(open + 1, close - open - 1)) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0)
      add();
    else
      one += c;
  }
  add();
  Arguments given = args;
  if (rest) given.positional.clear();
  const ArgReader a(f.name, given, names);
  if (!rest)
    for (const std::string& name : required) a.value(name);
}

}  // namespace

Value BuiltinObject::look_at_call(Interpreter& in, Arguments args) {
  Checking& c = *in.checking;
  const bool permitted = permits(effects);
  if (effects.has(Effect::runs_session)) ++c.runs;
  if (!permitted && in_look == InLook::passed_over) {
    if (!holds_unknown(args)) check_arguments(*this, args);
    return effects.within(Effect::prints) ? Value() : unknown_value();
  }
  auto not_known = [&] {
    for (const Value& v : args.positional) forget_changed_by(v);
    for (const NamedArg& n : args.named) forget_changed_by(n.value);
    if (kind != Kind::op) lacks_part_of(in, args);
    return unknown_value();
  };
  if (kind == Kind::function && permitted) {
    auto bare = [](const Value& v) { return is_unknown(v) && !unknown_spec(v); };
    for (const Value& v : args.positional)
      if (bare(v)) return not_known();
    for (const NamedArg& n : args.named)
      if (bare(n.value)) return not_known();
  }
  try {
    return body(in, args);
  } catch (const Unevaluated&) {
    if (kind == Kind::method) throw;
  } catch (const Error&) {
    if (!holds_unknown(args)) throw;
    if (kind == Kind::method) throw Unevaluated{};
  }
  return not_known();
}

void define(Scope& scope, Effects effects, std::string name, std::string signature, std::string doc,
            BuiltinObject::Body body, InLook in_look) {
  Value f =
      std::make_shared<BuiltinObject>(effects, name, std::move(signature), std::move(doc), std::move(body), in_look);
  scope.bind(name, std::move(f));
}

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
    s += in.repr(items[i].first) + ": " + in.repr(items[i].second);
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
  throw run_error("the dict has no key " + in.repr(key), notes).as(codes::key);
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
    if (!w || !in.equal(v, *w)) return false;
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
        for (const Value& pair : in.to_vector(v)) {
          std::vector<Value> kv = in.to_vector(pair);
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

// ---- subscripts

int64_t to_index(const Value& v, const std::string& what) {
  if (v.is_bool() || v.is_int()) return v.as_int();
  if (const Array* a = v.as_array()) {
    if (a->rank() == 0 && (is_integer(a->dtype()) || a->dtype() == DType::boolean)) return a->integer(0);
  }
  type_error(what + ": expected an int, got " + with_article(v.type_name()));
}

int64_t element_index(const Value& v, const std::string& what) {
  try {
    return to_index(v, what);
  } catch (Error& e) {
    e.first().code = codes::index;
    throw;
  }
}

int64_t wrap_index(int64_t index, int64_t length, const std::string& what) {
  const int64_t i = index < 0 ? index + length : index;
  if (i < 0 || i >= length) {
    throw run_error(
        fmt::format("index {} is out of range for {} of {} element{}", index, what, length, length == 1 ? "" : "s"))
        .as(codes::index);
  }
  return i;
}

SliceRange resolve_slice(const SliceObject& s, int64_t length) {
  const int64_t step = s.step.is_none() ? 1 : to_index(s.step, "slice step");
  if (step == 0) throw run_error("a slice's step cannot be zero");
  auto clamp = [&](const Value& v, int64_t missing, const char* what) {
    if (v.is_none()) return missing;
    int64_t i = to_index(v, what);
    if (i < 0) i = i < -length ? -1 : i + length;
    if (step > 0) return i < 0 ? int64_t{0} : std::min(i, length);
    return i < 0 ? int64_t{-1} : std::min(i, length - 1);
  };
  const int64_t start = clamp(s.start, step > 0 ? 0 : length - 1, "slice start");
  const int64_t stop = clamp(s.stop, step > 0 ? length : -1, "slice stop");
  int64_t count = 0;
  if (step > 0 && stop > start) count = (stop - start - 1) / step + 1;
  // -(step + 1) + 1 would be -step, which overflows for the smallest int.
  if (step < 0 && start > stop) {
    count = static_cast<int64_t>((static_cast<uint64_t>(start - stop) - 1) / (~static_cast<uint64_t>(step) + 1)) + 1;
  }
  return {start, step, count};
}

// ---- readers of arguments

ArgReader::ArgReader(std::string function, const Arguments& args, std::vector<std::string> parameters)
    : function_(std::move(function)), parameters_(std::move(parameters)), values_(parameters_.size()) {
  if (args.positional.size() > parameters_.size()) {
    Error e(fmt::format("{}: takes {} argument{}, got {}", function_,
                        parameters_.empty() ? "no" : fmt::format("at most {}", parameters_.size()),
                        parameters_.size() == 1 ? "" : "s", args.positional.size()));
    e.as(codes::arguments);
    throw e;
  }
  for (size_t i = 0; i < args.positional.size(); ++i) values_[i] = args.positional[i];
  for (const NamedArg& n : args.named) {
    size_t i = 0;
    while (i < parameters_.size() && parameters_[i] != n.name) ++i;
    if (i == parameters_.size()) {
      std::vector<std::string> notes;
      if (std::string hint = did_you_mean(n.name, parameters_); !hint.empty()) notes.push_back(hint);
      Error e(fmt::format("{}: no argument is named `{}`", function_, n.name), notes);
      e.as(codes::arguments);
      if (n.span) e.locate(n.span, nullptr);
      throw e;
    }
    if (values_[i]) throw Error(fmt::format("{}: `{}` was given twice", function_, n.name)).as(codes::arguments);
    values_[i] = n.value;
  }
}

namespace {
size_t position_of(const std::vector<std::string>& names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  throw Error("internal: a builtin asks for an argument it has not declared: " + std::string(name), {},
              Fault::internal);
}
}  // namespace

bool ArgReader::has(std::string_view name) const {
  const auto& v = values_[position_of(parameters_, name)];
  return v && !v->is_none();
}
Value ArgReader::value(std::string_view name) const {
  const auto& v = values_[position_of(parameters_, name)];
  if (!v) throw Error(fmt::format("{}: missing argument `{}`", function_, name)).as(codes::arguments);
  return *v;
}
Value ArgReader::value_or(std::string_view name, Value fallback) const {
  const auto& v = values_[position_of(parameters_, name)];
  return v ? *v : fallback;
}
int64_t ArgReader::integer(std::string_view name) const {
  return to_index(value(name), fmt::format("{}: `{}`", function_, name));
}
int64_t ArgReader::integer_or(std::string_view name, int64_t fallback) const {
  return has(name) ? integer(name) : fallback;
}
double ArgReader::number_or(std::string_view name, double fallback) const {
  if (!has(name)) return fallback;
  const Value v = value(name);
  if (v.is_number()) return v.as_double();
  if (std::optional<Value> s = scalar_of(v)) return s->as_double();
  type_error(fmt::format("{}: `{}`: expected a number, got {}", function_, name, with_article(v.type_name())));
}
bool ArgReader::boolean_or(std::string_view name, bool fallback) const {
  if (!has(name)) return fallback;
  const Value v = value(name);
  if (!v.is_bool()) {
    type_error(fmt::format("{}: `{}`: expected true or false, got {}", function_, name, with_article(v.type_name())));
  }
  return v.as_bool();
}
std::string ArgReader::string(std::string_view name) const {
  const Value v = value(name);
  if (const std::string* s = v.as_string()) return *s;
  type_error(fmt::format("{}: `{}`: expected a str, got {}", function_, name, with_article(v.type_name())));
}
std::string ArgReader::string_or(std::string_view name, std::string fallback) const {
  return has(name) ? string(name) : fallback;
}
Shape ArgReader::shape(std::string_view name) const {
  const Value v = value(name);
  const std::string what = fmt::format("{}: `{}`", function_, name);
  if (auto* s = v.as<SequenceObject>()) {
    Shape shape;
    for (const Value& d : s->items) shape.push_back(to_index(d, what));
    return shape;
  }
  return {to_index(v, what)};
}

}  // namespace pxl
