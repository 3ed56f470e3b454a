// What nodes compute, by the definitions of their ops: members run one after the other, whatever their form. Engines do
// not run so; it is what plans are held to (PXL_VERIFY=run).
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/plan/node.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// The observable values of one run of a graph's nodes: its outputs, what it stores to streams, in order, and the
/// variables and inputs that it changes, by name: of these what is live (Keep).
using NodeValues = std::vector<std::pair<std::string, Array>>;

/// Runs nodes on random values of variables, inputs and streams, which `seed` and names determine. Called graphs run op
/// by op. Collectives and remote buffers give random values plus a mean of their operands. Throws what definitions
/// throw.
NodeValues run_nodes(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                     uint64_t seed);

/// The first value that differs between two runs, by more than the rounding of other sums; empty if there is none.
std::string first_difference(const NodeValues& before, const NodeValues& after);

/// Holds each pass to the values that the nodes had before it.
class ValuesVerifier {
 public:
  ValuesVerifier(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep);
  /// Throws an internal Error that names `pass` and the first value that differs.
  void check(const std::vector<Node>& nodes, std::string_view pass);

 private:
  const std::vector<const Tensor*>& outputs_;
  Keep keep_;
  bool runs_ = false;
  NodeValues before_;
};

}  // namespace pxl
