// Memory of each tile over the schedule: always-live bytes and lifetimes.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/tiles/mapped_program.hpp"

namespace pxl::tiles {

/// Peak of the bytes on each tile that are not always live, in one run of a graph. The caller's bytes are excluded.
/// Points number the ops in execution order; ops of called graphs follow their call. Points saturate.
struct GraphMemory {
  std::vector<int64_t> peak;    ///< by class of tiles: bytes at the peak
  std::vector<int64_t> temp;    ///< part of peak: temporaries
  std::vector<int64_t> point;   ///< point of the peak
  std::vector<int64_t> offset;  ///< by op of the instance's order: its point
  int64_t points = 0;
};

/// A tensor with separate memory in a run of a graph.
struct Lifetime {
  const Tensor* tensor = nullptr;
  int first = 0, last = 0;  ///< positions in the instance's order, inclusive
  int32_t mapping = -1;
  bool into_call =
      false;  ///< position `last` is a call that copies the tensor on entry: it is not live while the graph runs
  bool out_of_call =
      false;  ///< position `first` is a call that makes the tensor on exit: it is not live while the graph runs
  bool returned = false;  ///< a result of the graph
};

/// Classes of tiles. Tiles of one class store equal bytes of each tensor and temporary, so a result for one tile holds
/// for its class.
struct TileClasses {
  std::vector<size_t> of;    ///< by tile
  std::vector<size_t> tile;  ///< by class: its first tile
  size_t count() const { return tile.size(); }
};
/// Returns the classes of `tiles` tiles on which all these bytes and ranges are constant.
TileClasses classes_of_tiles(size_t tiles, const std::vector<const TileBytes*>& bytes,
                             const std::vector<TileRange>& ranges);

class Memory {
 public:
  explicit Memory(const MappedProgram& program);

  const GraphMemory& of(int graph) const { return graphs_[static_cast<size_t>(graph)]; }
  const std::vector<Lifetime>& lifetimes(int graph) const { return lifetimes_[static_cast<size_t>(graph)]; }
  const std::vector<TileMemory>& tiles() const { return tiles_; }
  int64_t fullest_tile() const { return fullest_; }
  /// The op that runs at a point of the main graph's run; descends into called graphs.
  const Op* op_at(int64_t point) const;
  /// Temporary bytes of the most loaded tile while the op runs, its rearrangements included.
  int64_t temp_bytes(const Op& op) const;
  /// Whether the op writes its result over its first operand, which no later op reads. Elementwise ops do so if both
  /// have the same mapping. PopLibs' vertices have such forms. Compilers use them: graphcore/tensorflow, inplace_util,
  /// and PopART's in-place pass.
  bool overwrites(const Op& op) const { return overwriting_.count(&op) > 0; }
  /// Whether result 0 is stored in the memory of operand 0: a view in place, or an operand that the op changes.
  bool shares(const Op& op) const;
  /// Tensors on a tile at a point, with their bytes, largest first.
  std::vector<std::pair<const Tensor*, int64_t>> on_tile(int64_t tile, int64_t point) const;

 private:
  void find_lifetimes(int graph);
  void overwrite_operands(const GraphInstance& instance, std::vector<Lifetime>& lifetimes,
                          const std::unordered_map<const Tensor*, int>& held);
  void mark_copies(const GraphInstance& instance, std::vector<Lifetime>& lifetimes,
                   const std::unordered_map<const Tensor*, int>& held) const;
  /// Classes of tiles, and temporaries by graph and op.
  void find_classes();
  /// Bytes on the classes that hold any bytes.
  using ClassBytes = std::vector<std::pair<size_t, int64_t>>;
  const ClassBytes& on_classes(int32_t mapping, const TensorSpec& spec);
  const std::vector<size_t>& classes_in(const TileRange& range);
  void run(int graph);
  void add_up();

  const MappedProgram& m_;
  std::unordered_map<const Graph*, size_t>
      carried_;  // by loop body: number of inputs that carry results of the preceding iteration
  std::unordered_set<const Op*> overwriting_;
  std::vector<std::vector<Lifetime>> lifetimes_;
  TileClasses classes_;
  std::vector<std::vector<int64_t>> temps_;  // by graph and position
  std::unordered_map<const TileBytes*, ClassBytes> on_classes_;
  std::map<std::pair<int64_t, int64_t>, std::vector<size_t>> classes_in_;  // by range
  std::vector<GraphMemory> graphs_;
  std::vector<TileMemory> tiles_;
  int64_t fullest_ = 0;
};

}  // namespace pxl::tiles
