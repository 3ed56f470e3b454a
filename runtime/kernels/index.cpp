#include "runtime/kernels/index.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/broadcast.hpp"

namespace pxl {
namespace {

void need_integers(const TensorSpec& indices) {
  if (!is_integer(indices.dtype))
    throw Error("indices must be integers, not " + std::string(name(indices.dtype)), {"cast them to int32"})
        .as(codes::dtype);
}

/// Reads n indices as int64: in place, or converted into the workspace.
struct Indices {
  DType dtype = DType::int64;
  int64_t count = 0;
  PerCall<int64_t> converted;
  WorkspaceLayout workspace;

  Indices() = default;
  Indices(DType d, int64_t n) : dtype(d), count(n) {
    converted = workspace.per_call<int64_t>(dtype == DType::int64 ? 0 : n);
  }
  const int64_t* read(const Buffers& b, size_t slot) const {
    if (dtype == DType::int64) return b.input<int64_t>(slot);
    int64_t* to = b.workspace(converted);
    convert(dtype, b.in[slot], DType::int64, reinterpret_cast<std::byte*>(to), count);
    return to;
  }
};

/// data [batches, outer, extent, inner], indices [batches, count], gathered [batches, outer, count, inner].
struct Gather {
  int64_t batches = 1, outer = 1, extent = 1, inner = 1, count = 1, axis = 0;
  Indices index;

  Gather(const Shape& data, const TensorSpec& indices, int64_t at, int64_t batch) {
    need_integers(indices);
    axis = normalise_axis(at, static_cast<int64_t>(data.size()));
    if (batch < 0 || batch > axis || batch > static_cast<int64_t>(indices.shape.size())) {
      throw Error("gather shares " + std::to_string(batch) + " axes before axis " + std::to_string(axis))
          .as(codes::shape);
    }
    for (size_t d = 0; d < data.size(); ++d) {
      const int64_t i = static_cast<int64_t>(d);
      (i < batch ? batches : i < axis ? outer : i == axis ? extent : inner) *= data[d];
    }
    for (size_t d = 0; d < indices.shape.size(); ++d) {
      if (static_cast<int64_t>(d) >= batch)
        count *= indices.shape[d];
      else if (indices.shape[d] != data[d])
        throw Error("gather: axis " + std::to_string(d) + " of data and indices differ").as(codes::shape);
    }
    index = Indices(indices.dtype, batches * count);
  }
  /// f(element offset in data or -1 when out of range, offset in the gathered tensor), for rows of `inner` elements.
  template <class F>
  void each(const Buffers& buffers, bool ignore, F&& f) const {
    const int64_t* at = index.read(buffers, 1);
    for (int64_t b = 0; b < batches; ++b) {
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t j = 0; j < count; ++j) {
          const int64_t given = at[b * count + j], row = b * outer + o;
          const int64_t i = ignore ? given : wrapped_index(given, b * count + j, axis, extent);
          const bool bad = i < 0 || i >= extent;
          f(bad ? -1 : (row * extent + i) * inner, (row * count + j) * inner);
        }
      }
    }
  }
};

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

/// Calls f(type) with an unsigned type of `width` bytes, as which elements are moved.
template <class F>
void with_width(size_t width, F&& f) {
  switch (width) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

void copy_through(const Buffers& b, size_t bytes) {
  if (bytes != 0 && b.in[0] != b.out[0]) std::memmove(b.out[0], b.in[0], bytes);
}

}  // namespace

void check_index(int64_t index, int64_t position, int64_t axis, int64_t extent) {
  if (index < 0 || index >= extent)
    throw run_error("index " + std::to_string(index) + " is out of range for axis " + std::to_string(axis) +
                        " of extent " + std::to_string(extent),
                    {"it is element " + std::to_string(position) + " of the indices (counted row by row)"})
        .as(codes::index);
}

