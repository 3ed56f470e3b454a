// Shapes and specs (shape and dtype), and their arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/dtype.hpp"

namespace pxl {

using Shape = std::vector<int64_t>;  ///< extents, outermost first; empty for a scalar

constexpr int64_t max_rank = 32;  ///< as NumPy

/// Product of the extents. Throws Error above 2^48 elements ("a tensor larger than memory"), for negative extents, and
/// above max_rank axes. A zero extent does not hide overflow of the others.
int64_t element_count(const Shape& shape);

/// The shape as a Python tuple: "()", "(32,)", "(2, 4)".
std::string tuple_text(const Shape& shape);
/// The shape as pxl writes it: "[]", "[32]", "[2, 4]".
std::string bracket_text(const Shape& shape);

/// NumPy broadcasting; throws Error "shapes [2, 3] and [4] cannot be broadcast together", with the axis.
Shape broadcast(const Shape& a, const Shape& b);
bool broadcastable_to(const Shape& from, const Shape& to);

/// Wraps a negative axis; throws Error if it is out of range for `rank`.
int64_t normalise_axis(int64_t axis, int64_t rank);

/// Row-major strides in elements.
Shape strides_of(const Shape& shape);

struct TensorSpec {
  Shape shape;
  DType dtype = DType::float32;
  Shape meta_shape;  ///< shards: shape of the whole tensor; else empty
  /// Shards: the group number of each replica (op/replica_groups.hpp). The members of a group hold the parts of one
  /// whole tensor. Empty: the tensor is not a shard.
  std::vector<int64_t> shard_groups = {};

  bool is_shard() const { return !shard_groups.empty(); }
  int64_t size() const { return element_count(shape); }  ///< elements
  int64_t bytes() const { return size() * static_cast<int64_t>(size_of(dtype)); }
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// "float32[8, 784]"; of a shard "float32[4] of [2, 4]".
std::string text(const TensorSpec& spec);
/// `text`, and the groups of a shard: equal texts are equal specs.
std::string spec_key(const TensorSpec& spec);

}  // namespace pxl
