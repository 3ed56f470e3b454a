#include "runtime/graph/op_scopes.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "runtime/base/text/join_texts.hpp"

namespace pxl {
namespace {

constexpr std::string_view gradient_mark = "Gradient___";
constexpr std::string_view gradient_graph_suffix = "_bwd";

/// The modules in a name: "blocks/0/mlp/gelu_out" is in blocks.0 and mlp.
ModulePath path_of(std::string_view name) {
  ModulePath parts;
  for (size_t at = 0, slash; (slash = name.find('/', at)) != name.npos; at = slash + 1) {
    std::string part(name.substr(at, slash - at));
    const bool number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    number && !parts.empty() ? void(parts.back() += "." + part) : parts.push_back(std::move(part));
  }
  return parts;
}

ModulePath common(const ModulePath& a, const ModulePath& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return ModulePath(a.begin(), end);
}

/// The graph whose gradient this graph computes; null for other graphs.
const Graph* forward_of(const Graph& graph) {
  const size_t at = graph.id().rfind(gradient_graph_suffix);
  if (at == std::string::npos) return nullptr;
  const std::string_view name = std::string_view(graph.id()).substr(0, at);
  for (const auto& other : graph.ir().graphs())
    if ((other->is_main() ? graph.ir().name() : other->id()) == name) return other.get();
  return nullptr;
}

class GradientScopes {
 public:
  GradientScopes(const Graph& graph, const Graph& forward) : forward_scopes_(op_scopes(forward)) {
    for (const auto& t : forward.tensors()) forward_[t->name] = t.get();
    for (const Tensor* t : graph.inputs())
      if (const auto found = forward_.find(t->name); found != forward_.end() && !found->second->key.empty())
        param_scope_[t] = path_of(t->name);
  }

  std::unordered_map<const Op*, ModulePath> run(const Graph& graph) {
    for (const auto& op : graph.ops())
      if (std::optional<ModulePath> path = known(*op)) scopes_[op.get()] = std::move(*path);
    // Other ops belong to the module of their users: a transposed activation to that of its matrix product.
    for (auto it = graph.ops().rbegin(); it != graph.ops().rend(); ++it) {
      if (scopes_.contains(it->get())) continue;
      std::optional<ModulePath> path;
      for (const Tensor* t : (*it)->outputs)
        for (const Op* user : t->consumers)
          if (const auto found = scopes_.find(user); found != scopes_.end())
            path = path ? common(*path, found->second) : found->second;
      scopes_[it->get()] = path.value_or(ModulePath{});
    }
    return std::move(scopes_);
  }

 private:
  std::optional<ModulePath> known(const Op& op) {
    // An op belongs to a param's module if it reads the param, or what one op made of that param alone (transposed,
    // cast).
    for (const Tensor* t : op.inputs) {
      const auto found = t ? param_scope_.find(t) : param_scope_.end();
      if (found == param_scope_.end()) continue;
      const ModulePath path = found->second;
      if (op.inputs.size() == 1)
        for (const Tensor* out : op.outputs) param_scope_[out] = path;
      return path;
    }
    if (op.outputs.empty()) return std::nullopt;
    const std::string& name = op.outputs.front()->name;
    const size_t slash = name.rfind('/');
    const size_t last = slash == name.npos ? 0 : slash + 1;
    if (std::string_view(name).substr(last).starts_with(gradient_mark)) {
      // The op that uses a tensor also computes the tensor's gradient.
      const std::string source = name.substr(0, last) + name.substr(last + gradient_mark.size());
      if (const auto found = forward_.find(source); found != forward_.end()) {
        std::optional<ModulePath> path;
        for (const Op* user : found->second->consumers) {
          const ModulePath& of_user = forward_scopes_[user];
          path = path ? common(*path, of_user) : of_user;
        }
        if (path) return path;
      }
    }
    const ModulePath path = path_of(name);
    return path.empty() ? std::nullopt : std::optional(path);
  }

  std::unordered_map<const Op*, ModulePath> forward_scopes_;
  std::unordered_map<std::string, const Tensor*> forward_;
  std::unordered_map<const Tensor*, ModulePath> param_scope_;
  std::unordered_map<const Op*, ModulePath> scopes_;
};

}  // namespace

std::unordered_map<const Op*, ModulePath> op_scopes(const Graph& graph) {
  if (const Graph* forward = forward_of(graph)) return GradientScopes(graph, *forward).run(graph);
  std::unordered_map<const Op*, ModulePath> scopes;
  for (const auto& op : graph.ops())
    scopes[op.get()] = op->outputs.empty() ? ModulePath{} : path_of(op->outputs.front()->name);
  return scopes;
}

std::string ModulePaths::of(const Op& op) {
  if (op.graph) {
    const auto [at, fresh] = scopes_.try_emplace(op.graph);
    if (fresh) at->second = op_scopes(*op.graph);
    if (const auto found = at->second.find(&op); found != at->second.end()) return join_texts(found->second, ".");
  }
  return op.outputs.empty() ? std::string() : join_texts(path_of(op.outputs.front()->name), ".");  // of a planner
}

/// The dotted name of a param, or of the param that a tensor is cast or transposed from; empty for other tensors.
std::string ModulePaths::param_name(const Tensor& t) {
  if (!t.key.empty()) return t.key;
  if (t.kind == TensorKind::variable) {
    std::string name = t.name;
    std::ranges::replace(name, '/', '.');
    return name;
  }
  if (t.producer && t.producer->called.empty() && t.producer->inputs.size() == 1 && t.producer->inputs[0])
    return param_name(*t.producer->inputs[0]);
  const Graph* forward = t.kind == TensorKind::input ? forward_of(*t.graph) : nullptr;
  if (!forward) return {};
  const auto [at, fresh] = forward_tensors_.try_emplace(t.graph);
  if (fresh)
    for (const auto& of_forward : forward->tensors()) at->second.emplace(of_forward->name, of_forward.get());
  const auto found = at->second.find(t.name);
  return found == at->second.end() ? std::string() : param_name(*found->second);
}

std::string ModulePaths::of_callee(const Op& call) {
  std::optional<std::string> module;
  const auto& inputs = call.called[0]->inputs();
  for (size_t i = 0; call.row->role == Role::call && i < inputs.size(); ++i) {
    if (!call.inputs[i]) continue;
    const std::string own = param_name(*inputs[i]), given = param_name(*call.inputs[i]);
    if (own.empty() || !given.ends_with("." + own)) continue;
    const std::string of_this = given.substr(0, given.size() - own.size() - 1);
    if (module && *module != of_this) return of(call);
    module = of_this;
  }
  return module ? *module : of(call);
}

}  // namespace pxl
