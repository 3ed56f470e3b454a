// Scatter, its gradients, and elements taken along an axis.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/kernels/broadcast.hpp"
#include "runtime/kernels/indices.hpp"
#include "runtime/kernels/strided.hpp"

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
  /// f(element offset in t, position among the indices)
  template <class F>
  void each(const Buffers& b, F&& f) const {
    const int64_t* at = index.read(b, 1);
    int64_t position = 0;
    for_each_run<1>(nest, [&](const auto& offset, int64_t n) {
      for (int64_t i = 0; i < n; ++i, ++position) {
        const int64_t j = wrapped_index(at[position], position, axis, extent);
        f(offset[0] + i * nest.inner_stride(0) + j * stride, position);
      }
    });
  }
};

/// The elements of [outer, count, inner] at indices in [outer, extent, inner]: one index for each, or (by_slice) one
/// for each slice along the axis. Blocks of columns are independent of each other, since an index moves an element
/// along the axis only; within a block elements are processed in the order of the indices.
struct AlongAxis {
  int64_t outer = 1, count, extent, inner = 1, columns = CheckedIndices::piece, blocks;
  bool by_slice;
  CheckedIndices index;

  /// `width`: bytes of an element.
  AlongAxis(const Shape& elements, size_t width, const TensorSpec& indices, int64_t axis, int64_t into, bool slices,
            WorkspaceLayout& workspace)
      : count(elements[static_cast<size_t>(axis)]),
        extent(into),
        by_slice(slices),
        index(indices, 1, axis, into, workspace) {
    for (size_t d = 0; d < elements.size(); ++d) {
      if (d != static_cast<size_t>(axis)) (d < static_cast<size_t>(axis) ? outer : inner) *= elements[d];
    }
    // Where each element has an index, a block's rows are accessed in any order: they are to fit in L2.
    constexpr int64_t cached = 1 << 18, line = 64;
    const auto bytes = static_cast<int64_t>(width);
    while (!by_slice && columns * bytes > line && columns * bytes > cached / std::max<int64_t>(extent, 1)) columns /= 2;
    blocks = (inner + columns - 1) / columns;
  }

  /// Calls f(offset, step, position, at, at_step, n) for runs of the elements: element i < n is at position + i, and
  /// at[i * at_step] along the axis: at offset + i * step + at[i * at_step] * inner.
  template <class F>
  void each(const Buffers& b, int64_t begin, int64_t end, F&& f) const {
    int64_t at[CheckedIndices::piece];
    for (int64_t u = begin; u < end; ++u) {
      const int64_t o = u / blocks, c = u % blocks * columns, width = std::min(columns, inner - c);
      const int64_t offset = o * extent * inner + c;
      if (inner == 1 || by_slice) {
        for (int64_t k = 0; k < count; k += CheckedIndices::piece) {
          const int64_t n = std::min(CheckedIndices::piece, count - k);
          if (!index.read(b, by_slice ? k : o * count + k, n, at)) continue;
          if (inner == 1) {
            f(offset, 0, o * count + k, at, 1, n);
          } else {
            for (int64_t i = 0; i < n; ++i) f(offset, 1, (o * count + k + i) * inner + c, at + i, 0, width);
          }
        }
        continue;
      }
      for (int64_t k = 0; k < count; ++k) {
        const int64_t position = (o * count + k) * inner + c;
        if (index.read(b, position, width, at)) f(offset, 1, position, at, 1, width);
      }
    }
  }

