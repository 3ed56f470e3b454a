// Finishes an exported graph: removes unused nodes, and sets the order and the names of inputs and outputs.
#include <algorithm>

#include "interpreter/onnx/exporter.hpp"

namespace pxl::onnx {

void Exporter::prune() {
  std::set<std::string> needed;
  const auto need = [&](const auto& self, const Graph& g) -> void {
    for (const ValueInfo& o : g.outputs) needed.insert(o.name);
    for (size_t i = g.nodes.size(); i-- > 0;) {
      const Node& n = g.nodes[i];
      const bool used =
          std::any_of(n.outputs.begin(), n.outputs.end(), [&](const auto& o) { return needed.contains(o); });
      if (!used) continue;
      needed.insert(n.inputs.begin(), n.inputs.end());
      for (const Attribute& a : n.attributes)
        if (a.graph) self(self, *a.graph);
    }
  };
  need(need, model_.graph);
  const auto erase = [&](const auto& self, Graph& g) -> void {
    std::erase_if(g.nodes, [&](const Node& n) {
      return std::none_of(n.outputs.begin(), n.outputs.end(), [&](const auto& o) { return needed.contains(o); });
    });
    for (Node& n : g.nodes)
      for (Attribute& a : n.attributes)
        if (a.graph) self(self, *a.graph);
  };
  erase(erase, model_.graph);
  std::erase_if(model_.graph.initialisers, [&](const TensorData& t) { return !needed.contains(t.name); });
  name_outputs();
}

void Exporter::in_order_of_declaration(std::vector<ValueInfo>& values) {
  std::stable_sort(values.begin(), values.end(), [&](const ValueInfo& a, const ValueInfo& b) {
    const auto at = [&](const std::string& name) {
      const auto found = declared_.find(name);
      return found == declared_.end() ? 0 : found->second;
    };
    return at(a.name) < at(b.name);
  });
}

void Exporter::name_outputs() {
  std::vector<Node>& nodes = model_.graph.nodes;
  for (const ValueInfo& o : model_.graph.outputs) {
    const auto made_by = [&](const std::string& name) {
      return std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) {
        return std::find(n.outputs.begin(), n.outputs.end(), name) != n.outputs.end();
      });
    };
    const auto copy = made_by(o.name);
    if (copy == nodes.end() || copy->op != "Identity") continue;
    const std::string value = copy->inputs[0];
    const auto maker = made_by(value);
    const bool output_too = std::any_of(model_.graph.outputs.begin(), model_.graph.outputs.end(),
                                        [&](const ValueInfo& other) { return other.name == value; });
    if (maker == nodes.end() || output_too) continue;
    std::replace(maker->outputs.begin(), maker->outputs.end(), value, o.name);
    nodes.erase(copy);
    rename(model_.graph, value, o.name);
  }
}

void Exporter::rename(Graph& graph, const std::string& from, const std::string& to) {
  for (Node& n : graph.nodes) {
    std::replace(n.inputs.begin(), n.inputs.end(), from, to);
    for (Attribute& a : n.attributes)
      if (a.graph) rename(*a.graph, from, to);
  }
}

}  // namespace pxl::onnx
