// A graph's own rules: its gradient, its tangent, its batch form. The Ir keeps them, by the rule's name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/graph/ir.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {

/// The graph's own rule of a kind; an empty one if it has none. A copy, since another graph's rule replaces the map.
template <class Rule>
Rule own_rule(const Graph& graph, const std::string& kind) {
  const auto known = std::static_pointer_cast<const std::map<const Graph*, Rule>>(graph.ir().memo[kind]);
  if (!known) return {};
  const auto found = known->find(&graph);
  return found == known->end() ? Rule{} : found->second;
}

/// Gives a graph its own rule of a kind. Undo restores the rules from before.
template <class Rule>
void set_own_rule(Graph& graph, const std::string& kind, Rule rule) {
  using Rules = std::map<const Graph*, Rule>;
  GraphTransaction::changing(graph.ir());
  auto& slot = graph.ir().memo[kind];
  const auto before = std::static_pointer_cast<const Rules>(slot);
  auto after = before ? std::make_shared<Rules>(*before) : std::make_shared<Rules>();
  (*after)[&graph] = std::move(rule);
  slot = after;
}

}  // namespace pxl