Shape gather_shape(const Shape& data, const Shape& indices, int64_t axis, int64_t batch) {
  const int64_t a = normalise_axis(axis, static_cast<int64_t>(data.size()));
  if (batch < 0 || batch > static_cast<int64_t>(indices.size()))
    throw Error("gather shares " + std::to_string(batch) + " axes").as(codes::shape);
  Shape out(data.begin(), data.begin() + a);
  out.insert(out.end(), indices.begin() + batch, indices.end());
  out.insert(out.end(), data.begin() + a + 1, data.end());
  return out;
}

Kernel gather_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, bool zero_out_of_range,
                     int64_t batch) {
  const Gather g(data.shape, indices, axis, batch);
  return Kernel([g, zero_out_of_range, width = static_cast<int64_t>(size_of(data.dtype))](const Buffers& b) {
           const size_t bytes = static_cast<size_t>(g.inner * width);
           if (bytes == 0) return;
           g.each(b, zero_out_of_range, [&](int64_t from, int64_t to) {
             if (from < 0)
               std::memset(b.out[0] + to * width, 0, bytes);
             else
               std::memcpy(b.out[0] + to * width, b.in[0] + from * width, bytes);
           });
         })
      .with_workspace(g.index.workspace);
}

Kernel scatter_add_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, bool ignore_out_of_range,
                          int64_t batch) {
  const bool is_half = data.dtype == DType::float16;
  const DType wide = is_half ? DType::float32 : data.dtype;
  const Gather g(data.shape, indices, axis, batch);
  WorkspaceLayout workspace = g.index.workspace;
  const auto wide_sums = workspace.per_call<float>(is_half ? data.size() : 0);
  const auto wide_row = workspace.per_call<float>(is_half ? g.inner : 0);
  return Kernel([=, size = data.size(), add = binary_block(Binary::add, wide).vv,
                 width = static_cast<int64_t>(size_of(wide))](const Buffers& b) {
           if (size == 0) return;
           std::byte* sums = is_half ? reinterpret_cast<std::byte*>(b.workspace(wide_sums)) : b.out[0];
           float* row = b.workspace(wide_row);
           std::memset(sums, 0, static_cast<size_t>(size * width));
           g.each(b, ignore_out_of_range, [&](int64_t to, int64_t from) {
             if (to < 0) return;
             std::byte* at = sums + to * width;
             if (is_half) {
               bulk().half_to_float(b.input<uint16_t>(0) + from, row, g.inner);
               add(at, row, at, g.inner);
             } else {
               add(at, b.in[0] + from * width, at, g.inner);
             }
           });
           if (is_half) bulk().float_to_half(reinterpret_cast<const float*>(sums), b.output<uint16_t>(0), size);
         })
      .with_workspace(workspace);
}

namespace {

/// What one run of a sparse update finds out about its operands.
struct SparseRun {
  int64_t entries = 0;     ///< indices in range
  bool keeps_rest = true;  ///< an update by zeros changes nothing
};
/// An index in range: its row of t, and its position among the rows of dy.
struct SparseEntry {
  int64_t row, position;
  bool operator<(const SparseEntry& other) const {
    return row != other.row ? row < other.row : position < other.position;
  }
};

/// The kernels and workspace of a sparse update; one copy for all its phases.
struct SparseUpdate {
  explicit SparseUpdate(Gather g) : gather(std::move(g)) {}

  Gather gather;
  SparseUpdateSlots slots;
  Kernel row, probe;
  bool ignore = false, is_half = false;
  int64_t inner = 0, rows = 0;
  size_t t_width = 0, x_width = 0;
  DType t_dtype = DType::float32;
  decltype(BinaryBlock::vv) add = nullptr;
  PerCall<SparseRun> run;
  PerCall<SparseEntry> entries;
  PerThread<std::byte> sums, row_sums;
  PerThread<float> widened;
  WorkspaceSize before_nested;

  SparseRun& state(const Buffers& b) const { return *b.workspace(run); }

  std::array<const std::byte*, SparseUpdateSlots::max_operands> operands_of(const Buffers& b) const {
    std::array<const std::byte*, SparseUpdateSlots::max_operands> in{};
    std::copy_n(b.in, slots.count, in.begin());
    return in;
  }
  /// Workspace of the update's kernels, which lies per thread.
  std::byte* nested(const Buffers& b) const { return b.thread_workspace + before_nested.per_thread; }

