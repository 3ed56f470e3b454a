#include "runtime/kernels/gemm/integer_product.hpp"

#include <algorithm>
#include <vector>

#include "built_sets.hpp"
#include "runtime/base/div_up.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/convolution/im2col.hpp"
#include "runtime/kernels/elementwise/broadcast.hpp"

namespace pxl {

PXL_VARIANTS(IntegerProductFunctions, integer_product)

const IntegerProductFunctions& integer_product() {
  static const IntegerProductFunctions& chosen = variant_for(instruction_set(), integer_product_variants());
  return chosen;
}

namespace {

constexpr int64_t quad = 4;
// Rows and columns of a unit of work, whose operands stay in L2. A convolution with fewer units than enough_parts
// divides the channels of the result too, into parts of at least fewest_channels.
constexpr int64_t unit_rows = 96, unit_columns = 256, enough_parts = 8, fewest_channels = 16;
// Multiply-adds of 8 bits that one core makes in a nanosecond. Measured on AMD EPYC with VNNI, rounded down.
constexpr double products_per_ns = 100;

/// An operand of 8 bits, as bytes with or without a sign: the other form of a dtype is the byte xor 128.
struct Side {
  uint8_t flip = 0;
  int64_t zeros = 0;  ///< elements of the zero point, which repeat for each matrix of a batch
  size_t slot = 0;    ///< of the zero point
  bool is_signed = false;

  Side(DType dtype, bool as_signed, int64_t count, size_t zero_slot)
      : flip(as_signed == (dtype == DType::int8) ? 0 : 128), zeros(count), slot(zero_slot), is_signed(as_signed) {}
  uint8_t zero_byte(const Buffers& b, int64_t i) const {
    const uint8_t byte = zeros == 0 ? 0 : b.input<uint8_t>(slot)[i % zeros];
    return static_cast<uint8_t>(byte ^ flip);
  }
  int32_t zero(const Buffers& b, int64_t i) const {
    const uint8_t byte = zero_byte(b, i);
    return is_signed ? static_cast<int32_t>(static_cast<int8_t>(byte)) : static_cast<int32_t>(byte);
  }
};

/// The rows of a left operand as `pack` lays them out, their zero points, and their sums less the sums of zero points.
struct RowsOfPart {
  int64_t quads = 0;
  PerCall<std::byte> packed;
  PerCall<int32_t> zeros, sums;
  PerThread<int8_t> line;
  PerThread<uint32_t> columns;  ///< of a tile: the zero points, then the sums

  RowsOfPart(WorkspaceLayout& w, int64_t rows, int64_t terms, int64_t widest)
      : quads(div_up(terms, quad)),
        packed(w.per_call<std::byte>(rows * row_bytes())),
        zeros(w.per_call<int32_t>(rows)),
        sums(w.per_call<int32_t>(rows)),
        line(w.per_thread<int8_t>(quad * quads)),
        columns(w.per_thread<uint32_t>(2 * widest)) {}
  int64_t row_bytes() const { return quads * integer_product().quad_bytes; }

  /// Packs one row, the signed terms of which fill(terms) writes; the others equal the zero point.
  template <class F>
  void pack(const Buffers& b, int64_t row, int32_t zero, F&& fill) const {
    int8_t* terms = b.workspace(line);
    std::fill_n(terms, quad * quads, static_cast<int8_t>(zero));
    fill(terms);
    integer_product().pack(terms, quads, b.workspace(packed) + row * row_bytes());
    int32_t sum = 0;
    for (int64_t i = 0; i < quad * quads; ++i) sum += terms[i] - zero;
    b.workspace(sums)[row] = sum;
    b.workspace(zeros)[row] = zero;
  }

