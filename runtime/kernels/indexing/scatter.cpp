// Scatter, and elements gathered along an axis.
#include <cstring>

#include "runtime/kernels/indexing/indexed_runs.hpp"

namespace pxl {
namespace {

/// Ops with one index per element (ONNX ScatterElements).
struct Elements {
  LoopNest nest;  ///< over the indices' shape; operand 0: offset in t without the axis
  int64_t axis = 0, extent = 0, stride = 0;
  Indices index;

  Elements(const Shape& t, const TensorSpec& indices, int64_t at) : index(indices.dtype, indices.size()) {
    need_integers(indices);
    axis = normalise_axis(at, static_cast<int64_t>(t.size()));
    if (indices.shape.size() != t.size()) {
      throw Error("indices of shape " + bracket_text(indices.shape) + " for a tensor of shape " + bracket_text(t) +
                  ": the ranks differ")
          .as(codes::shape);
    }
    const size_t a = static_cast<size_t>(axis);
    for (size_t d = 0; d < t.size(); ++d) {
      if (d != a && indices.shape[d] > t[d]) {
        throw Error("indices of shape " + bracket_text(indices.shape) + " exceed " + bracket_text(t) + " on axis " +
                    std::to_string(d))
            .as(codes::shape);
      }
    }
    Shape strides = strides_of(t);
    extent = t[a];
    stride = strides[a];
    strides[a] = 0;
    nest = make_loop_nest(indices.shape, {strides});
  }
  /// Calls f for all elements. t is the indexed tensor; the other tensor has the indices' shape.
  void each(const Buffers& b, RunFn f, const std::byte* from, std::byte* to) const {
    const int64_t* at = index.read(b, 1);
    int64_t position = 0;
    RunCollector runs(f, from, to);
    for_each_run<1>(nest, [&](const auto& offset, int64_t n) {
      for (int64_t i = 0; i < n; ++i, ++position) {
        const int64_t j = wrapped_index(at[position], position, axis, extent);
        runs.add(offset[0] + i * nest.inner_stride(0) + j * stride);
      }
    });
    runs.flush();
  }
};

/// Whether a tensor and indices have the same extents off an axis.
bool same_off_axis(const Shape& t, const Shape& indices, int64_t axis) {
  for (size_t d = 0; d < t.size(); ++d)
    if (d != static_cast<size_t>(axis) && t[d] != indices[d]) return false;
  return true;
}

/// Copies input 0 to output 0, unless they are the same memory.
Phase copy_phase(int64_t bytes) {
  return {bytes, 4096, [](const Buffers& b, int64_t begin, int64_t end) {
            if (begin < end && b.in[0] != b.out[0])
              copy_bytes(b.out[0] + begin, b.in[0] + begin, static_cast<size_t>(end - begin));
          }};
}

void copy_through(const Buffers& b, size_t bytes) {
  if (bytes != 0 && b.in[0] != b.out[0]) std::memmove(b.out[0], b.in[0], bytes);
}

/// Calls f for each element of t that has an index, reading input `slot`. `copies`: the output begins as a copy of
/// input 0.
Kernel by_element(const TensorSpec& t, const TensorSpec& indices, int64_t axis, bool copies, RunFn f, size_t slot) {
  const Indexed indexed = copies ? Indexed::output : Indexed::input;
  const Elements e(t.shape, indices, axis);
  if (same_off_axis(t.shape, indices.shape, e.axis) && !t.shape.empty()) {
    WorkspaceLayout workspace;
    const AlongAxis along(indices.shape, size_of(t.dtype), indices, e.axis, e.extent, false, indexed, workspace);
    std::vector<Phase> phases;
    if (copies) phases.push_back(copy_phase(t.bytes()));
    return along.kernel(std::move(phases), workspace, f, slot);
  }
  return Kernel([e, f, slot, copies, bytes = static_cast<size_t>(t.bytes())](const Buffers& b) {
           if (copies) copy_through(b, bytes);
           e.each(b, f, b.in[slot], b.out[0]);
         })
      .with_workspace(e.index.workspace);
}

}  // namespace

Kernel scatter_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  const RunFn copy = by_width(t.dtype, []<class T>(T) -> RunFn { return copy_to_indexed<T>; });
  return by_element(t, indices, axis, true, copy, 2);
}

Kernel take_along_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  return by_element(t, indices, axis, false, copy_from_indexed_of(t.dtype), 0);
}

Kernel scatter_zero_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  const RunFn clear = by_width(t.dtype, []<class T>(T) -> RunFn { return clear_indexed<T>; });
  return by_element(t, indices, axis, true, clear, 0);
}

}  // namespace pxl
