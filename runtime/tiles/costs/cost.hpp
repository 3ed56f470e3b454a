// Cycles of vertices on one tile, as pure integer functions of a machine and a shape. All workers of a tile run the
// vertex. Each worker issues once in `workers` cycles, so the tile takes `workers` times its slowest worker. Sources of
// the formulas: PopLibs (poplin and popnn PerformanceEstimation, popops cycle estimators and planners).
// docs/ipu-model.md restates them.
#pragma once

#include <cstdint>

#include "runtime/base/div_up.hpp"
#include "runtime/op/tile_map.hpp"
#include "runtime/tiles/machine/machine.hpp"

namespace pxl::tiles {

/// Saturation bound for counts, bytes and cycles. Sums of a few such values do not overflow.
constexpr int64_t max_count = int64_t{1} << 50;
constexpr int64_t saturating_product(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > max_count / b ? max_count : a * b;
}

// ---- matrix products

/// One tile's share of a matrix product: `groups` products of [rows, depth] x [depth, columns].
struct ProductShape {
  int64_t groups = 1, rows = 1, depth = 1, columns = 1;
  int64_t operand_bytes = 2;  ///< per element: 1, 2 or 4
  int64_t partial_bytes = 4;  ///< per partial sum: 2 or 4
};

/// Columns that the units compute at once, and depth of one coefficient load. Blocks are padded to multiples of both.
int64_t product_column_grain(const Machine& m, int64_t operand_bytes, int64_t partial_bytes);
int64_t product_depth_grain(int64_t operand_bytes);

/// Cycles of ConvPartial1x1Out, on the accumulating units (AMP).
int64_t amp_cycles(const Machine& m, const ProductShape& s);
/// Cycles of ConvPartialHorizontalMac: multiply-accumulate instructions, for shapes too small for the units.
int64_t mac_cycles(const Machine& m, const ProductShape& s);
/// Cycles of OuterProduct, for a depth of one.
int64_t outer_product_cycles(const Machine& m, const ProductShape& s);

/// Cycles of a unit that multiplies blocks. A block takes as long as its multiplication or the load of its operands,
/// whichever is longer. Blocks of the result are then stored.
int64_t block_product_cycles(const Machine& m, const ProductShape& s);

enum class ProductVertex : uint8_t { amp, mac, outer, blocks };
/// The fastest vertex for a shape, and its cycles.
struct ProductCost {
  ProductVertex vertex = ProductVertex::amp;
  int64_t cycles = 0;
  bool swapped = false;  ///< the right operand is streamed, and the left one is loaded as coefficients
};
ProductCost product_cycles(const Machine& m, const ProductShape& s);
/// One tile's share of a convolution: the sum of `kernel` products. The rows of each product are `lines` lines of the
/// field.
struct ConvolutionShape {
  ProductShape product;  ///< rows: elements of field and batch
  int64_t lines = 1, kernel = 1;
};
/// Cycles of ConvPartialnx1, on the accumulating units.
int64_t convolution_cycles(const Machine& m, const ConvolutionShape& s);
/// Cycles of ConvPartialVerticalMac, for groups of one channel. A vector has a value of each of several groups. For
/// each of `kernel` elements, the workers iterate over lines of `width` results.
int64_t vertical_mac_cycles(const Machine& m, int64_t groups, int64_t kernel, int64_t lines, int64_t width,
                            int64_t operand_bytes);
/// Bytes of a vertex on a tile. Poplar counts the data behind list pointers as vertex field data and list descriptors,
/// and the fields as vertex state.
struct VertexState {
  int64_t fields = 16;  ///< an elementwise vertex is known to have 8..20
  int64_t lists = 0;    ///< worklists, pointers to slices
};
/// State of ConvPartial1x1Out.
VertexState amp_state(const Machine& m, const ProductShape& s);

/// Cycles to add `partials` partial sums per output, for `outputs` elements stored on the tile.
int64_t sum_partials_cycles(const Machine& m, int64_t partials, int64_t outputs, int64_t partial_bytes,
                            int64_t output_bytes);

// ---- elements

/// Vector iterations of one worker for its share of `elements`.
int64_t vector_loops(const Machine& m, int64_t elements, int64_t element_bytes);
/// Cycles of one worker's inner loop for its share of `elements`.
int64_t inner_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes);

