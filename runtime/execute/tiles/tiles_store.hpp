// Tensors in the memories of tiles, for the engine that carries out the tile model's schedule.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/execute/op_by_op.hpp"
#include "runtime/execute/tiles/chip.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl {

/// The elements of a tensor. A tensor either has the elements of one memory on the chip, in order, or is a view with an
/// address per element. Copies share the memory.
struct TiledTensor {
  TensorSpec spec = {};
  std::vector<Chip::MemoryPtr> memories = {};
  std::shared_ptr<const std::vector<uint64_t>> addresses = nullptr;  ///< memory (in `memories`) and element of each
};

/// The state that the replicas of a program share: the mapping of its ops and tensors to tiles.
struct TiledProgram {
  TiledProgram(const Graph& graph, const tiles::EstimateOptions& options);
  const tiles::Schedule planned;
  const tiles::MappedProgram& mapped;
  /// The layout of a mapping for a shape; equal ones are one object.
  const std::shared_ptr<const tiles::Layout>& layout(const tiles::TileMapping& mapping, const Shape& shape);
  const std::shared_ptr<const tiles::Layout>& layout_of(const Tensor& tensor);
  tiles::OpParts parts(const Op& op, const OpContext& site, const std::byte* further) const;
  /// A chip whose tiles have the memory that code, state and gaps leave.
  std::shared_ptr<Chip> chip() const;
  /// Most bytes of tensors on a tile, as planned.
  int64_t planned_bytes() const;

 private:
  std::map<std::pair<tiles::TileMapping, Shape>, std::shared_ptr<const tiles::Layout>> layouts_;
};

class TilesStore {
 public:
  using Value = TiledTensor;
  static constexpr bool copies_arguments = true;

  explicit TilesStore(const EngineTask& task);
  TilesStore(const TilesStore& of_first_replica, const EngineTask& task);

  void begin() { variables_.clear(); }
  void end();
  void abandon() { variables_.clear(); }
  TiledTensor source(const Tensor& t, bool may_change);
  TiledTensor made(const Tensor& t, const std::byte* value);
  TiledTensor copied(const TiledTensor& from, const Tensor& as);
  void read(const TiledTensor& value, std::byte* to) const;
  void write(const TiledTensor& value, const std::byte* from) const;
  bool of_variable(const TiledTensor& value) const;
  static bool share_memory(const TiledTensor& a, const TiledTensor& b);
  static bool same_elements(const TiledTensor& a, const TiledTensor& b) {
    return !a.addresses && !b.addresses && a.memories == b.memories;
  }
  std::vector<TiledTensor> run(const Op& op, const std::vector<TiledTensor>& in, const Watch& watch);

  std::vector<std::pair<std::string_view, int64_t>> counts() const;
  std::string profile() const;

  const Chip& chip() const { return *chip_; }
  /// The report of the plan.
  const tiles::Report& report() const { return program_->planned.report; }
  /// The schedules that runs have needed so far; edits are carried out, for tests of the memories' rules.
  using Schedules = std::map<std::vector<uintptr_t>, tiles::LoweredOp>;
  Schedules& schedules() { return schedules_; }

 private:
  Chip::MemoryPtr allocate(const std::shared_ptr<const tiles::Layout>& layout, DType dtype);
  TiledTensor fresh(const TensorSpec& spec, const std::shared_ptr<const tiles::Layout>& layout);
  /// A copy in another layout. Tiles hold `order_bytes` more while they put elements in order.
  TiledTensor laid_out(const TiledTensor& from, const std::shared_ptr<const tiles::Layout>& layout,
                       int64_t order_bytes = 0);
  /// Whether the result is written over operand 0: as planned, if nothing else refers to the operand's memory.
  bool overwrites(const Op& op, const std::vector<TiledTensor>& in) const;
  TiledTensor view(const Op& op, const OpContext& site, const std::vector<TiledTensor>& in, const Watch& watch);
  /// Throws Error for an op that runs on one tile though it is planned on more, unless the row or the user permits it.
  void check_planned_parts(const Op& op, const OpContext& site, const tiles::OpParts& parts);
  void compute(const Op& op, const OpContext& site, std::vector<TiledTensor> in, const std::vector<TiledTensor>& out,
               const ReplicaNumber& replica);
  /// The lowered op that carries out parts on these tensors, and the memories that it numbers.
  const tiles::LoweredOp& schedule(const Op* op, const std::function<tiles::OpParts()>& parts,
                                   const std::vector<TiledTensor>& in, const std::vector<TiledTensor>& out,
                                   std::vector<Chip::MemoryPtr>& memories);
  std::vector<Array> seen(const std::vector<TiledTensor>& values) const;

  EngineTask task_;
  std::shared_ptr<TiledProgram> program_;
  std::shared_ptr<Chip> chip_;
  struct Variable {
    TiledTensor value;
    bool changed = false;
  };
  std::map<const Tensor*, Variable> variables_;  // of the run
  std::unordered_map<const Op*, tiles::OpParts> parts_;
  std::map<std::string_view, int64_t> on_one_tile_;  // ops so far that ran on one tile and are planned on more, by row
  Schedules schedules_;
  std::map<std::pair<const tiles::Layout*, const tiles::Layout*>, std::vector<tiles::SliceMove>> rearrangements_;
  std::map<std::vector<uintptr_t>, std::shared_ptr<const std::vector<uint64_t>>> views_;
  std::unordered_map<const Tensor*, TiledTensor> constants_;
};

using TilesEngine = OpByOpEngine<TilesStore>;

}  // namespace pxl
