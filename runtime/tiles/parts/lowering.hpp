// Lowering of an op to an explicit schedule: the slices that move between tiles, and the vertex that runs on each tile.
// The schedule is the intersection of the parts' reads and writes with the layouts of the tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/parts/op_parts.hpp"

namespace pxl::tiles {

/// The places of a tensor's elements: one memory, in order. A view has an address for each element.
struct TensorPlace {
  size_t memory = 0;
  const std::vector<uint64_t>* addresses = nullptr;  ///< by element; null: element i is element i of the memory
};
/// The address of an element within a memory.
constexpr uint64_t address_of(size_t memory, int64_t element) {
  return static_cast<uint64_t>(memory) << 48 | static_cast<uint64_t>(element);
}
constexpr size_t memory_of(uint64_t address) { return static_cast<size_t>(address >> 48); }
constexpr int64_t element_of(uint64_t address) { return static_cast<int64_t>(address & ((uint64_t{1} << 48) - 1)); }

/// A slice of a memory.
struct MemorySlice {
  size_t memory = 0;
  Region region;
};

/// A slice of a tensor, as consecutive slices of memories. Element i is element `index[i]` of these, or a constant if
/// `index[i]` is -1. If `index` is empty, element i is element i.
struct PlacedSlice {
  size_t tensor = 0;  ///< read: the slot; write: the result, or the slot of an operand that the op modifies
  bool is_operand = true;
  Shape shape;
  std::vector<MemorySlice> slices;
  std::vector<int64_t> index;
  bool ones = false;           ///< read: as in OperandSlice
  std::vector<int64_t> order;  ///< write: as in ResultSlice
  int64_t partial = -1;        ///< write: the buffer that combines a partial result
};

struct PlacedPart {
  int32_t tile = 0;
  std::vector<PlacedSlice> reads, writes;
  std::vector<int64_t> source;      ///< as in Part
  std::optional<Attributes> attrs;  ///< as in Part
};

/// Bytes that move in an exchange: a multicast.
struct SliceMove {
  enum class What : uint8_t { operand, result, partial } what = What::operand;
  size_t index = 0;  ///< the memory; for partial results, the buffer
  Region region;     ///< of the memory
  int32_t from = 0;
  std::vector<int32_t> to;
};

/// A buffer on a tile for partial results of some elements.
struct PartialBuffer {
  size_t result = 0;
  MemorySlice slice;
  int32_t tile = 0;
};

/// The vertex that combines partial results into elements of a result.
struct Combination {
  size_t result = 0, memory = 0;
  int32_t tile = 0;
  Region region;
  std::vector<size_t> partials;  ///< buffers
};

struct LoweredStep {
  std::vector<SliceMove> gather;  ///< operands to the tiles that read them
  std::vector<PlacedPart> parts;
  std::vector<SliceMove> deliver;  ///< results to the tiles that store them
};

struct LoweredOp {
  OpParts::Vertex vertex = OpParts::Vertex::definition;
  double filler = 0;            ///< as in OpParts
  bool keeps_received = false;  ///< as in OpParts
  /// Vertices only copy, in the order in which elements arrive: what a tile receives arrives in the result's memory.
  bool arrives_in_place = false;
  std::vector<LoweredStep> steps;
  std::vector<std::optional<PartialResults>> partial;  ///< as in OpParts
  std::vector<PartialBuffer> buffers;
  std::vector<SliceMove> collect;  ///< partial results to the tiles that combine them
  std::vector<Combination> combine;
  std::vector<SliceMove> spread;  ///< combined results to the tiles that store them
};

/// `memories` are the layouts of all memories that the op touches. `operands` has the place of each operand, by slot.
/// `results` has the place of each result.
LoweredOp lower(OpParts parts, const std::vector<const Layout*>& memories, const std::vector<TensorPlace>& operands,
                const std::vector<TensorPlace>& results);

/// The moves that bring a tensor from the mapping `from` to the mapping `to`.
std::vector<SliceMove> rearranging_moves(const Layout& from, const Layout& to);

}  // namespace pxl::tiles
