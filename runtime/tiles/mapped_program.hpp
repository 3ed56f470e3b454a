// A program mapped to tiles: a candidate for each op, and a tile mapping for each tensor without a producer. Ops with
// equal rows, specs, attributes and neighbours share one choice. So outlined bodies and repeated layers do not enlarge
// the search.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tiles/candidates/candidates.hpp"
#include "runtime/tiles/candidates/pbqp.hpp"
#include "runtime/tiles/cuts/cut_file.hpp"

namespace pxl::tiles {

struct EstimateOptions {
  Machine machine = standard_machine();
  CandidateOptions candidates;
  /// Available memory of single ops, in thousandths, by schedule name ("MatMul") or op id ("107").
  std::vector<std::pair<std::string, int64_t>> op_memory;
  bool compare_families = false;  ///< also plans with each family of products alone (Report::families)
  /// Cuts that ops and tensors take; others are searched. Null: all are searched.
  std::shared_ptr<const CutFile> cuts = standard_cuts();
  std::string cut_program = {};  ///< the program as the headings of `cuts` name it; empty: as CutFile::find does
};

/// A graph of the program. All its calls share one instance.
struct GraphInstance {
  const Graph* graph = nullptr;
  std::vector<Op*> order;
  int64_t runs = 0;   ///< number of runs in one run of the program; saturates
  int64_t calls = 0;  ///< call sites
};

/// The origin of a tensor's value, traced through calls: an op's output, or a tensor without a producer.
struct Source {
  const Op* op = nullptr;
  int output = 0;
  const Tensor* tensor = nullptr;
};
Source source_of(const Tensor* tensor);

/// Bytes of a tensor on each tile.
struct TileBytes {
  std::vector<int64_t> on;    ///< by tile
  size_t begin = 0, end = 0;  ///< tiles outside [begin, end) hold nothing
};

/// Control code of a call: the call itself, and a copy of each argument and result.
int64_t call_control_bytes(const Op& op);

struct TileRange {
  int64_t first = 0, count = 0;  ///< wraps around after the last tile
};

class MappedProgram {
 public:
  MappedProgram(const Graph& graph, const EstimateOptions& options);

  const EstimateOptions& options() const { return options_; }
  const Machine& machine() const { return options_.machine; }
  const std::vector<GraphInstance>& graphs() const {
    return graphs_;
  }  ///< the main graph first, callers before callees
  int graph_index(const Graph* graph) const { return index_.at(graph); }

  const std::vector<OpCandidate>& candidates(const Op& op) const;
  int chosen(const Op& op) const;
  const OpCandidate& candidate(const Op& op) const { return candidates(op)[static_cast<size_t>(chosen(op))]; }
  int32_t mapping_of(const Tensor* tensor) const;
  /// The options of an op's candidates: those of the program, with its share of memory and its partial sums.
  CandidateOptions candidate_options(const Op& op) const;
  /// The cut that an op or a tensor takes from EstimateOptions::cuts; null: it was searched.
  const CutLine* cut_line(const Op& op) const;
  const CutLine* cut_line(const Tensor& tensor) const;
  const TileMapping& mapping(int32_t id) const { return pool_.table.at(id); }
  const TileMappingTable& mappings() const { return pool_.table; }
  /// The rearrangement of a tensor into `mapping`; empty if `mapping` is -1.
  const Rearrangement& rearrangement_to(const Tensor* tensor, int32_t mapping) const;
  /// The rearrangement that returns an operand to its own mapping, if the op changes the operand in another mapping.
  /// Empty for results of other ops, whose memory the op may take over.
  const Rearrangement& write_back(const Op& op, size_t slot) const;
  /// Bytes on each tile; cached.
  const TileBytes& bytes_by_tile(int32_t mapping, const TensorSpec& spec) const;

  /// The tiles that hold an op's temporaries, vertices and vertex state.
  TileRange place(const Op& op) const;
  /// Bytes of code and vertex state on the most loaded tile, without the op's rearrangements.
  static int64_t code_and_state_bytes(const OpCandidate& candidate);

  /// The solved problem. A node is a group of equal ops, or a group of equal tensors without a producer.
  const PbqpProblem& problem() const { return problem_; }

  // Changing the choices of the search, for fit.hpp.
  struct Node {
    int key = -1;                      ///< index in candidates_; -1: a tensor without a producer
    std::vector<int32_t> mappings;     ///< choices of such a tensor
    int64_t count = 0;                 ///< runs of the node's ops
    int64_t ops = 0;                   ///< number of the program's ops in this node
    int64_t tensors = 0;               ///< number of tensors without a producer in this node
    const TensorSpec* spec = nullptr;  ///< of each of these
    int chosen = 0;
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  int node_of(const Op& op) const { return node_of_op_.at(&op); }
  /// The node that determines the tensor's mapping.
  int node_of(const Tensor* tensor) const;
  const std::vector<OpCandidate>& candidates_of(int node) const;
  void set_choice(int node, int choice) { nodes_[static_cast<size_t>(node)].chosen = choice; }
  /// The problem with a Lagrange multiplier on memory. Each byte on the most loaded tile adds `multiplier` thousandths
  /// of a cycle. A choice counts its temporaries, results, code and state. A rearrangement counts its result.
  PbqpProblem with_memory_multiplier(int64_t multiplier) const;
  /// Cycles of a node for this choice, including the rearrangements on its edges.
  int64_t cost_of(int node, int choice) const;

  SearchReport search;

 private:
  void collect_graphs(const Graph& main);
  void find_cuts();
  /// Calls f. A cut of another run, with which f fails, is left out.
  template <class Lines, class Of, class F>
  void accept(Lines& lines, const Of* of, F&& f);
  void enumerate(int key, const GivenCut* given);
  void make_keys();
  void find_joint_cuts();
  void make_candidates();
  void make_nodes();
  void make_problem();
  void choose();
  void enumerate(int key);
  int64_t available_memory_permille_of(const Op& op) const;
  const Rearrangement& rearrangement_between(int32_t from, int32_t to, const TensorSpec& spec) const;

  EstimateOptions options_;
  mutable TileMappingPool pool_;
  std::vector<GraphInstance> graphs_;
  CutFile::Found cuts_;
  std::unordered_map<const Tensor*, int32_t> stored_;  ///< mappings of cuts
  std::unordered_map<const Graph*, int> index_;
  std::unordered_map<const Op*, int> key_of_;
  std::vector<const Op*> example_;                    ///< by key: an op with that key
  std::vector<std::vector<OpCandidate>> candidates_;  ///< by key
  std::vector<std::vector<ProductCut>> joint_cuts_;   ///< by key: cuts of products that share a variable with others
  std::vector<Node> nodes_;
  PbqpProblem problem_;
  std::vector<std::vector<int>> edges_;  ///< indices in problem_.edges, by node
  std::unordered_map<const Op*, int> node_of_op_;
  std::unordered_map<const Tensor*, int> node_of_tensor_;
  std::vector<std::vector<int64_t>> node_bytes_,
      edge_bytes_;  ///< bytes of each choice, shaped as the costs of problem_
  mutable std::map<std::tuple<int32_t, int32_t, Shape, DType>, Rearrangement> rearrangements_;
  mutable std::map<std::tuple<int32_t, Shape, DType>, TileBytes> bytes_;
};

}  // namespace pxl::tiles
