// A program on tiles: a plan for every op and a layout for every tensor that no op makes. Ops with equal rows, specs,
// attributes and neighbours share one choice, so that outlined bodies and repeated layers cost the search nothing.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tiles/plan.hpp"
#include "runtime/tiles/search.hpp"

namespace pxl::tiles {

struct EstimateOptions {
  Machine machine = parse_machine(default_machine);
  PlanOptions plan;
  /// Available memory of single ops, in thousandths: by schedule name ("MatMul") or op id ("107").
  std::vector<std::pair<std::string, int64_t>> op_memory;
};

/// A graph of the program, once however often it is called.
struct GraphView {
  const Graph* graph = nullptr;
  std::vector<Op*> order;
  int64_t runs = 0;   ///< in one run of the program; saturates
  int64_t calls = 0;  ///< call sites
};

/// Where a tensor's value comes from, seen through calls: an op's output, or a tensor that no op makes.
struct Source {
  const Op* op = nullptr;
  int output = 0;
  const Tensor* tensor = nullptr;
};
Source source_of(const Tensor* tensor);

/// Iterations of a loop op; 1 for others.
int64_t iterations(const Op& op);
/// Slot of the first input of called graph `which`.
size_t first_slot(const Op& op, size_t which);
bool passed_by_reference(const Op& op, size_t which, size_t input);

/// Bytes of a tensor on each tile.
struct TileBytes {
  std::vector<int64_t> on;    ///< by tile
  size_t begin = 0, end = 0;  ///< tiles outside hold nothing
};

struct TileRange {
  int64_t first = 0, count = 0;  ///< behind the last tile comes tile 0
};

class Mapping {
 public:
  Mapping(const Graph& graph, const EstimateOptions& options);

  const EstimateOptions& options() const { return options_; }
  const Machine& machine() const { return options_.machine; }
  const std::vector<GraphView>& graphs() const { return graphs_; }  ///< the main one first, callers before callees
  int graph_index(const Graph* graph) const { return index_.at(graph); }

  bool has_plan(const Op& op) const { return node_of_op_.count(&op) > 0; }
  const std::vector<OpPlan>& plans(const Op& op) const;
  int chosen(const Op& op) const;
  const OpPlan& plan(const Op& op) const { return plans(op)[static_cast<size_t>(chosen(op))]; }
  int32_t layout_of(const Tensor* tensor) const;
  const Layout& layout(int32_t id) const { return pool_.table.at(id); }
  /// What it costs to bring a tensor into a layout; nothing for -1.
  const Relayout& relayout_to(const Tensor* tensor, int32_t layout) const;
  /// Bytes on each tile; cached.
  const TileBytes& bytes_by_tile(int32_t layout, const TensorSpec& spec) const;

  /// The tiles that hold what belongs to an op alone: temporaries, vertices and their state.
  TileRange place(const Op& op) const;
  /// Bytes of code and vertex state that an op takes on the busiest tile, without changes of layout.
  static int64_t held_bytes(const OpPlan& plan);

  /// The problem that was solved: a node for each group of equal ops and of tensors that no op makes.
  const Choices& choices() const { return problem_; }

  // Other choices than the search's, for what has to fit (fit.hpp).
  struct Node {
    int key = -1;                  ///< of plans_; -1: a tensor that no op makes
    std::vector<int32_t> layouts;  ///< of such a tensor
    int64_t count = 0;             ///< runs of its ops
    int64_t ops = 0;               ///< of the program that are here
    int chosen = 0;
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  int node_of(const Op& op) const { return node_of_op_.at(&op); }
  /// The node that gives the tensor its layout.
  int node_of(const Tensor* tensor) const;
  const std::vector<OpPlan>& plans_of(int node) const;
  void set_choice(int node, int choice) { nodes_[static_cast<size_t>(node)].chosen = choice; }
  /// The same problem with a price on bytes: `price` thousandths of a cycle for each byte of the busiest tile that a
  /// choice takes in temporaries, results, code and state, and a change of layout in the new one.
  Choices priced(int64_t price) const;
  /// Cycles of a node and of the changes of layout around it if it took a choice.
  int64_t cost_of(int node, int choice) const;

  SearchReport search;

 private:
  void view_graphs(const Graph& main);
  void make_keys();
  void make_plans();
  void make_nodes();
  void make_problem();
  void choose();
  void enumerate(int key);
  int64_t permille(const Op& op) const;

  EstimateOptions options_;
  mutable LayoutPool pool_;
  std::vector<GraphView> graphs_;
  std::unordered_map<const Graph*, int> index_;
  std::unordered_map<const Op*, int> key_of_;
  std::vector<const Op*> example_;          ///< by key: an op that has it
  std::vector<std::vector<OpPlan>> plans_;  ///< by key
  std::vector<Node> nodes_;
  Choices problem_;
  std::vector<std::vector<int>> edges_;  ///< of problem_, by node
  std::unordered_map<const Op*, int> node_of_op_;
  std::unordered_map<const Tensor*, int> node_of_tensor_;
  std::vector<std::vector<int64_t>> node_bytes_, edge_bytes_;  ///< as the costs of problem_
  mutable std::map<std::tuple<int32_t, int32_t, Shape, DType>, Relayout> relayouts_;
  mutable std::map<std::tuple<int32_t, Shape, DType>, TileBytes> bytes_;
};

}  // namespace pxl::tiles
