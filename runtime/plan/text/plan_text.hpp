// A plan's nodes as text, and back. A plan that was read runs exactly as the plan that was written. docs/engines.md has
// the grammar, fields.hpp the fields.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/node.hpp"

namespace pxl {

/// The nodes of a graph's plan, and the tensors that are its results.
std::string write_plan(const Graph& graph, const std::vector<Node>& nodes, const std::vector<const Tensor*>& results);

struct ReadPlan {
  std::vector<Node> nodes;
  std::vector<const Tensor*> results;
  std::deque<Tensor> tensors;  ///< those that the program does not have
  std::deque<Op> ops;
};
/// Reads the text that write_plan wrote for a graph of this program. Tensors, graphs and streams of the program are
/// found by their names, and the places of ops by their numbers; `plan_of` returns the plans of called graphs. Throws
/// Error, with the line, for other text, and for text of another program.
std::unique_ptr<ReadPlan> read_plan(std::string_view text, const Ir& ir,
                                    const std::function<const Plan*(const Graph&)>& plan_of);

}  // namespace pxl
