#include "runtime/kernels/indexing/index.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/threads/parallel_copy.hpp"
#include "runtime/kernels/indexing/indices.hpp"
#include "runtime/kernels/movement/strided.hpp"

namespace pxl {

void read_indices(DType dtype, const std::byte* in, int64_t n, int64_t* to) {
  convert(dtype, in, DType::int64, reinterpret_cast<std::byte*>(to), n);
  if (dtype != DType::uint64) return;
  for (int64_t i = 0; i < n; ++i) to[i] = to[i] < 0 ? INT64_MAX : to[i];
}

std::string index_text(int64_t index) { return std::to_string(index) + (index == INT64_MAX ? " or more" : ""); }

void check_index(int64_t index, int64_t position, int64_t axis, int64_t extent) {
  if (index < 0 || index >= extent)
    throw run_error("index " + index_text(index) + " is out of range for axis " + std::to_string(axis) + " of extent " +
                        std::to_string(extent),
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

namespace {

/// to[i] = from[at[i]], for elements of this width.
template <class Index>
void gather_elements(const Index* at, int64_t n, size_t width, const std::byte* from, std::byte* to) {
  with_width(width, [&]<class T>(T) {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) y[i] = x[at[i]];
  });
}

}  // namespace

Kernel gather_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, bool zero_out_of_range,
                     int64_t batch) {
  const Gather g(data.shape, indices, axis, batch);
  const auto width = static_cast<int64_t>(size_of(data.dtype)), bytes = g.inner * width;
  if (bytes == 0) return [](const Buffers&) {};
  WorkspaceLayout workspace;
  const CheckedIndices index(indices, 1, g.axis, g.extent, workspace);
  const int64_t rows = g.batches * g.outer * g.count;
  const auto part = [=](const Buffers& b, int64_t begin, int64_t end) {
    int64_t at[CheckedIndices::piece];
    for (int64_t r = begin; r < end;) {
      const int64_t line = r / g.count, j = r % g.count, position = line / g.outer * g.count + j;
      const int64_t n = std::min({CheckedIndices::piece, g.count - j, end - r});
      const std::byte* from = b.in[0] + line * g.extent * bytes;
      std::byte* to = b.out[0] + r * bytes;
      r += n;
      if (g.inner == 1 && !zero_out_of_range) {
        if (const int32_t* here = index.in_place(b, position, n))
          gather_elements(here, n, static_cast<size_t>(width), from, to);
        else if (index.read(b, position, n, at))
          gather_elements(at, n, static_cast<size_t>(width), from, to);
        continue;
      }
      if (zero_out_of_range)
        index.read_within(b, position, n, at);
      else if (!index.read(b, position, n, at))
        continue;
      for (int64_t i = 0; i < n; ++i, to += bytes) {
        if (at[i] < 0)
          std::memset(to, 0, static_cast<size_t>(bytes));
        else
          copy_bytes(to, from + at[i] * bytes, static_cast<size_t>(bytes));
      }
    }
  };
  // A row is copied, after 2 ns to read its index.
  const double cost_ns = static_cast<double>(rows) * (2 + copy_ns_per_byte * static_cast<double>(bytes));
  std::vector<Phase> phases{{rows, 1 + 1024 / g.inner, part}};
  if (!zero_out_of_range) {
    phases.insert(phases.begin(), index.before());
    phases.push_back(index.after());
  }
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(workspace);
}

namespace {

/// Sums in float32 and rounds once.
Kernel narrow_scatter_add(const TensorSpec& data, const Gather& g, bool ignore_out_of_range) {
  WorkspaceLayout workspace = g.index.workspace;
  const auto wide_sums = workspace.per_call<float>(data.size());
  const auto wide_row = workspace.per_call<float>(g.inner);
  return Kernel([=, narrow = narrow_functions(data.dtype), size = data.size(),
                 add = binary_block(Binary::add, DType::float32).vv](const Buffers& b) {
           float *sums = b.workspace(wide_sums), *row = b.workspace(wide_row);
           std::fill(sums, sums + size, 0.0f);
           g.each(b, ignore_out_of_range, [&](int64_t to, int64_t from) {
             if (to < 0) return;
             narrow->widen(b.input<uint16_t>(0) + from, row, g.inner);
             add(sums + to, row, sums + to, g.inner);
           });
           narrow->round(sums, b.output<uint16_t>(0), size);
         })
      .with_workspace(workspace);
}

}  // namespace

namespace {

/// Adds short rows of a floating dtype one by one: to[at[i]] += from[i] for i < n, unless at[i] < 0.
template <class T>
void add_short_rows(const T* from, const int64_t* at, int64_t n, int64_t inner, T* to) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; at[i] >= 0 && c < inner; ++c) to[at[i] * inner + c] += from[i * inner + c];
}

}  // namespace

