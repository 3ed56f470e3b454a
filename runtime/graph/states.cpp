#include "runtime/graph/states.hpp"

#include <algorithm>
#include <map>

namespace pxl {

namespace {

using States = std::map<const Graph*, std::vector<GraphState>>;
constexpr const char* states_memo = "states";

}  // namespace

std::vector<GraphState> states_of(const Graph& graph) {
  const auto& memo = graph.ir().memo;
  const auto slot = memo.find(states_memo);
  if (slot == memo.end()) return {};
  const auto& known = *std::static_pointer_cast<const States>(slot->second);
  const auto found = known.find(&graph);
  return found == known.end() ? std::vector<GraphState>() : found->second;
}

// A copy: a mark of the Ir keeps the table that it has.
void set_states(const Graph& graph, std::vector<GraphState> states) {
  if (states.empty()) return;
  auto& slot = graph.ir().memo[states_memo];
  const auto before = std::static_pointer_cast<const States>(slot);
  auto after = before ? std::make_shared<States>(*before) : std::make_shared<States>();
  (*after)[&graph] = std::move(states);
  slot = after;
}

bool is_state_of(const Graph& graph, const Tensor* input) {
  return std::ranges::any_of(states_of(graph), [&](const GraphState& s) { return s.input == input; });
}

size_t result_outputs(const Graph& graph) {
  const auto written = std::ranges::count_if(states_of(graph), [](const GraphState& s) { return s.next.has_value(); });
  return graph.declared_outputs() - static_cast<size_t>(written);
}

}  // namespace pxl
