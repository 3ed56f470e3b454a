// Lowering of an op to an explicit schedule: which slices move from which tile to which, and which vertex then runs on
// which tile. It follows from intersecting what the op's parts read and write with the layouts of the tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tiles/layout.hpp"
#include "runtime/tiles/op_parts.hpp"

namespace pxl::tiles {

/// Where the elements of a tensor are: those of one memory, in order, or of views an address each.
struct TensorPlace {
  size_t memory = 0;
  const std::vector<uint64_t>* addresses = nullptr;  ///< by element; null: element i is element i of the memory
};
/// The address of an element of a memory.
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

/// A slice of a tensor, as slices of memories: element i is element `index[i]` of them, one after the other, or a
/// constant if that is -1 (empty: element i).
struct PlacedSlice {
  size_t tensor = 0;  ///< a read: the slot; a write: the result, or the slot of an operand that is modified
  bool is_operand = true;
  Shape shape;
  std::vector<MemorySlice> slices;
  std::vector<int64_t> index;
  bool ones = false;           ///< of a read: as in OperandSlice
  std::vector<int64_t> order;  ///< of a write: as in ResultSlice
  int64_t partial = -1;        ///< of a write: the buffer that a partial result is combined into
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
  size_t index = 0;  ///< the memory; of partial results the buffer
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

/// The vertex that makes elements of a result of partial results.
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
  bool keeps_received = false;  ///< as in OpParts
  std::vector<LoweredStep> steps;
  std::vector<std::optional<PartialResults>> partial;  ///< as in OpParts
  std::vector<PartialBuffer> buffers;
  std::vector<SliceMove> collect;  ///< partial results to the tiles that combine them
  std::vector<Combination> combine;
};

/// `memories` are the layouts of all memories that the op touches, `operands` the places of its operands by slot,
/// `results` those of its results.
LoweredOp lower(OpParts parts, const std::vector<const Layout*>& memories, const std::vector<TensorPlace>& operands,
                const std::vector<TensorPlace>& results);

/// The traffic of moves as one exchange phase, counted: `paired_in` of what the tile with the largest `in` receives,
/// `runs` are the receives of the tile that has most, `sends` its sends, and `fragments` the largest number of ranges
/// of elements that a tile receives or sends.
Traffic traffic_of(const std::vector<SliceMove>& moves, int64_t element_bytes);

/// The moves that give each tile of `to` what it stores of a tensor with the mapping `from`.
std::vector<SliceMove> rearranging_moves(const Layout& from, const Layout& to);

}  // namespace pxl::tiles
