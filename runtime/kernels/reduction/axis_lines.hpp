// The lines of a dense tensor along an axis, and where each line begins.
#pragma once

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// The tensor as [outer, extent, inner].
struct AxisLines {
  int64_t outer = 1, extent = 1, inner = 1;
  AxisLines(const Shape& shape, int64_t axis) {
    const size_t a = static_cast<size_t>(normalise_axis(axis, static_cast<int64_t>(shape.size())));
    for (size_t i = 0; i < shape.size(); ++i) (i < a ? outer : i == a ? extent : inner) *= shape[i];
  }
  /// Calls f(first element of a line, first element of the result's line), for a result with extent k.
  template <class F>
  void each(int64_t k, F&& f) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) f(o * extent * inner + i, o * k * inner + i);
    }
  }
};

/// Throws an error of shape if positions along the axis do not fit into int32.
inline void check_index_range(int64_t extent) {
  if (extent > INT32_MAX)
    throw Error("an axis of " + std::to_string(extent) + " elements is too long for int32 indices").as(codes::shape);
}

}  // namespace pxl