  /// The kernel of these phases: `first`, then f for each run, on all threads.
  template <class F>
  Kernel kernel(std::vector<Phase> first, WorkspaceLayout workspace, F f) const {
    first.insert(first.begin(), index.before());
    first.push_back({outer * blocks, 1, [along = *this, f](const Buffers& b, int64_t begin, int64_t end) {
                       along.each(b, begin, end, [&](auto... run) { f(along, b, run...); });
                     }});
    first.push_back(index.after());
    // 2 ns an element. Not measured.
    const double cost_ns = 2 * static_cast<double>(outer * count) * static_cast<double>(inner);
    return Kernel::parallel(std::move(first), cost_ns).with_workspace(workspace);
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

/// A kernel of f(T) for the unsigned type that is as wide as the dtype.
template <class F>
Kernel by_width(DType dtype, F&& f) {
  Kernel kernel;
  with_width(size_of(dtype), [&](auto tag) { kernel = f(tag); });
  return kernel;
}

void copy_through(const Buffers& b, size_t bytes) {
  if (bytes != 0 && b.in[0] != b.out[0]) std::memmove(b.out[0], b.in[0], bytes);
}

/// `f(x, to, from)` for each element, where x is a pointer to the output; `copies` where it begins as input 0.
template <class F>
Kernel by_element(const TensorSpec& t, const TensorSpec& indices, int64_t axis, bool copies, F f) {
  const Elements e(t.shape, indices, axis);
  return by_width(t.dtype, [&]<class T>(T) -> Kernel {
    if (same_off_axis(t.shape, indices.shape, e.axis) && !t.shape.empty()) {
      WorkspaceLayout workspace;
      const AlongAxis along(indices.shape, sizeof(T), indices, e.axis, e.extent, false, workspace);
      std::vector<Phase> phases;
      if (copies) phases.push_back(copy_phase(t.bytes()));
      return along.kernel(std::move(phases), workspace,
                          [f](const AlongAxis& a, const Buffers& b, int64_t offset, int64_t step, int64_t position,
                              const int64_t* at, int64_t at_step, int64_t n) {
                            for (int64_t i = 0; i < n; ++i)
                              f(b, T{}, offset + i * step + at[i * at_step] * a.inner, position + i);
                          });
    }
    return Kernel([e, f, copies, bytes = static_cast<size_t>(t.bytes())](const Buffers& b) {
             if (copies) copy_through(b, bytes);
             e.each(b, [&](int64_t place, int64_t position) { f(b, T{}, place, position); });
           })
        .with_workspace(e.index.workspace);
  });
}

}  // namespace

Kernel scatter_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  return by_element(t, indices, axis, true, []<class T>(const Buffers& b, T, int64_t place, int64_t position) {
    b.output<T>(0)[place] = b.input<T>(2)[position];
  });
}

Kernel take_along_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  return by_element(t, indices, axis, false, []<class T>(const Buffers& b, T, int64_t place, int64_t position) {
    b.output<T>(0)[position] = b.input<T>(0)[place];
  });
}

Kernel scatter_zero_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  return by_element(t, indices, axis, true,
                    []<class T>(const Buffers& b, T, int64_t place, int64_t) { b.output<T>(0)[place] = 0; });
}

namespace {

/// Loop nest over data: operand 0 is the offset in the reduced tensor without its axis, operand 1 that of the index.
struct Reduce {
  LoopNest nest;
  int64_t axis = 0, extent = 0, stride = 0, data_size = 0, out_size = 0;
  bool divided = false, by_slice = false;  ///< as AlongAxis has it
  Indices index;

