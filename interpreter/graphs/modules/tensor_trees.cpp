#include "interpreter/graphs/modules/tensor_trees.hpp"

#include <algorithm>

#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/records.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {
namespace {

std::string joined(const std::string& path, const std::string& part) { return path.empty() ? part : path + "." + part; }

class Mapper {
 public:
  Mapper(Interpreter& in, const std::function<Value(const Value&, const std::string&)>& leaf) : in_(in), leaf_(leaf) {}

  Value map(const Value& v, const std::string& path) {
    if (!is_tree(v)) return leaf_(v, path);
    const DepthGuard depth(in_);
    const Object* o = v.object().get();
    if (std::find(open_.begin(), open_.end(), o) != open_.end())
      throw Error("a list that holds itself is no tree of tensors").as(codes::value);
    open_.push_back(o);
    Value mapped = map_branch(v, path);
    open_.pop_back();
    return mapped;
  }

 private:
  Value map_branch(const Value& v, const std::string& path) {
    if (auto* list = v.as<SequenceObject>()) {
      std::vector<Value> items;
      for (size_t i = 0; i < list->items.size(); ++i)
        items.push_back(map(list->items[i], joined(path, std::to_string(i))));
      return v.as<TupleObject>() ? make_tuple(std::move(items)) : make_list(std::move(items));
    }
    if (auto* dict = v.as<DictObject>()) {
      auto out = make_ref<DictObject>();
      for (const auto& [key, item] : dict->items) {
        const std::string* name = key.as_string();
        out->put(key, map(item, joined(path, name ? *name : repr_of(in_, key))));
      }
      return Value(out);
    }
    if (auto* record = v.as<RecordObject>()) {
      std::vector<Value> fields;
      for (size_t i = 0; i < record->values.size(); ++i)
        fields.push_back(map(record->values[i], joined(path, record->field(i))));
      return make_ref<RecordObject>(record->type, std::move(fields));
    }
    if (auto* gradients = v.as<GradientsObject>()) {
      auto out = make_ref<GradientsObject>();
      out->names = gradients->names;
      out->paths = gradients->paths;
      for (size_t i = 0; i < gradients->gradients.size(); ++i)
        out->gradients.push_back(map(gradients->gradients[i], joined(path, gradients->paths[i])));
      return Value(out);
    }
    const auto* tree = v.as<TreeObject>();
    TreePtr out = make_tree(tree->kind);
    for (const auto& [key, item] : tree->items) out->items.emplace_back(key, map(item, joined(path, key)));
    return Value(out);
  }

  Interpreter& in_;
  const std::function<Value(const Value&, const std::string&)>& leaf_;
  std::vector<const Object*> open_;
};

}  // namespace

bool is_tree(const Value& v) {
  return v.as<SequenceObject>() || v.as<DictObject>() || v.as<TreeObject>() || v.as<GradientsObject>() ||
         v.as<RecordObject>();
}

Value map_tree(Interpreter& in, const Value& v, const std::function<Value(const Value&, const std::string&)>& leaf) {
  return Mapper(in, leaf).map(v, "");
}

std::vector<TreeLeaf> branches_of(Interpreter& in, const Value& v) {
  std::vector<TreeLeaf> parts;
  if (const auto* list = v.as<SequenceObject>())
    for (size_t i = 0; i < list->items.size(); ++i) parts.emplace_back(std::to_string(i), list->items[i]);
  if (const auto* dict = v.as<DictObject>())
    for (const auto& [key, item] : dict->items)
      parts.emplace_back(key.as_string() ? *key.as_string() : repr_of(in, key), item);
  if (const auto* record = v.as<RecordObject>())
    for (size_t i = 0; i < record->values.size(); ++i) parts.emplace_back(record->field(i), record->values[i]);
  if (const auto* tree = v.as<TreeObject>())
    for (const auto& [key, item] : tree->items) parts.emplace_back(key, item);
  if (const auto* gradients = v.as<GradientsObject>())
    for (size_t i = 0; i < gradients->gradients.size(); ++i)
      parts.emplace_back(gradients->paths[i], gradients->gradients[i]);
  return parts;
}

std::vector<TreeLeaf> tree_leaves(Interpreter& in, const Value& v) {
  std::vector<TreeLeaf> leaves;
  if (auto* tree = v.as<TreeObject>()) return tree->leaves();
  map_tree(in, v, [&](const Value& leaf, const std::string& path) {
    leaves.emplace_back(path, leaf);
    return Value();
  });
  return leaves;
}

bool holds_tensors(Interpreter& in, const Value& v) {
  if (is_tensor_like(v)) return true;
  if (!is_tree(v)) return false;
  const std::vector<TreeLeaf> leaves = tree_leaves(in, v);
  return std::any_of(leaves.begin(), leaves.end(), [](const TreeLeaf& leaf) { return is_tensor_like(leaf.second); });
}

std::vector<Value> tensors_in(Interpreter& in, const Value& v) {
  std::vector<Value> tensors;
  for (auto& [path, leaf] : tree_leaves(in, v))
    if (as_tensor(leaf)) tensors.push_back(std::move(leaf));
  return tensors;
}

}  // namespace pxl
