// How an op maps to the tiles of an IPU: the column of the op table that the tile model (runtime/tiles) reads. An op
// names a family, whose row in runtime/tiles/plan.cpp knows layouts, partitions and cycles, and for vertices that
// go over vectors of elements the cycles of the inner loop.
#pragma once

#include <cstdint>

namespace pxl {

enum class TileFamily : uint8_t {
  unset,              ///< refused by the check of the op table
  view,               ///< output 0 has the bytes of input 0 in its order: nothing runs
  fill,               ///< outputs made of nothing: zeros, ranges
  random,             ///< as fill, by the tile's random numbers
  unary,              ///< element by element, one operand that matters
  binary,             ///< element by element, operands broadcast
  nonlinearity,       ///< activation functions with vertices of their own
  nonlinearity_grad,  ///< their gradients
  cast,               ///< another dtype
  update,             ///< in place, element by element, on the first operand
  copy,               ///< the same elements, in the layout in which they are
  movement,           ///< elements that change places: transposition, slices, joins
  reduction,          ///< fewer elements: sums and the like over axes
  scan,               ///< running sums along an axis
  sort,               ///< order along an axis: top-k, medians
  softmax,            ///< along an axis: maximum, exponential, sum, division
  softmax_grad,       ///< along an axis: product, sum, difference, product
  normalise,          ///< mean and variance along rows, scale and shift
  normalise_grad,
  product,              ///< matrix products, batched
  convolution,          ///< windows of data, weights
  convolution_data,     ///< their gradient for the data; transposed convolutions
  convolution_weights,  ///< their gradient for the weights
  pooling,              ///< sums and maxima of windows, and their gradients
  gather,               ///< slices at indices
  scatter,              ///< slices written or added at indices
  loss,                 ///< one value a row of class probabilities
  loss_grad,            ///< their gradient
  host,                 ///< copies from and to the host
  control,              ///< calls, loops and branches
  count
};

/// Cycles that a vertex takes for each vector of elements; source: cycle estimators of PopLibs (popopsCycleEstimators,
/// popnn PerformanceEstimation), as listed in docs/ipu-model.md. Other dtypes count by their size.
struct VectorCost {
  int16_t f32_cycles = 5, f32_elements = 2, f16_cycles = 5, f16_elements = 4;
};

struct TileMap {
  TileFamily family = TileFamily::unset;
  VectorCost vector = {};
};

// For rows: `.tiles = tile_exp`. An op whose inner loop has no figure takes its family's name alone.
inline constexpr TileMap tile_view{TileFamily::view};
inline constexpr TileMap tile_fill{TileFamily::fill, {1, 2, 1, 4}};
inline constexpr TileMap tile_random{TileFamily::random, {6, 2, 6, 4}};
inline constexpr TileMap tile_unary{TileFamily::unary};
inline constexpr TileMap tile_binary{TileFamily::binary};
inline constexpr TileMap tile_copy{TileFamily::copy};
inline constexpr TileMap tile_movement{TileFamily::movement};
inline constexpr TileMap tile_cast{TileFamily::cast};
inline constexpr TileMap tile_update{TileFamily::update, {3, 2, 3, 4}};
inline constexpr TileMap tile_adam{TileFamily::update, {34, 2, 60, 4}};  // two products, root, quotient, sum
inline constexpr TileMap tile_reduction{TileFamily::reduction};
inline constexpr TileMap tile_scan{TileFamily::scan, {6, 1, 6, 1}};
inline constexpr TileMap tile_sort{TileFamily::sort, {15, 1, 15, 1}};
inline constexpr TileMap tile_softmax{TileFamily::softmax};
inline constexpr TileMap tile_softmax_grad{TileFamily::softmax_grad};
inline constexpr TileMap tile_normalise{TileFamily::normalise};
inline constexpr TileMap tile_normalise_grad{TileFamily::normalise_grad};
inline constexpr TileMap tile_product{TileFamily::product};
inline constexpr TileMap tile_convolution{TileFamily::convolution};
inline constexpr TileMap tile_convolution_data{TileFamily::convolution_data};
inline constexpr TileMap tile_convolution_weights{TileFamily::convolution_weights};
inline constexpr TileMap tile_pooling{TileFamily::pooling};
inline constexpr TileMap tile_gather{TileFamily::gather};
inline constexpr TileMap tile_scatter{TileFamily::scatter};
inline constexpr TileMap tile_loss{TileFamily::loss};
inline constexpr TileMap tile_loss_grad{TileFamily::loss_grad};
inline constexpr TileMap tile_host{TileFamily::host};
inline constexpr TileMap tile_control{TileFamily::control};

inline constexpr TileMap tile_add{TileFamily::binary, {3, 2, 3, 4}};  // also differences and products
inline constexpr TileMap tile_div{TileFamily::binary, {10, 2, 21, 4}};
inline constexpr TileMap tile_extremum{TileFamily::binary, {3, 2, 4, 4}};
inline constexpr TileMap tile_compare{TileFamily::binary, {14, 4, 9, 4}};
inline constexpr TileMap tile_pow{TileFamily::binary, {312, 1, 325, 1}};
inline constexpr TileMap tile_select{TileFamily::binary, {5, 1, 5, 1}};
inline constexpr TileMap tile_negate{TileFamily::unary, {2, 2, 2, 4}};
inline constexpr TileMap tile_square{TileFamily::unary, {2, 2, 2, 4}};
inline constexpr TileMap tile_exp{TileFamily::unary, {6, 2, 4, 4}};
inline constexpr TileMap tile_log{TileFamily::unary, {12, 2, 4, 4}};
inline constexpr TileMap tile_sqrt{TileFamily::unary, {10, 2, 23, 4}};
inline constexpr TileMap tile_rsqrt{TileFamily::unary, {8, 2, 19, 4}};
inline constexpr TileMap tile_reciprocal{TileFamily::unary, {6, 2, 15, 4}};
inline constexpr TileMap tile_trigonometric{TileFamily::unary, {2300, 1, 2300, 1}};
inline constexpr TileMap tile_erf{TileFamily::unary, {41, 1, 13, 1}};
inline constexpr TileMap tile_clamp{TileFamily::unary, {6, 2, 6, 4}};
inline constexpr TileMap tile_relu{TileFamily::nonlinearity, {1, 2, 1, 4}};
inline constexpr TileMap tile_tanh{TileFamily::nonlinearity, {10, 2, 2, 4}};
inline constexpr TileMap tile_sigmoid{TileFamily::nonlinearity, {10, 2, 4, 4}};
inline constexpr TileMap tile_gelu{TileFamily::nonlinearity, {10, 2, 5, 4}};
inline constexpr TileMap tile_geluerf{TileFamily::nonlinearity, {30, 2, 15, 4}};
inline constexpr TileMap tile_swish{TileFamily::nonlinearity, {11, 2, 5, 4}};
inline constexpr TileMap tile_gate_grad{TileFamily::nonlinearity_grad, {3, 2, 3, 4}};  // relu, tanh, sigmoid
inline constexpr TileMap tile_gelu_grad{TileFamily::nonlinearity_grad, {10, 2, 5, 4}};
inline constexpr TileMap tile_geluerf_grad{TileFamily::nonlinearity_grad, {30, 2, 15, 4}};
inline constexpr TileMap tile_swish_grad{TileFamily::nonlinearity_grad, {9, 2, 9, 4}};

}  // namespace pxl