  void update_row(const Buffers& b, int64_t r, const std::byte* x) const {
    auto in = operands_of(b);
    std::byte* t = b.out[0] + static_cast<size_t>(r * inner) * t_width;
    in[slots.t] = t;
    in[slots.x] = x;
    row(Buffers{in.data(), &t}.with_workspace(nested(b), row.workspace()));
  }

  /// Reads, checks and sorts the indices, so that a row's contributions are added in their order.
  void prepare(const Buffers& b) const {
    const std::array<const std::byte*, 2> in{b.in[slots.dy], b.in[slots.indices]};
    SparseEntry* all = b.workspace(entries);
    SparseRun& found = state(b);
    found = {};
    gather.each(b.with(in.data(), b.out), ignore, [&](int64_t to, int64_t from) {
      if (to >= 0) all[found.entries++] = {to / inner, from / inner};
    });
    std::sort(all, all + found.entries);
    const std::array<const std::byte*, SparseUpdateSlots::max_operands> operands = operands_of(b);
    found.keeps_rest = keeps_where_zero(probe, {operands.data(), slots.count}, slots.t, slots.x, t_dtype,
                                        b.with_workspace(nested(b), probe.workspace()));
  }

  /// Updates the rows whose first entry is in [begin, end).
  void update_rows(const Buffers& b, int64_t begin, int64_t end) const {
    const SparseEntry* all = b.workspace(entries);
    const int64_t n = state(b).entries;
    std::byte* sum = b.workspace(sums);
    std::byte* x = is_half ? b.workspace(row_sums) : sum;
    for (int64_t i = begin; i < std::min(end, n); ++i) {
      if (i > 0 && all[i].row == all[i - 1].row) continue;
      std::memset(sum, 0, static_cast<size_t>(inner) * (is_half ? sizeof(float) : x_width));
      for (int64_t j = i; j < n && all[j].row == all[i].row; ++j) {
        const std::byte* dy = b.in[slots.dy] + static_cast<size_t>(all[j].position * inner) * x_width;
        if (is_half) {
          bulk().half_to_float(reinterpret_cast<const uint16_t*>(dy), b.workspace(widened), inner);
          dy = reinterpret_cast<const std::byte*>(b.workspace(widened));
        }
        add(sum, dy, sum, inner);
      }
      if (is_half) bulk().float_to_half(reinterpret_cast<const float*>(sum), reinterpret_cast<uint16_t*>(x), inner);
      update_row(b, all[i].row, x);
    }
  }

  /// Updates by zeros the rows in [begin, end) that have no entry.
  void update_rest(const Buffers& b, int64_t begin, int64_t end) const {
    if (state(b).keeps_rest) return;
    const SparseEntry* all = b.workspace(entries);
    const SparseEntry* last = all + state(b).entries;
    const SparseEntry* next = std::lower_bound(all, last, SparseEntry{begin, 0});
    std::byte* zeros = b.workspace(row_sums);
    std::memset(zeros, 0, static_cast<size_t>(inner) * x_width);
    for (int64_t r = begin; r < end; ++r) {
      while (next != last && next->row < r) ++next;
      if (next == last || next->row != r) update_row(b, r, zeros);
    }
  }
};

}  // namespace

bool keeps_where_zero(const Kernel& probe, std::span<const std::byte* const> operands, size_t t, size_t x, DType dtype,
                      const Buffers& workspace) {
  // A factor of t shows in 1 and -1.5, a factor of x that is not finite in all. Both fit every floating dtype.
  constexpr std::array<double, sparse_update_probe> values{1.0, -1.5, 0.0, 0.25};
  alignas(8) std::array<std::byte, 8 * values.size()> changed{}, before{};
  constexpr std::array<std::byte, 8 * values.size()> zeros{};
  convert(DType::float64, reinterpret_cast<const std::byte*>(values.data()), dtype, before.data(), sparse_update_probe);
  changed = before;
  std::vector<const std::byte*> in(operands.begin(), operands.end());
  std::byte* out = changed.data();
  in[t] = out;
  in[x] = zeros.data();
  probe(workspace.with(in.data(), &out));
  return changed == before;
}

