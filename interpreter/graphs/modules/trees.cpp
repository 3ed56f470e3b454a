// The structure of named trees: lookup, insertion, traversal. Their methods are in tree_methods.cpp.
#include "interpreter/graphs/modules/trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "interpreter/syntax/written_use.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {
namespace {

bool is_number_key(std::string_view s) {
  return !s.empty() && s.size() < 10 &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c); });
}

void check_key(std::string_view part, std::string_view whole) {
  bool word = !part.empty() && (std::isalpha(static_cast<unsigned char>(part[0])) || part[0] == '_');
  for (char c : part) word = word && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (!word && !is_number_key(part))
    throw Error("`" + std::string(whole) + "` is not a valid name in a tree",
                {"each part between dots is an identifier or a number"})
        .as(codes::key);
}

constexpr int max_levels = 100;

/// Sets a tree's level, and the levels of everything below it.
void set_level(TreeObject& t, int level) {
  if (level > max_levels) throw Error("a named tree can't be deeper than " + std::to_string(max_levels) + " levels");
  t.level = level;
  for (auto& [k, v] : t.items)
    if (auto* child = v.as<TreeObject>()) set_level(*child, level + 1);
}

TreePtr new_level(const TreeObject& parent) {
  TreePtr t = make_tree(parent.kind);
  set_level(*t, parent.level + 1);
  return t;
}

std::vector<std::string> keys_of(const TreeObject& t) {
  std::vector<std::string> keys;
  for (const auto& [k, v] : t.items) keys.push_back(k);
  return keys;
}

/// The key for an index: 1 is "1", and -1 is the last number in the level.
std::string key_text(const TreeObject& t, const Value& key) {
  if (const std::string* s = key.as_string()) return *s;
  if (!key.is_int()) type_error("a tree is indexed by names and ints, got " + key.type_name());
  int64_t k = key.as_int();
  if (k >= 0) return std::to_string(k);
  int64_t last = -1;
  for (const auto& [name, v] : t.items)
    if (is_number_key(name)) last = std::max<int64_t>(last, std::stoll(name));
  if (last + 1 + k < 0)
    throw Error("negative numerical key does not exist: " + std::to_string(k),
                {"the largest numerical key is " + (last < 0 ? std::string("absent") : std::to_string(last))})
        .as(codes::key);
  return std::to_string(last + 1 + k);
}

}  // namespace

TreePtr make_tree(TreeKind kind) { return make_ref<TreeObject>(kind); }

std::string TreeObject::type_name() const {
  switch (kind) {
    case TreeKind::tensors: return "NamedTensors";
    case TreeKind::factories: return "NamedVariableFactories";
    case TreeKind::plain: break;
  }
  return "DotTree";
}

std::string TreeObject::repr(Interpreter& in) {
  std::string out = "{";
  for (const auto& [name, leaf] : leaves()) {
    if (out.size() > 1) out += ", ";
    out += "'" + name + "': " + repr_of(in, leaf);
  }
  return out + "}";
}

const Value* TreeObject::find(std::string_view dotted) const {
  const TreeObject* at = this;
  while (true) {
    size_t dot = dotted.find('.');
    std::string_view head = dotted.substr(0, dot);
    const size_t i = at->place(head);
    const Value* found = i < at->items.size() ? &at->items[i].second : nullptr;
    if (!found || dot == std::string_view::npos) return found;
    at = found->as<TreeObject>();
    if (!at) return nullptr;
    dotted.remove_prefix(dot + 1);
  }
}

void TreeObject::insert(std::string_view dotted, Value value, bool overwrite) {
  const std::string whole(dotted);
  TreeObject* at = this;
  if (auto* tree = value.as<TreeObject>()) value = tree->copy();  // ensures that no tree contains itself
  while (true) {
    at->changing();
    size_t dot = dotted.find('.');
    std::string head(dotted.substr(0, dot));
    check_key(head, whole);
    const size_t i = at->place(head);
    Value* found = i < at->items.size() ? &at->items[i].second : nullptr;
    if (dot == std::string_view::npos) {
      if (auto* tree = value.as<TreeObject>()) set_level(*tree, at->level + 1);
      TreeObject* into = found ? found->as<TreeObject>() : nullptr;
      TreeObject* from = value.as<TreeObject>();
      if (!found) {
        at->items.emplace_back(head, std::move(value));
      } else if (into && from && (overwrite || into->leaves().empty())) {
        if (into != from)
          for (const auto& [name, leaf] : from->leaves()) into->insert(name, leaf, overwrite);
      } else if (overwrite) {
        *found = std::move(value);
      } else {
        throw Error("`" + whole + "` already exists in the tree", {"`overwrite = true` replaces it"}).as(codes::key);
      }
      return;
    }
    if (!found) {
      at->items.emplace_back(head, Value(new_level(*at)));
      found = &at->items.back().second;
    }
    TreeObject* next = found->as<TreeObject>();
    if (!next) {
      if (!overwrite)
        throw Error("`" + whole + "` can't be inserted: `" + head + "` already exists and is no tree").as(codes::key);
      *found = Value(new_level(*at));
      next = found->as<TreeObject>();
    }
    at = next;
    dotted.remove_prefix(dot + 1);
  }
}

void TreeObject::reserve(std::string_view dotted) {
  if (!find(dotted)) insert(dotted, Value(make_tree(kind)));
}

void TreeObject::prune() {
  changing();
  for (auto& [k, v] : items)
    if (auto* t = v.as<TreeObject>()) t->prune();
  erase_items([](const auto& item) {
    auto* t = item.second.template as<TreeObject>();
    return t && t->items.empty();
  });
}

