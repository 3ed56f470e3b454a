// The methods of named trees (insert, update, filter_keys, to_mapping, remap, init, ...) and their constructors.
#include <algorithm>
#include <set>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/graphs/remote.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {
namespace {

std::string key_name(const Value& key, const char* where) {
  if (const std::string* s = key.as_string()) return *s;
  if (!key.is_int()) type_error(std::string(where) + ": a key is a name or an int, got " + key.type_name());
  if (key.as_int() < 0)
    throw Error(std::string(where) + ": numerical key cannot be negative: " + std::to_string(key.as_int()))
        .as(codes::key);
  return std::to_string(key.as_int());
}

TreePtr as_tree(const Value& v, const char* where) {
  if (auto t = v.ptr<TreeObject>()) return t;
  type_error(std::string(where) + " takes a named tree, got " + v.type_name());
}

Value dict_of(const TreeObject& t) {
  auto d = make_ref<DictObject>();
  for (auto& [name, leaf] : t.leaves()) d->put(Value(name), leaf);
  return d;
}

TreePtr from_dict(TreeKind kind, const Value& v) {
  auto* d = v.as<DictObject>();
  if (!d) type_error("from_dict takes a dict from dotted names to leaves, got " + v.type_name());
  TreePtr t = make_tree(kind);
  for (const auto& [k, leaf] : d->items) {
    if (leaf.as<DictObject>())
      throw Error(fmt::format("from_dict: `{}` is a dict: the keys are dotted names", key_name(k, "from_dict")),
                  {fmt::format("write its entries as `\"{}.name\": leaf`", key_name(k, "from_dict"))})
          .as(codes::key);
    t->insert(key_name(k, "from_dict"), leaf);
  }
  return t;
}

TreePtr pack(Interpreter& in, TreeKind kind, const Value& keys, const Value& values) {
  std::vector<Value> k = elements_of(in, keys), v = elements_of(in, values);
  if (k.size() != v.size())
    throw Error("pack: " + std::to_string(k.size()) + " keys for " + std::to_string(v.size()) + " values")
        .as(codes::key);
  TreePtr t = make_tree(kind);
  for (size_t i = 0; i < k.size(); ++i) t->insert(key_name(k[i], "pack"), v[i]);
  return t;
}

Value m_insert(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  t.insert(key_name(a.value("key"), "insert"), a.value("value"), a.boolean("overwrite"));
  return {};
}
Value m_update(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  Value given = a.value("tree");
  TreePtr other = given.as<DictObject>() ? from_dict(t.kind, given) : as_tree(given, "update");
  bool overwrite = a.boolean("overwrite");
  if (other.get() == &t) return {};
  if (!overwrite)  // if one name clashes, nothing changes
    for (auto& [name, leaf] : other->leaves())
      if (t.find(name))
        throw Error("update: `" + name + "` already exists in the tree", {"`overwrite = true` replaces it"})
            .as(codes::key);
  for (auto& [name, leaf] : other->leaves()) t.insert(name, leaf, overwrite);
  return {};
}
Value m_pop(Interpreter& in, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  Value key = a.value("key");
  if (!t.contains(in, key) && !args.named.empty()) return a.value("default");
  if (!t.contains(in, key) && args.positional.size() > 1) return a.value("default");
  Value found = t.index(in, key);
  t.erase(key_name(key, "pop"));
  return found;
}
Value m_get(Interpreter& in, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  Value key = a.value("key");
  bool fallback = args.positional.size() + args.named.size() > 1;
  if (fallback && !t.contains(in, key)) return a.value("default");
  return t.index(in, key);
}
Value m_copy(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  return t.copy();
}
Value m_filter_keys(Interpreter& in, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  Value given = a.value("keys");
  TreePtr out = make_tree(t.kind);
  std::vector<Value> keys;
  if (given.as_string())
    keys.push_back(given);
  else
    keys = elements_of(in, given);
  std::set<std::string> wanted;
  for (const Value& k : keys) {
    Value found = t.index(in, k);  // throws an error with a suggestion
    wanted.insert(key_name(k, "filter_keys"));
  }
  for (auto& [name, leaf] : t.leaves())
    for (const std::string& w : wanted)
      if (name == w || (name.size() > w.size() && name.compare(0, w.size(), w) == 0 && name[w.size()] == '.')) {
        out->insert(name, leaf);
        break;
      }
  return out;
}
Value m_keys(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  std::vector<Value> out;
  for (const auto& [k, v] : t.items) out.emplace_back(k);
  return make_list(std::move(out));
}
Value m_values(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  std::vector<Value> out;
  for (const auto& [k, v] : t.items) out.push_back(v);
  return make_list(std::move(out));
}
Value m_items(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  std::vector<Value> out;
  for (const auto& [k, v] : t.items) out.push_back(make_tuple({Value(k), v}));
  return make_list(std::move(out));
}
Value m_keys_flat(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  std::vector<Value> out;
  for (auto& [k, v] : t.leaves()) out.emplace_back(k);
  return make_list(std::move(out));
}
Value m_values_flat(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  std::vector<Value> out;
  for (auto& [k, v] : t.leaves()) out.push_back(v);
  return make_list(std::move(out));
}
Value m_items_flat(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  std::vector<Value> out;
  for (auto& [k, v] : t.leaves()) out.push_back(make_tuple({Value(k), v}));
  return make_list(std::move(out));
}
Value m_len_flat(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  return static_cast<int64_t>(t.leaves().size());
}
Value m_to_dict(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  return dict_of(t);
}
Value m_from_dict(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  return from_dict(t.kind, a.value("dict"));
}
Value m_pack(Interpreter& in, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  return pack(in, t.kind, a.value("keys"), a.value("values"));
}
Value m_unpack(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  auto all = t.leaves();
  if (all.empty()) return make_tuple({make_list({}), make_list({})});
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<Value> keys, values;
  for (auto& [k, v] : all) {
    keys.emplace_back(k);
    values.push_back(v);
  }
  return make_tuple({make_tuple(std::move(keys)), make_tuple(std::move(values))});
}
Value m_map(Interpreter& in, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  TreePtr out = make_tree(TreeKind::plain);
  bool tensors = true;
  for (auto& [name, leaf] : t.leaves()) {
    Value made = invoke(in, a.value("function"), {leaf});
    tensors = tensors && as_tensor(made);
    out->insert(name, std::move(made));
  }
  if (tensors) {  // if every tensor maps to a tensor, `.tensors` stays
    TreePtr typed = make_tree(TreeKind::tensors);
    for (auto& [name, leaf] : out->leaves()) typed->insert(name, leaf);
    return typed;
  }
  return out;
}
Value m_to_mapping(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  TreePtr other = as_tree(a.value("other"), "to_mapping");
  auto d = make_ref<DictObject>();
  for (auto& [name, leaf] : t.leaves()) {
    const Value* match = other->find(name);
    if (match && !match->as<TreeObject>()) d->put(leaf, *match);
  }
  return d;
}
Value m_remap(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  auto* d = a.value("names").as<DictObject>();
  if (!d) type_error("remap takes a dict from old to new names, got " + a.value("names").type_name());
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [from, to] : d->items) {
    std::string old_name = key_name(from, "remap");
    if (!t.find(old_name)) {
      std::vector<std::string> names;
      for (auto& [n, l] : t.leaves()) names.push_back(n);
      std::string hint = did_you_mean(old_name, names);
      throw Error("remap: key does not exist: `" + old_name + "`" + (hint.empty() ? "" : "; " + hint)).as(codes::key);
    }
    pairs.emplace_back(old_name, key_name(to, "remap"));
  }
  TreePtr out = make_tree(t.kind);
  for (auto& [name, leaf] : t.leaves()) {
    std::string renamed = name;
    for (const auto& [from, to] : pairs)
      if (name == from ||
          (name.size() > from.size() && name.compare(0, from.size(), from) == 0 && name[from.size()] == '.'))
        renamed = to + name.substr(from.size());
    out->insert(renamed, leaf);
  }
  return out;
}
Value initialised(Interpreter& in, TreeObject& t, const Arguments& args, const char* where, bool zero) {
  ArgReader a(where, args, {"prefix", "shard", "replica_grouping", "copies"});
  const Ir& ir = *graphs_of(in).target().ir;
  const VariablePlacement placement{to_variable_groups(a.value_or("replica_grouping", {}), ir),
                                    to_shard_groups(a.value_or("shard", {}), ir)};
  std::optional<int64_t> copies;
  if (a.has("copies")) copies = a.integer("copies");
  if (copies && *copies < 1)
    throw Error(std::string(where) + ": `copies` is at least 1, got " + std::to_string(*copies)).as(codes::value);
  return init_factories(in, t, a.string_or("prefix", ""), placement, zero, copies);
}
Value m_init(Interpreter& in, TreeObject& t, const Arguments& args) { return initialised(in, t, args, "init", false); }
Value m_init_zero(Interpreter& in, TreeObject& t, const Arguments& args) {
  return initialised(in, t, args, "init_zero", true);
}
Value m_init_undef(Interpreter& in, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  return init_undefined(in, t);
}
Value m_clear(Interpreter&, TreeObject& t, const Arguments& args) {
  ArgReader a(args);
  std::vector<TreeObject*> open{&t};
  while (!open.empty()) {
    TreeObject* at = open.back();
    open.pop_back();
    at->changing();
    at->erase_items([](const auto& item) { return !item.second.template as<TreeObject>(); });
    for (auto& [k, v] : at->items) open.push_back(v.as<TreeObject>());
  }
  return {};
}

