// The tiles of an IPU with their memories, and the execution of a lowered op on them: moves and vertices, step by step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/execute/tiles/tile_memory.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tiles/parts/lowering.hpp"

namespace pxl {

class Chip {
 public:
  /// `room`: by tile, the bytes of tensors that its memory holds beside code. `advice` ends messages of lacking room.
  Chip(std::vector<int64_t> room, std::string advice)
      : tiles_(room.size()), room_(std::move(room)), advice_(std::move(advice)) {}

  /// The memory of a tensor, distributed over the tiles as a layout says; freed by the destructor.
  class Memory {
   public:
    Memory(Chip& chip, std::shared_ptr<const tiles::Layout> layout, size_t width);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    size_t id() const { return id_; }
    size_t width() const { return width_; }  ///< bytes of an element
    const std::shared_ptr<const tiles::Layout>& layout() const { return layout_; }
    /// Copies from and to the host: all elements, in order. `write` reaches all copies.
    void write(const std::byte* from) const;
    void read(std::byte* to) const;

   private:
    Chip& chip_;
    std::shared_ptr<const tiles::Layout> layout_;
    size_t id_, width_;
  };
  using MemoryPtr = std::shared_ptr<const Memory>;

  /// One op with its operands, which definitions get by slot, and the memories that `op` numbers.
  struct Task {
    const Op* op;  ///< for messages; null: a copy
    const OpContext& site;
    const tiles::LoweredOp& lowered;
    const std::vector<MemoryPtr>& memories;
    int64_t vertex_bytes = 0;            ///< what a vertex needs for itself, as planned
    const std::byte* further = nullptr;  ///< the operand after those of the op, if its row has one
  };
  /// Throws an internal Error with the tile and the box if a tile reads elements that it neither stores nor has
  /// received.
  void run(const Task& task);
  /// Moves a tensor to where `to` stores it. A tile holds `order_bytes` more while it puts elements in order.
  void rearrange(const Memory& from, const Memory& to, const std::vector<tiles::SliceMove>& moves, int64_t order_bytes);

  struct Totals {
    int64_t exchanges = 0, moves = 0;
    int64_t sent_bytes = 0;      ///< a multicast counts once
    int64_t received_bytes = 0;  ///< by all tiles
    int64_t vertices = 0;
  };
  const Totals& totals() const { return totals_; }
  /// Throws Error if a tile has held more bytes than it has room for. `what` took them: "`matmul`".
  void check_room(const std::string& what) const;
  /// Most bytes that each tile held at once.
  std::vector<int64_t> peaks() const;

 private:
  void exchange(const Task& task, const std::vector<tiles::SliceMove>& moves);
  void fail_as_a_whole(const Task& task, const tiles::PlacedPart& part) const;
  void run_part(const Task& task, const tiles::PlacedPart& part);
  void combine(const Task& task);
  TileMemory& tile(int32_t number) { return tiles_[static_cast<size_t>(number)]; }

  std::vector<TileMemory> tiles_;
  std::vector<int64_t> room_;
  std::string advice_;
  size_t next_memory_ = 0;
  Totals totals_;
  /// The last vertex of a step whose part keeps some of its results. The next one often has the same operands, so that
  /// its results are known.
  struct Vertex {
    std::vector<std::vector<std::byte>> operands, results;
  };
  std::optional<Vertex> whole_;
};

}  // namespace pxl
