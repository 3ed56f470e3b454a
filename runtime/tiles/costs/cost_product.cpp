// Cycles of the vertices that compute matrix products and convolutions.
#include <algorithm>

#include "runtime/tiles/costs/cost.hpp"

namespace pxl::tiles {

namespace {

/// Cases of PopLibs' estimator.
enum class Path : uint8_t { common, half_narrow, single, quarter };

Path path_of(const Machine& m, const ProductShape& s) {
  if (s.operand_bytes == 1) return Path::quarter;
  if (s.operand_bytes >= 4) return Path::single;
  return s.partial_bytes >= 4 || m.units_f16_f16 >= 16 ? Path::common : Path::half_narrow;
}

// Cycles of a worker for n rows. `zero`: accumulators start at zero instead of loading partial sums.
int64_t worker(Path path, int64_t units, int64_t n, bool zero) {
  const int64_t z = zero ? 1 : 0;
  switch (path) {
    case Path::common:
      switch (n) {
        case 0: return 20 + (zero ? 1 : 2);
        case 1: return 31 + (zero ? 1 : 2);
        case 2: return 40 + (zero ? 1 : 2);
        default: return (zero ? 37 : 38) + 4 * (n - 3);
      }
    case Path::half_narrow:
      switch (n) {
        case 0: return 24;
        case 1: return 39 + 4 * z;
        case 2: return 40 + 6 * z;
        default: return 41 + (2 + 2 * n) * z + 4 * (n - 3);
      }
    case Path::single: {
      const int64_t stores = units >= 16 ? 8 : 4;
      switch (n) {
        case 0: return 24;
        case 1: return 47 + (2 + stores) * z;
        case 2: return 46 + (2 + 2 * stores) * z;
        default: return 46 + (2 + stores * n) * z + 8 * (n - 3);
      }
    }
    case Path::quarter: break;
  }
  const int64_t saved = zero ? 5 : 0;
  switch (n) {
    case 0: return 17 + 4;
    case 1: return 17 + 18 - saved;
    case 2: return 17 + 23 - saved;
    default: return 17 + 27 - saved + 4 * (n - 3);
  }
}

int64_t inner(const Machine& m, Path path, int64_t units, int64_t rows, bool zero, int64_t retained) {
  const int64_t most = div_up(rows, m.workers), least = rows / m.workers;
  const int64_t a = worker(path, units, most, zero) - retained, b = worker(path, units, least, zero) - retained;
  return std::max(m.workers * std::max(a, b), m.workers * std::min(a, b) + 14);
}

}  // namespace

int64_t product_column_grain(const Machine& m, int64_t operand_bytes, int64_t partial_bytes) {
  if (m.block_rows > 0) return m.block_columns;
  return std::max<int64_t>(1, m.units(operand_bytes, partial_bytes));
}

int64_t product_depth_grain(int64_t operand_bytes) { return operand_bytes == 1 ? 32 : operand_bytes == 2 ? 16 : 8; }

int64_t amp_cycles(const Machine& m, const ProductShape& s) {
  const Path path = path_of(m, s);
  const int64_t units = product_column_grain(m, s.operand_bytes, s.partial_bytes);
  const int64_t depth = product_depth_grain(s.operand_bytes), w = m.workers;
  const int64_t in = div_up(s.depth, depth), out = div_up(s.columns, units);
  const int64_t load = div_up(units * depth * s.operand_bytes, m.weight_bytes);
  if (path == Path::quarter) {
    const int64_t fresh = load + inner(m, path, units, s.rows, true, 0);
    const int64_t more = load + inner(m, path, units, s.rows, false, 0);
    return 46 + s.groups * (2 * w + 9 +
                            out * (6 * w + 10 + 14 * w + 11 + 6 * w + fresh + (in - 1) * (11 * w + 6 * w + 6 + more)));
  }
  const bool retains = path == Path::common;
  const int64_t r1 = retains ? 7 : 0, r2 = retains ? 3 : 0, c = retains ? 1 : 0;
  const int64_t fresh = load + inner(m, path, units, s.rows, true, r1);
  const int64_t more = load + inner(m, path, units, s.rows, false, r1);
  return 50 + w * (r1 + r2 * (in * s.groups - 1)) +
         s.groups * (12 + c + (in - 1) * (16 - c + out * (19 + 6 + more)) + 11 + out * (19 - c + 7 + fresh));
}

int64_t convolution_cycles(const Machine& m, const ConvolutionShape& s) {
  const ProductShape& p = s.product;
  if (m.block_rows > 0) return saturating_product(s.kernel, block_product_cycles(m, p));
  const int64_t units = product_column_grain(m, p.operand_bytes, p.partial_bytes);
  const int64_t depth = product_depth_grain(p.operand_bytes), w = m.workers;
  const int64_t in = div_up(p.depth, depth), out = div_up(p.columns, units);
  const int64_t load = div_up(units * depth * p.operand_bytes, m.weight_bytes);
  const bool single = p.operand_bytes >= 4;
  // A worker iterates over its lines. A line costs as much as `width` rows of a product.
  const int64_t width = div_up(p.rows, std::max<int64_t>(1, s.lines));
  const auto item = [&](int64_t n) -> int64_t {
    switch (n) {
      case 0: return 17;
      case 1: return single ? 33 : 29;
      case 2: return single ? 44 : 33 + (p.partial_bytes == 2 ? 1 : 0);
      default: return (single ? 45 : 34) + (n - 3) * (single ? 8 : 4);
    }
  };
  const auto worker = [&](int64_t lines) {
    return 17 + (p.partial_bytes == 2 ? 1 : 0) - 9 + lines * (3 + item(width));
  };
  // Lines are split if there are fewer lines than workers.
  int64_t most = worker(div_up(s.lines, w)), least = worker(s.lines / w);
  if (s.lines < w) most = least = 17 - 9 + 3 + item(div_up(p.rows, w));
  const int64_t pass = load + std::max(w * most, w * least + 9);
  return 109 + 9 * w + w * (single ? 9 : 10) +
         saturating_product(p.groups, 17 * out + 6 * (out - 1) + 1 + 6 + 16 +
                                          saturating_product(in, 14 + out * (14 + saturating_product(s.kernel, pass))));
}

int64_t mac_cycles(const Machine& m, const ProductShape& s) {
  const bool single = s.operand_bytes >= 4;
  const int64_t rows = div_up(s.rows, m.workers);
  const int64_t at_once = !single && s.partial_bytes == 2 ? 2 : 1;  // columns at once
  const int64_t dot = 7 + div_up(s.depth, m.vector_elements(s.operand_bytes));
  const int64_t one = 16 + 16 + 13 + rows * (7 + div_up(s.columns, at_once) * dot);
  return (single ? 48 : 55) + m.workers * (single ? 9 : 10) + s.groups * (23 + 15 + 10 + m.workers * one);
}

int64_t vertical_mac_cycles(const Machine& m, int64_t groups, int64_t kernel, int64_t lines, int64_t width,
                            int64_t operand_bytes) {
  const bool single = operand_bytes >= 4;
  // Lines are split if there are fewer lines than workers.
  const int64_t mine = div_up(lines, m.workers), length = lines < m.workers ? div_up(lines * width, m.workers) : width;
  const int64_t item = saturating_product(mine, 19 + 3 * length);
  const int64_t vectors = div_up(groups, 2 * m.vector_elements(operand_bytes));
  return (single ? 58 : 65) + m.workers * (single ? 9 : 10) +
         saturating_product(vectors, 23 + 15 + 10 + saturating_product(m.workers * kernel, item));
}

int64_t outer_product_cycles(const Machine& m, const ProductShape& s) {
  const int64_t rows = div_up(s.rows, m.workers);
  const bool single = s.operand_bytes >= 4;
  const int64_t columns = single ? std::max<int64_t>(0, s.columns - 6) / 2 : std::max<int64_t>(0, s.columns - 12) / 4;
  return m.workers * (25 + s.groups * ((single ? 11 : 10) + rows * (6 + columns)));
}

int64_t block_product_cycles(const Machine& m, const ProductShape& s) {
  const int64_t in = div_up(s.depth, m.block_depth),
                out = saturating_product(div_up(s.rows, m.block_rows), div_up(s.columns, m.block_columns));
  const int64_t load = div_up((m.block_rows + m.block_columns) * m.block_depth * s.operand_bytes, m.block_load_bytes);
  const int64_t block =
      saturating_product(in, std::max(m.block_cycles(s.operand_bytes), load) + m.block_overhead) + m.block_store;
  return m.product_cycles + saturating_product(s.groups, saturating_product(out, block));
}

ProductCost product_cycles(const Machine& m, const ProductShape& s) {
  if (m.block_rows > 0) return {ProductVertex::blocks, block_product_cycles(m, s)};
  ProductCost best{ProductVertex::mac, mac_cycles(m, s)};
  if (m.units(s.operand_bytes, s.partial_bytes) > 0) {
    const int64_t amp = amp_cycles(m, s);
    if (amp <= best.cycles) best = {ProductVertex::amp, amp};
  }
  if (s.depth == 1) {
    const int64_t outer = outer_product_cycles(m, s);
    if (outer < best.cycles) best = {ProductVertex::outer, outer};
  }
  return best;
}

VertexState amp_state(const Machine& m, const ProductShape& s) {
  const int64_t in = div_up(s.depth, product_depth_grain(s.operand_bytes));
  const int64_t out = div_up(s.columns, product_column_grain(m, s.operand_bytes, s.partial_bytes));
  return {32, m.workers * 3 * 2 + saturating_product(4 * s.groups, in + saturating_product(out, in) + out)};
}

int64_t sum_partials_cycles(const Machine& m, int64_t partials, int64_t outputs, int64_t partial_bytes,
                            int64_t output_bytes) {
  if (outputs == 0) return 0;
  if (partials <= 1) return partial_bytes == output_bytes ? 0 : cast_cycles(m, outputs, partial_bytes, output_bytes);
  // PopLibs' vertex with one contiguous input, which adds the tile's own sums to that input. The vertex loads a vector
  // a cycle, since fast reductions are off by default (poplin, ConvOptions).
  const int64_t accumulators = partial_bytes >= 4 ? 4 : 8;
  const int64_t load = div_up(accumulators, m.vector_elements(partial_bytes));
  const int64_t store = output_bytes >= 4 ? (partial_bytes >= 4 ? 7 : 8) : (partial_bytes >= 4 ? 10 : 9);
  return m.workers * (20 + (load * (partials - 1) + store) * div_up(div_up(outputs, accumulators), m.workers)) + 33;
}

}  // namespace pxl::tiles