  /// The product of rows from `row` on and a tile. zero(j) is the zero point of column j.
  template <class F>
  void multiply(const Buffers& b, int64_t row, IntegerTile t, F&& zero) const {
    t.left = b.workspace(packed) + row * row_bytes();
    t.quads = quads;
    integer_product().multiply(t);
    const int32_t *row_zeros = b.workspace(zeros) + row, *row_sums = b.workspace(sums) + row;
    uint32_t *column_zeros = b.workspace(columns), *column_sums = column_zeros + t.columns;
    for (int64_t j = 0; j < t.columns; ++j) column_zeros[j] = static_cast<uint32_t>(zero(j));
    const bool from_columns = std::any_of(row_zeros, row_zeros + t.rows, [](int32_t z) { return z != 0; });
    if (from_columns) integer_product().sum_columns(t, column_sums);
    for (int64_t r = 0; r < t.rows; ++r) {
      const uint32_t factors[] = {0U - static_cast<uint32_t>(row_sums[r]), 0U - static_cast<uint32_t>(row_zeros[r])};
      integer_blocks().add_multiples32(factors, from_columns ? 2 : 1, column_zeros, t.columns,
                                       reinterpret_cast<uint32_t*>(t.out + r * t.out_stride), t.columns);
    }
  }
};

Kernel zeros_kernel(int64_t size) {
  const auto fill = [](const Buffers& b, int64_t begin, int64_t end) {
    std::fill(b.output<int32_t>(0) + begin, b.output<int32_t>(0) + end, 0);
  };
  return Kernel::parallel(size, 4096, static_cast<double>(size), fill).with_result_parts({});
}

/// Groups of one channel: a quad would be a quarter full. Planes of the result are summed tap by tap.
Kernel by_taps(const Convolution& c, const Side& x, const Side& weight, double ns) {
  const int64_t channels = c.groups * c.cout, in = input_size(c.axes), out = output_size(c.axes),
                taps = kernel_size(c.axes);
  const auto sum = [=](const Buffers& b, int64_t begin, int64_t end) {
    const WindowAxis &d = c.axes[0], &h = c.axes[1], &w = c.axes[2];
    for (int64_t p = begin; p < end; ++p) {
      const int64_t channel = p % channels, sample = p / channels;
      const uint8_t* from = b.input<uint8_t>(0) + (sample * c.groups + channel / c.cout) * in;
      int32_t* to = b.output<int32_t>(0) + p * out;
      std::fill_n(to, out, 0);
      IntegerTap tap;
      tap.stride = w.stride;
      tap.flip = x.flip;
      tap.zero = x.zero(b, 0);
      const int32_t zero = weight.zero(b, channel);
      for (int64_t od = 0; od < d.out; ++od)
        for (int64_t oh = 0; oh < h.out; ++oh)
          for (int64_t k = 0; k < taps; ++k) {
            const int64_t id = d.place(od, k / (h.kernel * w.kernel)), ih = h.place(oh, k / w.kernel % h.kernel);
            if (id < 0 || id >= d.in || ih < 0 || ih >= h.in) continue;
            const WindowAxis::Range range = w.inside(k % w.kernel);
            const auto byte = static_cast<uint8_t>(b.input<uint8_t>(1)[channel * taps + k] ^ weight.flip);
            tap.factor = static_cast<int8_t>(byte) - zero;
            tap.count = range.last - range.first;
            tap.from = from + (id * h.in + ih) * w.in + w.place(range.first, k % w.kernel);
            tap.to = to + (od * h.out + oh) * w.out + range.first;
            integer_product().add_tap(tap);
          }
    }
  };
  return Kernel::parallel(c.batch * channels, 1, ns, sum)
      .with_result_parts({out, 1, [=](int64_t p, const ResultParts::Take& f) { f(p, 1, 0, out); }});
}

}  // namespace

Kernel integer_matmul_kernel(const GemmShape& p, DType a, DType b, ZeroPoints zeros) {
  const int64_t size = element_count(p.out);
  if (size == 0 || p.k == 0) return zeros_kernel(size);
  const LoopNest nest = make_loop_nest(p.batch, {p.a_strides, p.b_strides});
  std::vector<int64_t> lefts, rights;  // the matrices of each product
  for_each_run<2>(nest, [&](const auto& at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      lefts.push_back((at[0] + i * nest.inner_stride(0)) / (p.m * p.k));
      rights.push_back((at[1] + i * nest.inner_stride(1)) / (p.k * p.n));
    }
  });
  const int64_t left_rows = (*std::ranges::max_element(lefts) + 1) * p.m;
  const int64_t right_matrices = *std::ranges::max_element(rights) + 1, products = std::ssize(lefts);
  const Side left(a, true, zeros.first, 2), right(b, false, zeros.second, 3);
  WorkspaceLayout workspace;
  const int64_t columns = std::min(p.n, unit_columns);
  const RowsOfPart rows(workspace, left_rows, p.k, columns);
  const int64_t quads = rows.quads, n = p.n, m = p.m, k = p.k;
  const auto quads_of_b = workspace.per_call<uint32_t>(right_matrices * quads * n);
  const int64_t down = div_up(m, unit_rows), across = div_up(n, unit_columns);
  std::vector<Phase> phases;
  phases.push_back({left_rows, 1, [=](const Buffers& buffers, int64_t begin, int64_t end) {
                      for (int64_t row = begin; row < end; ++row) {
                        const uint8_t* from = buffers.input<uint8_t>(0) + row * k;
                        rows.pack(buffers, row, left.zero(buffers, row), [&](int8_t* terms) {
                          for (int64_t i = 0; i < k; ++i) terms[i] = static_cast<int8_t>(from[i] ^ left.flip);
                        });
                      }
                    }});
  phases.push_back({right_matrices * quads, 1, [=](const Buffers& buffers, int64_t begin, int64_t end) {
                      for (int64_t q = begin; q < end; ++q) {
                        const int64_t first = q % quads * quad;
                        integer_product().interleave(buffers.input<uint8_t>(1) + (q / quads * k + first) * n, n,
                                                     std::min(quad, k - first), n, right.flip * 0x01010101U,
                                                     buffers.workspace(quads_of_b) + q * n);
                      }
                    }});
  phases.push_back({products * down * across, 1, [=](const Buffers& buffers, int64_t begin, int64_t end) {
                      for (int64_t u = begin; u < end; ++u) {
                        const auto i = static_cast<size_t>(u / (down * across));
                        const int64_t r0 = u / across % down * unit_rows, c0 = u % across * unit_columns;
                        IntegerTile t;
                        t.right = buffers.workspace(quads_of_b) + rights[i] * quads * n + c0;
                        t.right_stride = t.out_stride = n;
                        t.rows = std::min(unit_rows, m - r0);
                        t.columns = std::min(unit_columns, n - c0);
                        t.out = buffers.output<int32_t>(0) + (u / (down * across) * m + r0) * n + c0;
                        rows.multiply(buffers, lefts[i] * m + r0, t,
                                      [&](int64_t j) { return right.zero(buffers, c0 + j); });
                      }
                    }});
  const double ns = static_cast<double>(products * m * n) * static_cast<double>(k) / products_per_ns;
  return Kernel::parallel(std::move(phases), ns + static_cast<double>(right_matrices * quads * n))
      .with_workspace(workspace)
      .with_result_parts({n, across, [=](int64_t u, const ResultParts::Take& f) {
                            const int64_t row = u / across % down * unit_rows, column = u % across * unit_columns;
                            f(u / (down * across) * m + row, std::min(unit_rows, m - row), column,
                              std::min(n, column + unit_columns));
                          }});
}