using Got = std::optional<Value>;
constexpr Member<TreeObject> tree_rows[] = {
    {"insert", "(key, value, overwrite = false)", "Adds a leaf or a tree under a dotted name.",
     "t.insert('fc2.bias', 3)\nt", m_insert},
    {"update", "(tree, overwrite = false)", "Adds all leaves of a tree or a dict.", "t.update({'fc2.bias': 3})\nt",
     m_update},
    {"pop", "(key, default)",
     "Removes a leaf or a tree and returns it; the default, if one is given, for an unknown name.",
     "t.pop('fc1.bias'), t", m_pop},
    {"get", "(key, default)",
     "The leaf or tree under a dotted name; the default, if one is given, for an unknown name.",
     "t.get('fc2.bias', none)", m_get},
    {"copy", "()", "A new tree with the same leaves.", "t.copy() is t", m_copy},
    {"filter_keys", "(keys)", "A tree of the leaves under these names.", "t.filter_keys(['fc1.bias'])", m_filter_keys},
    {"keys", "()", "The names at the top level, as a list.", "t.keys()", m_keys},
    {"values", "()", "The leaves and trees at the top level, as a list.", "t.values()", m_values},
    {"items", "()", "A list of tuples (name, leaf or tree) of the top level.", "t.items()", m_items},
    {"keys_flat", "()", "The dotted names of all leaves, as a list.", "t.keys_flat()", m_keys_flat},
    {"values_flat", "()", "A list of all leaves.", "t.values_flat()", m_values_flat},
    {"items_flat", "()", "A list of tuples (dotted name, leaf).", "t.items_flat()", m_items_flat},
    {"len_flat", "()", "The number of leaves; `len(t)` counts the top level.", "t.len_flat()", m_len_flat},
    {"to_dict", "()", "A dict from dotted names to leaves.", "t.to_dict()", m_to_dict},
    {"from_dict", "(dict)", "A new tree of a dict from dotted names to leaves.", "DotTree.from_dict({'fc1.bias': 1})",
     m_from_dict},
    {"pack", "(keys, values)", "A new tree of dotted names and as many leaves.", "DotTree.pack(['a', 'b'], [1, 2])",
     m_pack},
    {"unpack", "()", "Two tuples, the dotted names and the leaves, in alphabetical order.", "t.unpack()", m_unpack},
    {"map", "(function)", "A tree of what a function returns for each leaf.", "t.map(x => x * 10)", m_map},
    {"to_mapping", "(other)", "A dict from leaves to those under the same names in another tree.",
     "t.to_mapping(DotTree(fc1 = DotTree(bias = 7)))", m_to_mapping},
    {"remap", "(names)", "A tree in which a dict from old to new names has renamed leaves and trees.",
     "t.remap({'fc1': 'first'})", m_remap},
    {"clear", "()", "Removes all leaves and keeps the trees.", "t.clear()\nt.len_flat()", m_clear},
};
constexpr std::span<const Member<TreeObject>> tree_table(tree_rows);