Kernel sparse_update_kernel(const TensorSpec& t, const TensorSpec& x, const TensorSpec& indices, int64_t axis,
                            bool ignore_out_of_range, int64_t batch, const SparseUpdateSlots& slots, Kernel row,
                            Kernel probe) {
  const auto made = std::make_shared<SparseUpdate>(Gather(x.shape, indices, axis, batch));
  SparseUpdate& u = *made;
  u.slots = slots;
  u.ignore = ignore_out_of_range;
  u.is_half = x.dtype == DType::float16;
  u.inner = u.gather.inner;
  u.rows = u.gather.batches * u.gather.outer * u.gather.extent;
  u.t_width = size_of(t.dtype);
  u.x_width = size_of(x.dtype);
  u.t_dtype = t.dtype;
  u.add = binary_block(Binary::add, u.is_half ? DType::float32 : x.dtype).vv;
  const int64_t n = u.gather.batches * u.gather.outer * u.gather.count;
  WorkspaceLayout workspace = u.gather.index.workspace;
  u.run = workspace.per_call<SparseRun>(1);
  u.entries = workspace.per_call<SparseEntry>(n);
  u.sums = workspace.per_thread<std::byte>(u.inner * 8);
  u.row_sums = workspace.per_thread<std::byte>(u.inner * 8);
  u.widened = workspace.per_thread<float>(u.is_half ? u.inner : 0);
  u.before_nested = workspace.size();
  workspace.per_thread<std::byte>(static_cast<int64_t>(std::max(row.workspace().bytes(1), probe.workspace().bytes(1))));
  u.row = std::move(row);
  u.probe = std::move(probe);
  const auto phase = [&](int64_t iterations, int64_t grain,
                         void (SparseUpdate::*part)(const Buffers&, int64_t, int64_t) const) {
    return Phase{iterations, grain,
                 [made, part](const Buffers& b, int64_t begin, int64_t end) { ((*made).*part)(b, begin, end); }};
  };
  // 0.5 ns an element of the rows, read, added and written from memory, and 30 ns to sort and start one: on a 2-core
  // virtual machine of AMD family 25.
  const double cost = static_cast<double>(n) * (30 + 0.5 * static_cast<double>(u.inner));
  std::vector<Phase> phases;
  phases.push_back({1, 1, [made](const Buffers& b, int64_t, int64_t) { made->prepare(b); }});
  phases.push_back(phase(n, 1 + 1024 / std::max<int64_t>(u.inner, 1), &SparseUpdate::update_rows));
  phases.push_back(phase(u.rows, 1 + 4096 / std::max<int64_t>(u.inner, 1), &SparseUpdate::update_rest));
  return Kernel::parallel(std::move(phases), cost).with_workspace(workspace);
}

Kernel scatter_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  const Elements e(t.shape, indices, axis);
  return Kernel([e, bytes = static_cast<size_t>(t.bytes()), width = size_of(t.dtype)](const Buffers& b) {
           copy_through(b, bytes);
           with_width(width, [&]<class T>(T) {
             const T* x = b.input<T>(2);
             T* y = b.output<T>(0);
             e.each(b, [&](int64_t to, int64_t from) { y[to] = x[from]; });
           });
         })
      .with_workspace(e.index.workspace);
}

Kernel take_along_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  const Elements e(t.shape, indices, axis);
  return Kernel([e, width = size_of(t.dtype)](const Buffers& b) {
           with_width(width, [&]<class T>(T) {
             const T* x = b.input<T>(0);
             T* y = b.output<T>(0);
             e.each(b, [&](int64_t from, int64_t to) { y[to] = x[from]; });
           });
         })
      .with_workspace(e.index.workspace);
}

