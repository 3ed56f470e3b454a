// Gradient graphs as values.
#pragma once

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/transform/autodiff.hpp"

namespace pxl {

/// The result of `autodiff`. It is callable like a graph, and has the maps that connect it to a call of the forward
/// graph.
struct GradGraphObject final : Object {
  std::shared_ptr<Ir> ir;
  GradGraphInfoPtr info;
  Ref<GraphObject> graph;
  std::string type_name() const override { return "gradient graph"; }
  std::string repr(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override { return graph->call(in, std::move(args)); }
};

Value grad_graph_value(const std::shared_ptr<Ir>& ir, GradGraphInfoPtr info);
/// `called_graphs_grad_info`: a dict from graphs to gradient graphs, or none.
std::map<Graph*, GradGraphInfoPtr> to_grad_infos(const Value& v);

/// The result of `backward`: gradients by tensor, by name, and in the requested order.
struct GradientsObject final : Object {
  std::shared_ptr<Ir> ir;
  std::vector<Tensor*> wanted;
  std::vector<std::string> names;  ///< dotted names if a tree was requested, otherwise the tensors' names
  std::vector<std::string> paths;  ///< the same below dicts and trees; "1.weight" below the second item of a list
  std::vector<Value> gradients;
  bool of_tree = false;  ///< whether a tree was requested: the order is then alphabetical
  std::string type_name() const override { return "gradients"; }
  std::string repr(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter& in, const Value& key) override;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(parts().size()); }
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value& item) override;
  bool truth(Interpreter&) override { return !gradients.empty(); }

  TreePtr tree() const;
  /// Makes these the gradients of the same tensors as others.
  void belong_to(const GradientsObject& others) { ir = others.ir, wanted = others.wanted; }
  /// Those of a list, by item: the gradient of a tensor, or the gradients of a tree. Otherwise each gradient.
  std::vector<Value> parts() const;

 private:
  /// What the keys have at or below one of them: a gradient, or gradients of a tree.
  Value below(const std::vector<std::string>& keys, std::string_view key) const;
};

}  // namespace pxl