/// Methods of trees that hold tensors, and of plain trees.
constexpr Member<TreeObject> tensors_rows[] = {
    {"tensors", "The tensors, as a tuple sorted by name.", "NamedTensors(w = variable(1.0, name = 'w')).tensors",
     [](Interpreter&, TreeObject& t) -> Got { return make_tuple(t.sorted_tensors()); }},
    {"named_tensors", "A dict from dotted names to tensors.",
     "NamedTensors(w = variable(1.0, name = 'w')).named_tensors",
     [](Interpreter&, TreeObject& t) -> Got { return dict_of(t); }},
};
constexpr std::span<const Member<TreeObject>> tensors_table(tensors_rows);

/// Methods of trees that hold variable factories.
constexpr Member<TreeObject> factory_rows[] = {
    {"init", "(prefix = '', shard = none, replica_grouping = none, copies = none)",
     "Variables for all factories, with their initial values, as a tree to bind. `copies = n` gives each a first axis "
     "with the draws of n calls, for `vmap`. With replicas, `shard` is the "
     "grouping "
     "whose members share the parts of each, and `replica_grouping` that of the values, of params declared without "
     "one.",
     "facts.init().keys_flat()", m_init},
    {"init_zero", "(prefix = '', shard = none, replica_grouping = none, copies = none)",
     "Variables for all factories, filled with zeros.", "facts.init_zero().keys_flat()", m_init_zero},
    {"init_remote", "(buffers, entry = 0, prefix = '')",
     "Variables for all factories that are entries of remote buffers, those with the same names in a tree.",
     "facts.init_remote(named_variable_buffers(facts)).keys_flat()", init_remotely},
    {"init_undef", "()", "Tensors of the graph that is being built for all factories, with undefined elements.",
     "facts.init_undef().keys_flat()", m_init_undef},
};
constexpr std::span<const Member<TreeObject>> factory_table(factory_rows);

