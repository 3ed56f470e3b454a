// Memory of every tile over the schedule: what is always there, and what lives for a while.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/tiles/mapping.hpp"

namespace pxl::tiles {

/// Not always live memory of a graph's run, without what its caller holds: by tile, at the point at which the tile is
/// fullest. Points count the ops of the graph as it runs, those of called graphs behind their call; they saturate.
struct GraphMemory {
  std::vector<int64_t> peak;    ///< bytes
  std::vector<int64_t> temp;    ///< of those, temporaries
  std::vector<int64_t> point;   ///< when
  std::vector<int64_t> offset;  ///< of each op of the view's order: its point
  int64_t points = 0;
};

/// A tensor that holds memory of its own in a graph's run.
struct Lifetime {
  const Tensor* tensor = nullptr;
  int first = 0, last = 0;  ///< positions in the view's order, both included
  int32_t layout = -1;
};

class Memory {
 public:
  explicit Memory(const Mapping& mapping);

  const GraphMemory& of(int graph) const { return graphs_[static_cast<size_t>(graph)]; }
  const std::vector<Lifetime>& lifetimes(int graph) const { return lifetimes_[static_cast<size_t>(graph)]; }
  const std::vector<TileMemory>& tiles() const { return tiles_; }
  int64_t fullest_tile() const { return fullest_; }
  /// The op that runs at a point of the main graph's run, looking into called graphs.
  const Op* op_at(int64_t point) const;
  /// Temporary bytes of the busiest tile while the op runs, changes of layout included.
  int64_t temp_bytes(const Op& op) const;
  /// Tensors of the run that lie on a tile at a point, with their bytes, largest first.
  std::vector<std::pair<const Tensor*, int64_t>> on_tile(int64_t tile, int64_t point) const;

 private:
  void find_lifetimes(int graph);
  void run(int graph);
  void add_up();

  const Mapping& m_;
  std::vector<std::vector<Lifetime>> lifetimes_;
  std::vector<GraphMemory> graphs_;
  std::vector<TileMemory> tiles_;
  int64_t fullest_ = 0;
};

}  // namespace pxl::tiles
