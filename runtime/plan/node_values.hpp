// Evaluates nodes by the definitions of their ops: members run one after the other, whatever the form. Engines do not
// run nodes this way; PXL_VERIFY=run compares plans with these values.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/plan/node.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// The values by name that a run of a graph's nodes shows or keeps (Keep): outputs, changed variables and inputs, and
/// the samples that each stream received, in order.
using NodeValues = std::vector<std::pair<std::string, Array>>;

/// Runs nodes on random values of variables, inputs and streams, which `seed` and names determine. Called graphs run op
/// by op. Collectives and remote buffers return random values plus a mean of their operands. Throws the errors of
/// definitions.
NodeValues run_nodes(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                     uint64_t seed);

/// The first value that differs between two runs, by more than the rounding of other sums; empty if there is none.
std::string first_difference(const NodeValues& before, const NodeValues& after);

/// Compares the values of the nodes after each pass with the values before the pass.
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
