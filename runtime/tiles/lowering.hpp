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

/// A slice of a tensor, as slices of memories: element i is element `index[i]` of them, one after the other (empty:
/// element i).
struct PlacedSlice {
  size_t tensor = 0;  ///< a read: the slot; a write: the result, or the slot of an operand that is modified
  bool is_operand = true;
  Shape shape;
  std::vector<MemorySlice> slices;
  std::vector<int64_t> index;
};

struct PlacedPart {
  int32_t tile = 0;
  std::vector<PlacedSlice> reads, writes;
  std::vector<int64_t> source;  ///< as in Part
  size_t partial = 0;           ///< with partial results: the buffer of the tile that result 0 is combined into
};

/// Bytes that move in an exchange: a multicast.
struct SliceMove {
  enum class What : uint8_t { operand, result, partial } what = What::operand;
  size_t index = 0;  ///< the memory; of partial results the buffer
  Region region;     ///< of the memory
  int32_t from = 0;
  std::vector<int32_t> to;
};

/// The vertex that makes elements of result 0 of partial results.
struct Combination {
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
  std::vector<LoweredStep> steps;
  std::optional<PartialResults> partial;
  std::vector<MemorySlice> partials;  ///< buffers of partial results: their elements of the memory of result 0
  std::vector<int32_t> partial_tile;  ///< by buffer
  std::vector<SliceMove> collect;     ///< partial results to the tiles that combine them
  std::vector<Combination> combine;
};

/// `memories` are the layouts of all memories that the op touches, `operands` the places of its operands by slot,
/// `results` those of its results.
LoweredOp lower(OpParts parts, const std::vector<const Layout*>& memories, const std::vector<TensorPlace>& operands,
                const std::vector<TensorPlace>& results);

/// The moves that give each tile of `to` what it stores of a tensor that lies as `from`.
std::vector<SliceMove> rearranging_moves(const Layout& from, const Layout& to);

}  // namespace pxl::tiles
