// States of graphs: inputs whose next values are outputs. A session, or the graph around a call, keeps them.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct GraphState {
  Tensor* input = nullptr;     ///< has the value at the beginning of a call
  std::optional<size_t> next;  ///< number of the output with the next value; nothing if the graph only reads the state
};

/// The states of a graph. Their next values are the last of its declared outputs.
std::vector<GraphState> states_of(const Graph& graph);
void set_states(const Graph& graph, std::vector<GraphState> states);
bool is_state_of(const Graph& graph, const Tensor* input);
/// Number of declared outputs that are results: those that are no next values of states.
size_t result_outputs(const Graph& graph);

}  // namespace pxl