bool TreeObject::erase(std::string_view dotted) {
  size_t dot = dotted.rfind('.');
  TreeObject* at = this;
  if (dot != std::string_view::npos) {
    const Value* parent = find(dotted.substr(0, dot));
    at = parent ? parent->as<TreeObject>() : nullptr;
    if (!at) return false;
    dotted.remove_prefix(dot + 1);
  }
  at->changing();
  return at->erase_items([&](const auto& item) { return item.first == dotted; }) > 0;
}

size_t TreeObject::erase_items(const std::function<bool(const std::pair<std::string, Value>&)>& drop) {
  places_.clear();
  return std::erase_if(items, drop);
}

size_t TreeObject::place(std::string_view key) const {
  constexpr size_t few = 16;
  if (items.size() <= few) {
    size_t i = 0;
    while (i < items.size() && items[i].first != key) ++i;
    return i;
  }
  for (size_t i = places_.size(); i < items.size(); ++i) places_.emplace(items[i].first, i);
  const auto found = places_.find(std::string(key));
  return found == places_.end() ? items.size() : found->second;
}

std::function<void()> TreeObject::state() {
  return [this, old = items, depth = level] {
    items = old;
    places_.clear();
    level = depth;
  };
}

std::vector<std::pair<std::string, Value>> TreeObject::leaves() const {
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [k, v] : items) {
    if (auto* t = v.as<TreeObject>()) {
      for (auto& [name, leaf] : t->leaves()) out.emplace_back(k + "." + name, std::move(leaf));
    } else {
      out.emplace_back(k, v);
    }
  }
  return out;
}

TreePtr TreeObject::copy() const {
  TreePtr out = make_tree(kind);
  for (const auto& [k, v] : items) {
    auto* t = v.as<TreeObject>();
    out->items.emplace_back(k, t ? Value(t->copy()) : v);
  }
  set_level(*out, 0);
  return out;
}

std::vector<Value> TreeObject::sorted_tensors() const {
  std::vector<Value> out;
  for (auto& [name, leaf] : leaves()) {
    if (!as_tensor(leaf)) throw Error("`" + name + "` is no tensor, but a " + leaf.type_name()).as(codes::type);
    out.push_back(leaf);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Value& a, const Value& b) { return as_tensor(a)->name < as_tensor(b)->name; });
  return out;
}

Value TreeObject::index(Interpreter&, const Value& key) {
  std::string name = key_text(*this, key);
  if (const Value* v = find(name)) return *v;
  if (key.is_int()) throw Error("numerical key does not exist: " + name).as(codes::key);
  std::vector<std::string> all = keys_of(*this);
  for (auto& [leaf, v] : leaves()) all.push_back(leaf);
  std::string hint = did_you_mean(name, all);
  throw Error("key does not exist: `" + name + "`" + (hint.empty() ? "" : "; " + hint)).as(codes::key);
}

namespace {

/// `net.vars.w -= x`: the tree would hold the difference, and the variable its old value.
void refuse_assignment(const TreeObject& tree, std::string_view key, const Value& value, const Span& target) {
  const Value* old = tree.find(key);
  const Tensor *variable = old ? as_tensor(*old) : nullptr, *tensor = as_tensor(value);
  if (!variable || !tensor || variable->kind != TensorKind::variable || tensor->kind == TensorKind::variable) return;
  Error e(fmt::format("`{}` of the tree is a variable, which an assignment does not change", key),
          {"`copy_var_update_(w, w - x)` gives it a value; `tree.insert(name, t, overwrite = true)` puts a tensor in "
           "its place"});
  const Span statement = target ? written_use(target).statement : Span();
  const std::string_view rest = statement ? statement.text().substr(target.end - statement.begin) : "";
  const size_t sign = rest.find_first_not_of(' '), equals = rest.find('=');
  if (statement.begin == target.begin && equals != rest.npos && equals - sign <= 2 && equals + 1 < rest.size()) {
    const std::string_view w = target.text(), op = rest.substr(sign, equals - sign), given = rest.substr(equals + 2);
    const bool is_sum = given.find_first_of("+-") != given.npos || given.find(" if ") != given.npos;
    const std::string x = op.empty() || !is_sum ? std::string(given) : fmt::format("({})", given);
    e.offer(statement, op.empty() ? fmt::format("copy_var_update_({}, {})", w, x)
                                  : fmt::format("copy_var_update_({}, {} {} {})", w, w, op, x));
  }
  throw std::move(e).as(codes::type);
}

}  // namespace

void TreeObject::set_index(Interpreter& in, const Value& key, Value value) {
  const std::string name = key_text(*this, key);
  refuse_assignment(*this, name, value, position_of(in).here);
  insert(name, std::move(value), true);
}

void TreeObject::set_member(Interpreter& in, std::string_view name, Value value) {
  refuse_assignment(*this, name, value, position_of(in).here);
  insert(name, std::move(value), true);
}

std::optional<Iterator> TreeObject::iterate(Interpreter&) {
  return Iterator([keys = keys_of(*this), i = size_t{0}]() mutable -> std::optional<Value> {
    if (i >= keys.size()) return std::nullopt;
    return Value(keys[i++]);
  });
}

bool TreeObject::contains(Interpreter&, const Value& item) {
  if (item.is_int() && !item.is_bool()) return item.as_int() >= 0 && find(std::to_string(item.as_int()));
  if (const std::string* s = item.as_string()) return find(*s) != nullptr;
  return false;
}

}  // namespace pxl