Kernel scatter_add_kernel(const TensorSpec& data, const TensorSpec& indices, int64_t axis, bool ignore_out_of_range,
                          int64_t batch) {
  const Gather g(data.shape, indices, axis, batch);
  if (data.size() == 0) return [](const Buffers&) {};
  if (is_narrow(data.dtype)) return narrow_scatter_add(data, g, ignore_out_of_range);
  constexpr int64_t columns = 1024;  // per row; one thread sums them over all indices, in order
  constexpr int64_t short_row = 8;   // elements: a vector of AVX2 or less, which a loop adds without a call
  WorkspaceLayout workspace;
  const CheckedIndices index(indices, 1, g.axis, g.extent, workspace);
  const int64_t blocks = (g.inner + columns - 1) / columns;
  const auto width = static_cast<int64_t>(size_of(data.dtype));
  const auto part = [=, data_dtype = data.dtype, add = binary_block(Binary::add, data.dtype).vv](
                        const Buffers& b, int64_t begin, int64_t end) {
    int64_t at[CheckedIndices::piece];
    for (int64_t u = begin; u < end; ++u) {
      const int64_t line = u / blocks, first = u % blocks * columns, m = std::min(columns, g.inner - first);
      for (int64_t j = 0; j < g.count; j += CheckedIndices::piece) {
        const int64_t n = std::min(CheckedIndices::piece, g.count - j), position = line / g.outer * g.count + j;
        if (ignore_out_of_range)
          index.read_within(b, position, n, at);
        else if (!index.read(b, position, n, at))
          continue;
        const int64_t into = line * g.extent * g.inner, from = (line * g.count + j) * g.inner;
        if (g.inner < short_row && data_dtype == DType::float32) {
          add_short_rows(b.input<float>(0) + from, at, n, g.inner, b.output<float>(0) + into);
          continue;
        }
        if (g.inner < short_row && data_dtype == DType::float64) {
          add_short_rows(b.input<double>(0) + from, at, n, g.inner, b.output<double>(0) + into);
          continue;
        }
        for (int64_t i = 0; i < n; ++i) {
          if (at[i] < 0) continue;
          std::byte* to = b.out[0] + (into + at[i] * g.inner + first) * width;
          add(to, b.in[0] + (from + i * g.inner + first) * width, to, m);
        }
      }
    }
  };
  const Kernel zeros = fill_kernel(Element(data.dtype), data.size());
  const int64_t lines = g.batches * g.outer;
  std::vector<Phase> phases = zeros.phases();
  phases.insert(phases.begin(), index.before());
  phases.push_back({lines * blocks, 1, part});
  phases.push_back(index.after());
  // An element is read and added in 0.3 ns, as in memory (`bench_runtime`, add); a row takes 3 ns to find.
  const double cost_ns =
      zeros.cost_ns() + static_cast<double>(lines * g.count) * (3 + 0.3 * static_cast<double>(g.inner));
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(workspace);
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
  /// -1 is the last class. An index outside the classes gives -1.
  int64_t class_of(int64_t given) const {
    const int64_t k = given < 0 ? given + depth : given;
    return k >= 0 && k < depth ? k : -1;
  }
};

}  // namespace

Kernel onehot_kernel(const TensorSpec& indices, int64_t depth, DType values, int64_t axis) {
  const OneHot h(indices, depth, axis);
  const auto part = [h]<class T>(T) {
    return [h](const Buffers& b, int64_t begin, int64_t end) {
      const T off = b.input<T>(1)[0], on = b.input<T>(1)[1];
      const int64_t size = h.depth * h.inner;
      for (int64_t o = begin; o < end; ++o) {
        T* to = b.output<T>(0) + o * size;
        std::fill(to, to + size, off);
        for (int64_t i = 0; i < h.inner; ++i) {
          const int64_t k = h.class_of(h.index.one(b, 0, o * h.inner + i));
          if (k >= 0) to[k * h.inner + i] = on;
        }
      }
    };
  };
  // Rows are filled at the rate of copies; an index takes 5 ns.
  const double cost_ns = static_cast<double>(indices.size()) *
                         (5 + copy_ns_per_byte * static_cast<double>(depth) * static_cast<double>(size_of(values)));
  Kernel kernel;
  with_width(size_of(values), [&](auto tag) { kernel = Kernel::parallel(h.outer, 1, cost_ns, part(tag)); });
  return kernel;
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
                 sums[h.class_of(at[o * h.inner + i]) == k] += read_number(values, b.in[0], position++);
             }
           }
           convert(DType::float64, reinterpret_cast<const std::byte*>(sums), values, b.out[0], 2);
         })
      .with_workspace(h.index.workspace);
}

}  // namespace pxl