Kernel scatter_zero_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t axis) {
  const Elements e(t.shape, indices, axis);
  return Kernel([e, bytes = static_cast<size_t>(t.bytes()), width = size_of(t.dtype)](const Buffers& b) {
           copy_through(b, bytes);
           with_width(width, [&]<class T>(T) {
             T* y = b.output<T>(0);
             e.each(b, [&](int64_t to, int64_t) { y[to] = 0; });
           });
         })
      .with_workspace(e.index.workspace);
}

namespace {

/// Loop nest over data: operand 0 is the offset in the reduced tensor without its axis, operand 1 that of the index.
struct Reduce {
  LoopNest nest;
  int64_t axis = 0, extent = 0, stride = 0, data_size = 0, out_size = 0;
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
    } else {
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

/// `Into` is a row, T the dtype.
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
    constexpr Kernel (*rows[])(const Reduce&, bool) = {
#define PXL_SCATTER_REDUCTION(NAME, ...) scatter_into<NAME##_into, T>,
#include "runtime/kernels/scatter_reduction_table.inc"
    };
    return rows[static_cast<size_t>(op)](r, has_initial);
  });
}

Kernel scatter_reduce_grad_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, int64_t axis_size) {
  const Reduce r(data.shape, indices, axis, axis_size);
  return Kernel([r, width = size_of(data.dtype)](const Buffers& b) {
           r.each(b, [&](int64_t from, int64_t to) {
             std::memcpy(b.out[0] + static_cast<size_t>(to) * width, b.in[0] + static_cast<size_t>(from) * width,
                         width);
           });
         })
      .with_workspace(r.index.workspace);
}

namespace {

/// The result as [outer, depth, inner].
struct OneHot {
  int64_t outer = 1, depth, inner = 1;
  Indices index;
  OneHot(const TensorSpec& indices, int64_t classes, int64_t axis)
      : depth(classes), index(indices.dtype, indices.size()) {
    need_integers(indices);
    if (classes < 0) throw Error("onehot of " + std::to_string(classes) + " classes");
    const int64_t a = normalise_axis(axis, static_cast<int64_t>(indices.shape.size()) + 1);
    for (size_t d = 0; d < indices.shape.size(); ++d) (static_cast<int64_t>(d) < a ? outer : inner) *= indices.shape[d];
  }
  /// Whether an index names class k; -1 is the last class, an index outside names none.
  bool is(int64_t given, int64_t k) const { return given == k || given == k - depth; }
};

}  // namespace

Kernel onehot_kernel(const TensorSpec& indices, int64_t depth, DType values, int64_t axis) {
  const OneHot h(indices, depth, axis);
  return Kernel([h, width = size_of(values)](const Buffers& b) {
           const int64_t* at = h.index.read(b, 0);
           std::byte* to = b.out[0];
           for (int64_t o = 0; o < h.outer; ++o) {
             for (int64_t k = 0; k < h.depth; ++k) {
               for (int64_t i = 0; i < h.inner; ++i, to += width) {
                 std::memcpy(to, b.in[1] + (h.is(at[o * h.inner + i], k) ? width : 0), width);
               }
             }
           }
         })
      .with_workspace(h.index.workspace);
}

Kernel onehot_grad_kernel(const TensorSpec& indices, int64_t depth, DType values, int64_t axis) {
  const OneHot h(indices, depth, axis);
  return Kernel([h, values](const Buffers& b) {
           const int64_t* at = h.index.read(b, 1);
           double sums[2] = {0, 0};
           int64_t position = 0;
           for (int64_t o = 0; o < h.outer; ++o) {
             for (int64_t k = 0; k < h.depth; ++k) {
               for (int64_t i = 0; i < h.inner; ++i)
                 sums[h.is(at[o * h.inner + i], k)] += read_number(values, b.in[0], position++);
             }
           }
           convert(DType::float64, reinterpret_cast<const std::byte*>(sums), values, b.out[0], 2);
         })
      .with_workspace(h.index.workspace);
}

}  // namespace pxl