/// `NamedTensors`, `NamedVariableFactories`, `DotTree` themselves.
struct TreeClassObject final : Object {
  TreeKind kind;
  explicit TreeClassObject(TreeKind k) : kind(k) {}
  std::string type_name() const override { return "type"; }
  std::string repr(Interpreter&) override { return TreeObject(kind).type_name(); }
  bool callable() const override { return true; }
  Value call(Interpreter&, Arguments args) override {
    TreePtr t = make_tree(kind);
    if (args.positional.size() > 1 ||
        (!args.positional.empty() && !args.positional[0].as<DictObject>() && !args.positional[0].as<TreeObject>()))
      type_error(t->type_name() + " takes `name = value` arguments, or one dict or tree");
    if (!args.positional.empty()) {
      const Value& given = args.positional[0];
      t = given.as<DictObject>() ? from_dict(kind, given) : given.as<TreeObject>()->copy();
      t->kind = kind;
    }
    for (NamedArg& n : args.named) t->insert(n.name, std::move(n.value));
    return t;
  }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name != "from_dict" && name != "pack") return std::nullopt;
    return bind_member(*find_member(tree_table, name), *make_tree(kind));
  }
  std::vector<std::string> member_names() const override { return {"from_dict", "pack"}; }
};

/// The leaves in a further tree of `tree_map`, by those of the first tree. Throws unless they have the same paths. A
/// gradient lacks leaves without a derivative: they are nothing here.
std::vector<std::optional<Value>> matching_leaves(Interpreter& in, const Value& tree,
                                                  const std::vector<TreeLeaf>& first) {
  const std::vector<TreeLeaf> leaves = tree_leaves(in, tree);
  std::vector<std::optional<Value>> ordered;
  const auto has = [](const std::vector<TreeLeaf>& among, const std::string& path) {
    return std::ranges::find(among, path, &TreeLeaf::first) != among.end();
  };
  for (const TreeLeaf& leaf : leaves)
    if (!has(first, leaf.first))
      throw Error("tree_map: a tree has `" + leaf.first + "`, which the first has not").as(codes::key);
  for (const TreeLeaf& leaf : first) {
    const auto at = std::ranges::find(leaves, leaf.first, &TreeLeaf::first);
    const Value& v = leaf.second;
    const bool has_gradient = as_tensor(v) || v.as_array() || v.is_float();
    if (at == leaves.end() && (has_gradient || !tree.as<GradientsObject>()))
      throw Error("tree_map: a tree lacks `" + leaf.first + "`, which the first has").as(codes::key);
    ordered.push_back(at == leaves.end() ? std::nullopt : std::optional(at->second));
  }
  return ordered;
}