int64_t unary_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes);
int64_t binary_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes);
/// Cycles that the two vertices take in addition if they write over their operand.
int64_t unary_in_place_cycles(const Machine& m, int64_t elements, int64_t element_bytes);
int64_t binary_in_place_cycles(const Machine& m, int64_t elements, int64_t element_bytes);
/// One operand has a single element, which is loaded once. A vector takes one cycle less than in `binary_cycles`.
int64_t broadcast_scalar_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes);
/// One operand has shape [columns], the other [rows, columns]. A vector of the first is loaded once for all rows.
int64_t broadcast_vector_cycles(const Machine& m, const VectorCost& vector, int64_t rows, int64_t columns,
                                int64_t element_bytes);
int64_t nonlinearity_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes);
int64_t nonlinearity_grad_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes);
int64_t update_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes, bool mixed);
int64_t cast_cycles(const Machine& m, int64_t elements, int64_t from_bytes, int64_t to_bytes);
int64_t fill_cycles(const Machine& m, int64_t elements, int64_t element_bytes);
int64_t random_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes);
/// DynamicSlice or DynamicUpdate of `elements` contiguous elements.
int64_t slice_cycles(const Machine& m, int64_t elements, int64_t element_bytes);
/// Copy without a change of order.
int64_t memcpy_cycles(const Machine& m, int64_t bytes);
/// Change of order on one tile ("Rearrange"), in contiguous atoms of `atom_bytes`.
int64_t reorder_cycles(const Machine& m, int64_t bytes, int64_t atom_bytes);
/// Transposes `count` contiguous matrices [rows, columns] on their tile. PopLibs' transposition vertices are used where
/// both extents are multiples of their grain: two elements of 4 bytes, or four of 2 bytes. A matrix may be divided
/// among the workers.
int64_t transpose_cycles(const Machine& m, int64_t count, int64_t rows, int64_t columns, int64_t element_bytes);
/// Bytes that a copy moves at once for contiguous runs of this length: a power of two up to 8 that divides the run.
int64_t atom_bytes(int64_t run_bytes);

// ---- reductions, rows, indices

/// `outputs` sums of `length` elements each, over a contiguous or an outer axis. The elements of a contiguous sum may
/// be in several runs of `run` elements; 0 means one run.
int64_t reduce_cycles(const Machine& m, int64_t outputs, int64_t length, int64_t element_bytes, bool contiguous,
                      int64_t run = 0);
/// Windows of `terms` elements over `batch` x `channels` planes, with `windows` of them in each plane. The vertex
/// visits each element of a window for the channels that are stored side by side, at most two vectors of them.
int64_t pooling_cycles(const Machine& m, int64_t batch, int64_t channels, int64_t windows, int64_t terms,
                       int64_t operands, int64_t element_bytes);
int64_t scan_cycles(const Machine& m, const VectorCost& vector, int64_t lines, int64_t length);
int64_t sort_cycles(const Machine& m, const VectorCost& vector, int64_t lines, int64_t length);
/// One value per row, for `rows` rows of `length` elements.
int64_t loss_cycles(const Machine& m, int64_t rows, int64_t length, int64_t element_bytes);
/// MultiSlice: the `in_range` ones among `indices` copy `length` elements each.
int64_t gather_cycles(const Machine& m, int64_t indices, int64_t in_range, int64_t length, int64_t element_bytes);
/// MultiUpdateAdd.
int64_t scatter_cycles(const Machine& m, int64_t indices, int64_t in_range, int64_t length, int64_t element_bytes);

}  // namespace pxl::tiles