  Reduce(const Shape& data, const TensorSpec& indices, int64_t at, int64_t axis_size)
      : index(indices.dtype, indices.size()) {
    need_integers(indices);
    axis = normalise_axis(at, static_cast<int64_t>(data.size()));
    const size_t a = static_cast<size_t>(axis);
    if (axis_size < 0)
      throw Error("scatter_reduce into an axis of " + std::to_string(axis_size) + " elements").as(codes::shape);
    Shape out = data;
    out[a] = axis_size;
    Shape out_strides = strides_of(out), index_strides;
    if (indices.shape.size() == 1 && data.size() != 1 && indices.shape[0] == data[a]) {
      index_strides.assign(data.size(), 0);
      index_strides[a] = 1;
      divided = by_slice = true;
    } else {
      divided = indices.shape == data && !data.empty();
      index_strides = broadcast_strides(indices.shape, data);
    }
    extent = axis_size;
    stride = out_strides[a];
    out_strides[a] = 0;
    data_size = element_count(data);
    out_size = element_count(out);
    nest = make_loop_nest(data, {out_strides, index_strides});
  }
  /// f(offset in the reduced tensor, offset in data)
  template <class F>
  void each(const Buffers& b, F&& f) const {
    const int64_t* at = index.read(b, 1);
    int64_t position = 0;
    for_each_run<2>(nest, [&](const auto& offset, int64_t n) {
      for (int64_t i = 0; i < n; ++i, ++position) {
        const int64_t p = offset[1] + i * nest.inner_stride(1), j = wrapped_index(at[p], p, axis, extent);
        f(offset[0] + i * nest.inner_stride(0) + j * stride, position);
      }
    });
  }
};

/// The finite extremes of a dtype.
template <class S>
auto lowest() {
  if constexpr (std::is_same_v<S, half>)
    return -65504.0f;
  else
    return std::numeric_limits<S>::lowest();
}
template <class S>
auto highest() {
  if constexpr (std::is_same_v<S, half>)
    return 65504.0f;
  else
    return std::numeric_limits<S>::max();
}

template <class C>
C wrapping_sum(C now, C v) {
  if constexpr (std::is_same_v<C, bool>)
    return now || v;
  else if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(now) + static_cast<uint64_t>(v));
  else
    return now + v;
}

// The rows of scatter_reduction_table.inc as types.
#define PXL_SCATTER_REDUCTION(NAME, FIRST, COMBINED) \
  struct NAME##_into {                               \
    template <class S, class C>                      \
    static C first() {                               \
      return FIRST;                                  \
    }                                                \
    template <class C>                               \
    static C combined([[maybe_unused]] C now, C v) { \
      return COMBINED;                               \
    }                                                \
  };
#include "runtime/kernels/scatter_reduction_table.inc"

constexpr std::string_view scatter_names[] = {
#define PXL_SCATTER_REDUCTION(NAME, ...) #NAME,
#include "runtime/kernels/scatter_reduction_table.inc"
};

/// `Into` is a row, T the dtype, in which it combines.
template <class Into, class T>
Kernel divided_scatter_into(const Reduce& r, const TensorSpec& data, const TensorSpec& indices, bool has_initial) {
  WorkspaceLayout workspace;
  const AlongAxis along(data.shape, sizeof(T), indices, r.axis, r.extent, r.by_slice, workspace);
  const Phase first{r.out_size, 1024, [has_initial](const Buffers& b, int64_t begin, int64_t end) {
                      if (begin >= end) return;
                      T* out = b.output<T>(0);
                      if (!has_initial) return std::fill(out + begin, out + end, Into::template first<T, T>());
                      const T* from = b.input<T>(2);
                      if (from != out) std::copy(from + begin, from + end, out + begin);
                    }};
  return along.kernel({first}, workspace,
                      [](const AlongAxis& a, const Buffers& b, int64_t offset, int64_t step, int64_t position,
                         const int64_t* at, int64_t at_step, int64_t n) {
                        const T* x = b.input<T>(0) + position;
                        T* out = b.output<T>(0) + offset;
                        if (at_step == 0) {
                          out += *at * a.inner;
                          for (int64_t i = 0; i < n; ++i) out[i] = Into::combined(out[i], x[i]);
                        } else {
                          for (int64_t i = 0; i < n; ++i) {
                            T& to = out[i * step + at[i] * a.inner];
                            to = Into::combined(to, x[i]);
                          }
                        }
                      });
}

