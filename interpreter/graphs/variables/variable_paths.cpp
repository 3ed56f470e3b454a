#include "interpreter/graphs/variables/variable_paths.hpp"

#include <fmt/format.h>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/graphs/tensor_objects.hpp"

namespace pxl {

namespace {

using VariablePaths = std::unordered_map<const Tensor*, VariablePath>;

constexpr int max_path_depth = 8;  ///< maximum nesting of lists and dicts

class PathFinder {
 public:
  explicit PathFinder(const Ir& ir) : ir_(ir) {}

  void visit(const Value& v, const std::string& prefix, int depth) {
    if (const Tensor* t = v.as<TensorObject>() ? as_tensor(v) : nullptr) {
      add(t, prefix, "");
    } else if (const auto* tree = v.as<TreeObject>()) {
      visit_tree(*tree, prefix);
    } else if (const auto* bound = v.as<BoundGraphObject>()) {
      if (bound->vars) visit_tree(*bound->vars, prefix);
      if (bound->states) visit_tree(*bound->states, prefix);
    } else if (depth == max_path_depth) {
      return;
    } else if (const auto* list = v.as<SequenceObject>()) {
      for (size_t i = 0; i < list->items.size(); ++i) visit(list->items[i], fmt::format("{}.{}", prefix, i), depth + 1);
    } else if (const auto* dict = v.as<DictObject>()) {
      for (const auto& [key, value] : dict->items)
        if (key.as_string()) visit(value, fmt::format("{}.{}", prefix, *key.as_string()), depth + 1);
    }
  }

  VariablePaths take() && { return std::move(paths_); }

 private:
  void add(const Tensor* t, const std::string& prefix, const std::string& path) {
    if (t->kind == TensorKind::variable && t->graph && &t->graph->ir() == &ir_)
      paths_.try_emplace(t, VariablePath{prefix, path});
  }
  void visit_tree(const TreeObject& tree, const std::string& prefix) {
    for (const auto& [name, leaf] : tree.leaves())
      if (const Tensor* t = as_tensor(leaf)) add(t, prefix, name);
  }

  const Ir& ir_;
  VariablePaths paths_;
};

/// Derives the paths of variables that are named after others.
void derive(const Ir& ir, VariablePaths& paths) {
  const std::vector<Tensor*> variables = ir.variables();
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const Tensor* v : variables) by_name.emplace(v->name, v);
  for (const Tensor* v : variables) {
    const std::string_view name = v->name;
    for (size_t dot = name.rfind('.'); dot != name.npos && dot > 0; dot = name.rfind('.', dot - 1)) {
      const auto owner = by_name.find(name.substr(0, dot));
      const auto path = owner == by_name.end() ? paths.end() : paths.find(owner->second);
      if (path == paths.end() || !path->second.known()) continue;
      const std::string rest = base_name(name.substr(dot + 1));
      paths[v] = {path->second.prefix, path->second.path.empty() ? rest : path->second.path + "." + rest};
      break;
    }
  }
}

VariablePaths found_in(const Ir& ir, const Scope& fields) {
  PathFinder finder(ir);
  for (const Scope::Entry& e : fields.entries()) finder.visit(e.value, e.name.text(), 0);
  return std::move(finder).take();
}

}  // namespace

std::unordered_map<const Tensor*, VariablePath> variable_paths(const Ir& ir, const Scope& fields) {
  VariablePaths paths = found_in(ir, fields);
  derive(ir, paths);
  return paths;
}

void name_variables(Ir& ir, const Scope& fields) {
  const VariablePaths local = found_in(ir, fields);
  const std::vector<Tensor*> variables = ir.variables();
  VariablePaths paths;
  std::unordered_map<std::string, int> count;
  for (const Tensor* v : variables) {
    const VariablePath& known = v->shared ? v->shared->path : v->path;
    const auto here = local.find(v);
    if (known.known() || !known.path.empty())
      paths[v] = known;
    else if (here != local.end())
      paths[v] = here->second;
    if (const auto path = paths.find(v); path != paths.end()) ++count[path->second.text()];
  }
  for (const auto& [v, path] : local)
    if (v->shared && count[paths[v].text()] > 1) paths[v] = path;
  derive(ir, paths);
  for (Tensor* v : variables)
    if (const auto path = paths.find(v); path != paths.end()) v->path = path->second;
}

}  // namespace pxl
