// Reductions of elements by index, and their gradient.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/block/extremes.hpp"
#include "runtime/kernels/indexing/indexed_runs.hpp"

namespace pxl {
namespace {

/// Loop nest over data. Operand 0 is the offset in the reduced tensor without its axis; operand 1 is the offset of the
/// index.
struct Reduce {
  LoopNest nest;
  int64_t axis = 0, extent = 0, stride = 0, data_size = 0, out_size = 0;
  bool divided = false, by_slice = false;  ///< see AlongAxis
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
  /// Calls f for all elements. The reduced tensor is the indexed one.
  void each(const Buffers& b, RunFn f, const std::byte* from, std::byte* to) const {
    const int64_t* at = index.read(b, 1);
    RunCollector runs(f, from, to);
    for_each_run<2>(nest, [&](const auto& offset, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t p = offset[1] + i * nest.inner_stride(1), j = wrapped_index(at[p], p, axis, extent);
        runs.add(offset[0] + i * nest.inner_stride(0) + j * stride);
      }
    });
    runs.flush();
  }
};

/// The finite extremes of a dtype.
template <class S>
constexpr auto lowest() {
  if constexpr (is_narrow_v<S>)
    return static_cast<float>(-row(dtype_of<S>()).max);
  else
    return std::numeric_limits<S>::lowest();
}
template <class S>
constexpr auto highest() {
  if constexpr (is_narrow_v<S>)
    return static_cast<float>(row(dtype_of<S>()).max);
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
    static constexpr C first() {                     \
      return FIRST;                                  \
    }                                                \
    template <class C>                               \
    static C combined([[maybe_unused]] C now, C v) { \
      return COMBINED;                               \
    }                                                \
  };
#include "runtime/kernels/indexing/scatter_reduction_table.inc"

constexpr std::string_view scatter_names[] = {
#define PXL_SCATTER_REDUCTION(NAME, ...) #NAME,
#include "runtime/kernels/indexing/scatter_reduction_table.inc"
};

/// A row for one dtype: the function that combines a run, in type C, and the bytes of an element's initial value.
struct ScatterReductionRow {
  RunFn run;
  alignas(8) std::array<std::byte, 8> first{};
};

template <class Into, class C>
void combine_runs(const IndexedRun& run, const std::byte* from, std::byte* to) {
  // Float slices use the block functions: the compiler does not vectorise extremes well enough here.
  if constexpr (std::is_floating_point_v<C> && (std::is_same_v<Into, min_into> || std::is_same_v<Into, max_into>))
    if (run.by_slice) {
      static const BinaryFn join =
          binary_block(std::is_same_v<Into, max_into> ? Binary::maximum : Binary::minimum, dtype_of<C>()).vv;
      const auto slices = [&](const auto* at) {
        for (int64_t r = 0; r < run.rows; ++r) {
          C* now = reinterpret_cast<C*>(to) + run.offset + at[r] * run.inner;
          join(now, reinterpret_cast<const C*>(from) + run.position + r * run.row, now, run.n);
        }
      };
      return run.at32 ? slices(run.at32) : slices(run.at);
    }
  each_element(run, [x = reinterpret_cast<const C*>(from), out = reinterpret_cast<C*>(to)](
                        int64_t place, int64_t position) { out[place] = Into::combined(out[place], x[position]); });
}
template <class Into, class S, class C>
constexpr ScatterReductionRow row_of() {
  ScatterReductionRow row{combine_runs<Into, C>};
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(C)>>(Into::template first<S, C>());
  std::copy(bytes.begin(), bytes.end(), row.first.begin());
  return row;
}
/// Narrow dtypes combine in float32.
ScatterReductionRow row_of(ScatterReduction op, DType dtype) {
  return with_type(dtype, [&](auto tag) {
    using S = typename decltype(tag)::type;
    using C = compute_type<S>;
    static constexpr ScatterReductionRow rows[] = {
#define PXL_SCATTER_REDUCTION(NAME, ...) row_of<NAME##_into, S, C>(),
#include "runtime/kernels/indexing/scatter_reduction_table.inc"
    };
    return rows[static_cast<size_t>(op)];
  });
}

/// Combines in the dtype itself, on all threads.
Kernel divided_scatter_into(const ScatterReductionRow& row, const Reduce& r, const TensorSpec& data,
                            const TensorSpec& indices, bool has_initial) {
  WorkspaceLayout workspace;
  const size_t width = size_of(data.dtype);
  const AlongAxis along(data.shape, width, indices, r.axis, r.extent, r.by_slice, Indexed::output, workspace);
  const Phase first{r.out_size, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                      if (begin >= end) return;
                      const size_t at = static_cast<size_t>(begin) * width;
                      if (!has_initial) {
                        integer_blocks().fill(width)(row.first.data(), b.out[0] + at, end - begin);
                      } else if (b.in[2] != b.out[0]) {
                        copy_bytes(b.out[0] + at, b.in[2] + at, static_cast<size_t>(end - begin) * width);
                      }
                    }};
  return along.kernel({first}, workspace, row.run, 0);
}

/// Combines for any indices and for narrow dtypes, on one thread.
Kernel scatter_into(const ScatterReductionRow& row, const Reduce& r, DType dtype, bool has_initial) {
  const DType wide = compute_dtype(dtype);
  const bool narrow = wide != dtype;
  WorkspaceLayout workspace = r.index.workspace;
  const auto wide_out = workspace.per_call<float>(narrow ? r.out_size : 0);
  const auto wide_data = workspace.per_call<float>(narrow ? r.data_size : 0);
  return Kernel([=](const Buffers& b) {
           std::byte* out = b.out[0];
           const std::byte* x = b.in[0];
           if (narrow) {
             out = reinterpret_cast<std::byte*>(b.workspace(wide_out));
             auto* copy = reinterpret_cast<std::byte*>(b.workspace(wide_data));
             convert(dtype, b.in[0], wide, copy, r.data_size);
             x = copy;
           }
           if (has_initial)
             convert(dtype, b.in[2], wide, out, r.out_size);
           else if (r.out_size > 0)
             integer_blocks().fill(size_of(wide))(row.first.data(), out, r.out_size);
           r.each(b, row.run, x, out);
           if (narrow) convert(wide, out, dtype, b.out[0], r.out_size);
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
  const ScatterReductionRow row = row_of(op, data.dtype);
  if (r.divided && !is_narrow(data.dtype)) return divided_scatter_into(row, r, data, indices, has_initial);
  return scatter_into(row, r, data.dtype, has_initial);
}

Kernel scatter_reduce_grad_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, int64_t axis_size) {
  const Reduce r(data.shape, indices, axis, axis_size);
  const RunFn copy = copy_from_indexed_of(data.dtype);
  if (r.divided) {
    WorkspaceLayout workspace;
    const AlongAxis along(data.shape, size_of(data.dtype), indices, r.axis, r.extent, r.by_slice, Indexed::input,
                          workspace);
    return along.kernel({}, workspace, copy, 0);
  }
  return Kernel([r, copy](const Buffers& b) { r.each(b, copy, b.in[0], b.out[0]); }).with_workspace(r.index.workspace);
}

}  // namespace pxl
