// Gather and scatter by positions: the last axis of the indices is a position on several axes of the tensor. Semantics:
// ONNX, GatherND and ScatterND. Negative indices count from the end. An out-of-range index is a run-time Error that
// states the index, its place among the indices, the axis and the extent.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Shapes of both ops: t [batch..., indexed axes..., rest...], indices [batch..., positions..., depth], and the
/// elements at these positions [batch..., positions..., rest...]. t and indices share the first `batch` axes.
struct NdShapes {
  int64_t batches = 1;     ///< number of elements on the shared axes
  int64_t positions = 1;   ///< for each of them
  int64_t rest = 1;        ///< elements at a position
  Shape indexed;           ///< extents of the axes that a position is on
  Shape elements;          ///< the shape of the elements at the positions
  int64_t first_axis = 0;  ///< first indexed axis of t

  /// Throws Error (shape) if the shapes do not fit each other.
  NdShapes(const Shape& t, const Shape& indices, int64_t batch);
};

/// How new elements are combined with present elements.
enum class NdUpdate : uint8_t { none, add, mul, max, min };
/// The update with this name; null for another name.
std::optional<NdUpdate> nd_update(std::string_view name);
/// The names, in order.
std::span<const std::string_view> nd_update_names();

/// in: t, indices. out: the elements at the positions.
Kernel gather_nd_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t batch);
/// in: t, indices, updates. out: t with the updates written at the positions, or combined with the elements there, in
/// the order of the positions. `none` keeps the last of several updates at one position; other updates combine all of
/// them. out may be t's memory. All dtypes; only numbers unless `update` is none.
Kernel scatter_nd_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t batch, NdUpdate update);

}  // namespace pxl
