// Mapping of ops to tiles: the column in the op table that the tile model of an IPU (runtime/tiles) reads. The column
// names a strategy, whose row in runtime/tiles/candidates/strategies.cpp enumerates mappings, partitions and cycles. It
// also has the cycles of the inner loop, for vertices that process vectors.
#pragma once

#include <cstdint>

namespace pxl {

enum class TileStrategy : uint8_t {
  unset,              ///< rejected by the check of the op table
  view,               ///< output 0 has the bytes and order of input 0: no step
  fill,               ///< no operands: zeros, ranges
  random,             ///< as fill, from the tile's random number generator
  unary,              ///< elementwise, one operand
  binary,             ///< elementwise, broadcast operands
  nonlinearity,       ///< activation functions with dedicated vertices
  nonlinearity_grad,  ///< gradients of nonlinearity
  cast,               ///< change of dtype
  update,             ///< elementwise, in place on the first operand
  copy,               ///< copy without a change of order
  movement,           ///< change of order: transposition, slices, concatenation
  reduction,          ///< reductions over axes
  scan,               ///< prefix sums along an axis
  sort,               ///< order along an axis: top-k, medians
  softmax,            ///< along an axis: maximum, exponential, sum, division
  softmax_grad,       ///< along an axis: product, sum, difference, product
  normalise,          ///< mean and variance of rows, scale and shift
  normalise_grad,
  product,              ///< matrix products, batched
  convolution,          ///< forward convolution
  convolution_data,     ///< input gradient; transposed convolutions
  convolution_weights,  ///< weight gradient
  pooling,              ///< window sums and maxima, and their gradients
  gather,               ///< slices read at indices
  scatter,              ///< slices written or added at indices
  loss,                 ///< one value per row of class probabilities
  loss_grad,            ///< gradient of loss
  attention,            ///< softmax and two products, of rows of queries
  host,                 ///< copies from and to the host
  control,              ///< calls, loops and branches
  count
};

/// Cycles of a vertex for one vector of elements. Source: cycle estimators of PopLibs (popopsCycleEstimators, popnn
/// PerformanceEstimation), listed in docs/ipu-model.md. Other dtypes are scaled by their size.
struct VectorCost {
  int16_t f32_cycles = 5, f32_elements = 2, f16_cycles = 5, f16_elements = 4;
};

struct TileMap {
  TileStrategy strategy = TileStrategy::unset;
  VectorCost vector = {};
};

// Values of the column: `.tiles = tile_exp`. Ops without a published figure for the inner loop use their strategy's
// default.
inline constexpr TileMap tile_view{TileStrategy::view};
inline constexpr TileMap tile_fill{TileStrategy::fill, {1, 2, 1, 4}};
inline constexpr TileMap tile_random{TileStrategy::random, {6, 2, 6, 4}};
inline constexpr TileMap tile_unary{TileStrategy::unary};
inline constexpr TileMap tile_binary{TileStrategy::binary};
inline constexpr TileMap tile_copy{TileStrategy::copy};
inline constexpr TileMap tile_movement{TileStrategy::movement};
inline constexpr TileMap tile_cast{TileStrategy::cast};
inline constexpr TileMap tile_update{TileStrategy::update, {3, 2, 3, 4}};
inline constexpr TileMap tile_adam{TileStrategy::update, {34, 2, 60, 4}};  // two products, root, quotient, sum
inline constexpr TileMap tile_reduction{TileStrategy::reduction};
inline constexpr TileMap tile_scan{TileStrategy::scan, {6, 1, 6, 1}};
inline constexpr TileMap tile_sort{TileStrategy::sort, {15, 1, 15, 1}};
inline constexpr TileMap tile_softmax{TileStrategy::softmax};
inline constexpr TileMap tile_softmax_grad{TileStrategy::softmax_grad};
inline constexpr TileMap tile_normalise{TileStrategy::normalise};
inline constexpr TileMap tile_normalise_grad{TileStrategy::normalise_grad};
inline constexpr TileMap tile_product{TileStrategy::product};
inline constexpr TileMap tile_convolution{TileStrategy::convolution};
inline constexpr TileMap tile_convolution_data{TileStrategy::convolution_data};
inline constexpr TileMap tile_convolution_weights{TileStrategy::convolution_weights};
inline constexpr TileMap tile_pooling{TileStrategy::pooling};
inline constexpr TileMap tile_gather{TileStrategy::gather};
inline constexpr TileMap tile_scatter{TileStrategy::scatter};
inline constexpr TileMap tile_loss{TileStrategy::loss};
inline constexpr TileMap tile_loss_grad{TileStrategy::loss_grad};
inline constexpr TileMap tile_attention{TileStrategy::attention};
inline constexpr TileMap tile_host{TileStrategy::host};
inline constexpr TileMap tile_control{TileStrategy::control};

inline constexpr TileMap tile_add{TileStrategy::binary, {3, 2, 3, 4}};  // also subtraction and multiplication
inline constexpr TileMap tile_div{TileStrategy::binary, {10, 2, 21, 4}};
inline constexpr TileMap tile_extremum{TileStrategy::binary, {3, 2, 4, 4}};
inline constexpr TileMap tile_compare{TileStrategy::binary, {14, 4, 9, 4}};
inline constexpr TileMap tile_pow{TileStrategy::binary, {312, 1, 325, 1}};
inline constexpr TileMap tile_select{TileStrategy::binary, {5, 1, 5, 1}};
inline constexpr TileMap tile_negate{TileStrategy::unary, {2, 2, 2, 4}};
inline constexpr TileMap tile_square{TileStrategy::unary, {2, 2, 2, 4}};
inline constexpr TileMap tile_exp{TileStrategy::unary, {6, 2, 4, 4}};
inline constexpr TileMap tile_log{TileStrategy::unary, {12, 2, 4, 4}};
inline constexpr TileMap tile_sqrt{TileStrategy::unary, {10, 2, 23, 4}};
inline constexpr TileMap tile_rsqrt{TileStrategy::unary, {8, 2, 19, 4}};
inline constexpr TileMap tile_reciprocal{TileStrategy::unary, {6, 2, 15, 4}};
inline constexpr TileMap tile_trigonometric{TileStrategy::unary, {2300, 1, 2300, 1}};
inline constexpr TileMap tile_erf{TileStrategy::unary, {41, 1, 13, 1}};
inline constexpr TileMap tile_clamp{TileStrategy::unary, {6, 2, 6, 4}};
inline constexpr TileMap tile_relu{TileStrategy::nonlinearity, {1, 2, 1, 4}};
inline constexpr TileMap tile_tanh{TileStrategy::nonlinearity, {10, 2, 2, 4}};
inline constexpr TileMap tile_sigmoid{TileStrategy::nonlinearity, {10, 2, 4, 4}};
inline constexpr TileMap tile_gelu{TileStrategy::nonlinearity, {10, 2, 5, 4}};
inline constexpr TileMap tile_geluerf{TileStrategy::nonlinearity, {30, 2, 15, 4}};
inline constexpr TileMap tile_swish{TileStrategy::nonlinearity, {11, 2, 5, 4}};
inline constexpr TileMap tile_gate_grad{TileStrategy::nonlinearity_grad, {3, 2, 3, 4}};  // relu, tanh, sigmoid
inline constexpr TileMap tile_gelu_grad{TileStrategy::nonlinearity_grad, {10, 2, 5, 4}};
inline constexpr TileMap tile_geluerf_grad{TileStrategy::nonlinearity_grad, {30, 2, 15, 4}};
inline constexpr TileMap tile_swish_grad{TileStrategy::nonlinearity_grad, {9, 2, 9, 4}};

}  // namespace pxl