Value mapped_trees(Interpreter& in, const Arguments& args) {
  if (args.positional.size() < 2 || !args.named.empty())
    throw Error("tree_map takes a function, then one or more trees").as(codes::arguments);
  const Value& f = args.positional[0];
  if (!f.is_object() || !f.object()->callable())
    type_error("tree_map takes a function first, got " + with_article(f.type_name()));
  const std::vector<TreeLeaf> first = tree_leaves(in, args.positional[1]);
  std::vector<std::vector<std::optional<Value>>> others;
  for (size_t i = 2; i < args.positional.size(); ++i) others.push_back(matching_leaves(in, args.positional[i], first));
  size_t next = 0;
  const Value mapped = map_tree(in, args.positional[1], [&](const Value& leaf, const std::string&) {
    Arguments call;
    call.span = args.span;
    call.positional.push_back(leaf);
    const size_t i = next++;
    for (const auto& leaves : others) {
      if (!leaves[i]) return leaf;
      call.positional.push_back(*leaves[i]);
    }
    return invoke(in, f, std::move(call));
  });
  if (const auto* gradients = args.positional[1].as<GradientsObject>())
    mapped.as<GradientsObject>()->belong_to(*gradients);
  return mapped;
}

}  // namespace

MemberTable tree_members() {
  MemberTable all = member_table("tree",
                                 "Values under dotted names: NamedTensors of a graph's params, DotTree of anything. "
                                 "`t.fc1.bias` and `t['fc1.bias']` are a leaf.",
                                 "t = DotTree(fc1 = DotTree(weight = 2, bias = 1))", tree_table);
  for (const Member<TreeObject>& row : tensors_table) all.rows.push_back(&row.info);
  return all;
}
MemberTable factories_members() {
  return member_table(
      "factories",
      "NamedVariableFactories, as `create_graph` returns them: a tree of variable factories, one for each "
      "`param`. It has the members of a tree, and these.",
      "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])", factory_table);
}

std::optional<Value> TreeObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, tree_table, *this, name)) return found;
  if (std::optional<Value> found =
          member_of_table(in, kind == TreeKind::factories ? factory_table : tensors_table, *this, name))
    return found;
  for (const auto& [k, v] : items)
    if (k == name) return v;
  return std::nullopt;
}

std::vector<std::string> TreeObject::member_names() const {
  std::vector<std::string> names;
  for (const auto& [k, v] : items) names.push_back(k);
  append_names(names, tree_table);
  append_names(names, kind == TreeKind::factories ? factory_table : tensors_table);
  return names;
}

void bind_tree_builtins(Scope& prelude) {
  define(prelude, no_effects,
         {"tree_map(f, tree, *trees)",
          "The results of f for each leaf of a tree, and for the leaves at the same paths in further trees. They have "
          "the form of the first tree. Lists, tuples, dicts, named trees, records and gradients are trees. A leaf that "
          "has "
          "no gradient in a further tree of gradients stays as it is.",
          "tree_map((a, b) => a + b, {'w': 1, 'b': [2, 3]}, {'w': 10, 'b': [20, 30]})"},
         [](Interpreter& in, Arguments args) { return mapped_trees(in, args); });
  prelude.bind("DotTree", make_ref<TreeClassObject>(TreeKind::plain));
  prelude.bind("NamedTensors", make_ref<TreeClassObject>(TreeKind::tensors));
  prelude.bind("NamedVariableFactories", make_ref<TreeClassObject>(TreeKind::factories));
}

}  // namespace pxl