Kernel integer_convolution_kernel(const Convolution& c, DType x, DType weight, ZeroPoints zeros) {
  const int64_t taps = kernel_size(c.axes), depth = c.cin * taps, channels = c.groups * c.cout;
  const int64_t size = c.batch * channels * output_size(c.axes);
  if (size == 0 || depth == 0 || input_size(c.axes) == 0) return zeros_kernel(size);
  const Side data(x, false, zeros.first, 2), factors(weight, true, zeros.second, 3);
  const double ns = static_cast<double>(size) * static_cast<double>(depth) / products_per_ns;
  if (c.cin == 1 && c.groups > 1) return by_taps(c, data, factors, 10 * ns);
  // The data as an image whose elements are quads of channels.
  Convolution of_quads = c;
  of_quads.cin = div_up(c.cin, quad);
  const int64_t planes = c.batch * c.groups * of_quads.cin, plane = input_size(c.axes);
  const im2col::Tiling t(of_quads, of_quads.cin * taps);
  WorkspaceLayout workspace;
  const RowsOfPart rows(workspace, channels, quad * of_quads.cin * taps, t.max_columns(c));
  const auto image = workspace.per_call<uint32_t>(planes * plane);
  const auto columns = im2col::column_buffer<uint32_t>(workspace, of_quads, t, of_quads.cin);
  const auto results = im2col::result_buffer<int32_t>(workspace, c, t);
  const int64_t blocks =
      std::clamp<int64_t>(div_up(enough_parts, t.tiles * c.groups), 1, div_up(c.cout, fewest_channels));
  std::vector<Phase> phases;
  phases.push_back({channels, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t row = begin; row < end; ++row) {
                        const uint8_t* from = b.input<uint8_t>(1) + row * depth;
                        rows.pack(b, row, factors.zero(b, row), [&](int8_t* terms) {
                          for (int64_t ch = 0; ch < c.cin; ++ch)
                            for (int64_t k = 0; k < taps; ++k)
                              terms[(ch / quad * taps + k) * quad + ch % quad] =
                                  static_cast<int8_t>(from[ch * taps + k] ^ factors.flip);
                        });
                      }
                    }});
  phases.push_back({planes, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i % of_quads.cin * quad;
                        integer_product().interleave(b.input<uint8_t>(0) + (i / of_quads.cin * c.cin + first) * plane,
                                                     plane, std::min(quad, c.cin - first), plane,
                                                     data.flip * 0x01010101U, b.workspace(image) + i * plane);
                      }
                    }});
  phases.push_back({t.tiles * c.groups * blocks, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                      const int32_t zero = data.zero(b, 0);
                      const uint32_t pad = data.zero_byte(b, 0) * 0x01010101U;
                      im2col::Im2colRows<const uint32_t> right{};
                      for (int64_t u = begin; u < end; ++u) {
                        const im2col::Tile tile = im2col::tile_at(c, t, u / blocks / c.groups);
                        const int64_t g = u / blocks % c.groups, block = u % blocks;
                        if (u == begin || block == 0)
                          right = im2col::columns_of<uint32_t>(of_quads, t, tile, b.workspace(image), g, 0,
                                                               of_quads.cin, b.workspace(columns), pad);
                        const im2col::Im2colRows<int32_t> y =
                            tile.samples == 1 ? im2col::in_place(c, t, tile, b.output<int32_t>(0), g)
                                              : im2col::Im2colRows<int32_t>{b.workspace(results), tile.columns};
                        const int64_t first = c.cout * block / blocks;
                        IntegerTile product;
                        product.right = right.data;
                        product.right_stride = right.stride;
                        product.rows = c.cout * (block + 1) / blocks - first;
                        product.columns = tile.columns;
                        product.out = y.data + first * y.stride;
                        product.out_stride = y.stride;
                        rows.multiply(b, g * c.cout + first, product, [zero](int64_t) { return zero; });
                        if (tile.samples > 1)
                          im2col::scatter_rows<int32_t>(c, t, tile, first, product.rows, y.data, g,
                                                        b.output<int32_t>(0));
                      }
                    }});
  return Kernel::parallel(std::move(phases), ns + static_cast<double>(planes * plane))
      .with_workspace(workspace)
      .with_result_parts({t.windows, blocks, [=](int64_t u, const ResultParts::Take& f) {
                            const im2col::Tile tile = im2col::tile_at(c, t, u / blocks / c.groups);
                            const int64_t first = c.cout * (u % blocks) / blocks,
                                          end = c.cout * (u % blocks + 1) / blocks;
                            im2col::each_part(c, tile, u / blocks % c.groups, first, end - first, f);
                          }});
}

}  // namespace pxl