/// The same for any indices, on one thread.
template <class Into, class T>
Kernel scatter_into(const Reduce& r, bool has_initial) {
  using C = std::conditional_t<std::is_same_v<T, half>, float, T>;
  constexpr bool is_half = std::is_same_v<T, half>;
  WorkspaceLayout workspace = r.index.workspace;
  const auto wide_out = workspace.per_call<C>(is_half ? r.out_size : 0);
  const auto wide_data = workspace.per_call<C>(is_half ? r.data_size : 0);
  return Kernel([=](const Buffers& b) {
           constexpr DType dtype = dtype_of<T>(), wide = dtype_of<C>();
           C* out;
           const C* x;
           if constexpr (is_half) {
             out = b.workspace(wide_out);
             float* copy = b.workspace(wide_data);
             convert(dtype, b.in[0], wide, reinterpret_cast<std::byte*>(copy), r.data_size);
             x = copy;
           } else {
             out = b.output<T>(0);
             x = b.input<T>(0);
           }
           if (has_initial)
             convert(dtype, b.in[2], wide, reinterpret_cast<std::byte*>(out), r.out_size);
           else
             std::fill(out, out + r.out_size, Into::template first<T, C>());
           r.each(b, [&](int64_t to, int64_t from) { out[to] = Into::combined(out[to], x[from]); });
           if constexpr (is_half) convert(wide, reinterpret_cast<const std::byte*>(out), dtype, b.out[0], r.out_size);
         })
      .with_workspace(workspace);
}

}  // namespace

std::optional<ScatterReduction> scatter_reduction(std::string_view name) {
  const auto found = std::find(std::begin(scatter_names), std::end(scatter_names), name);
  if (found == std::end(scatter_names)) return std::nullopt;
  return static_cast<ScatterReduction>(found - std::begin(scatter_names));
}
std::span<const std::string_view> scatter_reduction_names() { return scatter_names; }

Kernel scatter_reduce_kernel(ScatterReduction op, const TensorSpec& data, const TensorSpec& indices, int64_t axis,
                             int64_t axis_size, bool has_initial) {
  const Reduce r(data.shape, indices, axis, axis_size);
  return with_type(data.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, half>) {
      constexpr Kernel (*divided[])(const Reduce&, const TensorSpec&, const TensorSpec&, bool) = {
#define PXL_SCATTER_REDUCTION(NAME, ...) divided_scatter_into<NAME##_into, T>,
#include "runtime/kernels/scatter_reduction_table.inc"
      };
      if (r.divided) return divided[static_cast<size_t>(op)](r, data, indices, has_initial);
    }
    constexpr Kernel (*rows[])(const Reduce&, bool) = {
#define PXL_SCATTER_REDUCTION(NAME, ...) scatter_into<NAME##_into, T>,
#include "runtime/kernels/scatter_reduction_table.inc"
    };
    return rows[static_cast<size_t>(op)](r, has_initial);
  });
}

Kernel scatter_reduce_grad_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, int64_t axis_size) {
  const Reduce r(data.shape, indices, axis, axis_size);
  return by_width(data.dtype, [&]<class T>(T) -> Kernel {
    if (r.divided) {
      WorkspaceLayout workspace;
      const AlongAxis along(data.shape, sizeof(T), indices, r.axis, r.extent, r.by_slice, workspace);
      return along.kernel({}, workspace,
                          [](const AlongAxis& a, const Buffers& b, int64_t offset, int64_t step, int64_t position,
                             const int64_t* at, int64_t at_step, int64_t n) {
                            const T* dy = b.input<T>(0) + offset;
                            T* out = b.output<T>(0) + position;
                            if (at_step == 0)
                              std::copy_n(dy + *at * a.inner, n, out);
                            else
                              for (int64_t i = 0; i < n; ++i) out[i] = dy[i * step + at[i] * a.inner];
                          });
    }
    return Kernel([r](const Buffers& b) {
             r.each(b, [&](int64_t from, int64_t to) { b.output<T>(0)[to] = b.input<T>(0)[from]; });
           })
        .with_workspace(r.index.workspace);
  });
}

}  // namespace pxl
