// Cycles of the vertices that iterate over elements: elementwise, reductions, copies, slices, indices.
#include <algorithm>
#include <bit>

#include "runtime/tiles/costs/cost.hpp"

namespace pxl::tiles {

namespace {

/// 32-bit words per element for 8-byte dtypes, else 1. One-byte dtypes use float16 vectors.
int64_t words_of(int64_t element_bytes) { return element_bytes > 4 ? element_bytes / 4 : 1; }

/// The op table counts cycles for vectors of 8 bytes. Wider vectors process proportionally more elements in the same
/// cycles.
int64_t rate(const Machine& m, const VectorCost& v, int64_t element_bytes, int64_t elements) {
  constexpr int64_t table_vector_bytes = 8;
  const bool half = element_bytes <= 2;
  const int64_t at_once = half ? v.f16_elements : v.f32_elements;
  const int64_t wider = std::max<int64_t>(1, m.vector_bytes / table_vector_bytes);
  return (half ? v.f16_cycles : v.f32_cycles) * words_of(element_bytes) * div_up(elements, at_once * wider);
}

/// Number of workers that have a vector to process. A tile with fewer vectors than workers takes the time of these
/// workers only. This is an assumption: PopLibs' estimators charge all workers.
int64_t busy_workers(const Machine& m, int64_t elements, int64_t element_bytes) {
  return std::clamp<int64_t>(div_up(elements, m.vector_elements(element_bytes)), 1, m.workers);
}

}  // namespace

int64_t vector_loops(const Machine& m, int64_t elements, int64_t element_bytes) {
  return div_up(div_up(elements, m.workers), m.vector_elements(element_bytes));
}

int64_t inner_cycles(const Machine& m, const VectorCost& vector, int64_t elements, int64_t element_bytes) {
  return rate(m, vector, element_bytes, div_up(elements, m.workers));
}

int64_t unary_cycles(const Machine& m, const VectorCost& v, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  return 20 + busy_workers(m, elements, element_bytes) * (17 + inner_cycles(m, v, elements, element_bytes));
}

int64_t binary_cycles(const Machine& m, const VectorCost& v, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  return 11 + busy_workers(m, elements, element_bytes) *
                  ((element_bytes > 2 ? 29 : 26) + inner_cycles(m, v, elements, element_bytes));
}

int64_t unary_in_place_cycles(const Machine& m, int64_t elements, int64_t element_bytes) {
  return elements == 0 ? 0 : busy_workers(m, elements, element_bytes) * (55 - 17);
}

int64_t binary_in_place_cycles(const Machine& m, int64_t elements, int64_t element_bytes) {
  return elements == 0 ? 0 : busy_workers(m, elements, element_bytes) * (58 - (element_bytes > 2 ? 29 : 26));
}

int64_t broadcast_scalar_cycles(const Machine& m, const VectorCost& v, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  return 11 + busy_workers(m, elements, element_bytes) *
                  (20 + inner_cycles(m, v, elements, element_bytes) - vector_loops(m, elements, element_bytes));
}

int64_t broadcast_vector_cycles(const Machine& m, const VectorCost& v, int64_t rows, int64_t columns,
                                int64_t element_bytes) {
  if (rows == 0 || columns == 0) return 0;
  // The faster of two ways, as in PopLibs: whole rows per worker, or a share of each row's columns per worker.
  const auto worker = [&](int64_t n, int64_t of) {
    const int64_t vector = m.vector_elements(element_bytes);
    return n * ((of % vector == 0 ? 7 : 25) + rate(m, v, element_bytes, of) - div_up(of, vector));
  };
  return 11 + m.workers *
                  (15 + std::min(worker(div_up(rows, m.workers), columns), worker(rows, div_up(columns, m.workers))));
}

int64_t nonlinearity_cycles(const Machine& m, const VectorCost& v, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  const int64_t loops = vector_loops(m, elements, element_bytes);
  const int64_t c = (element_bytes <= 2 ? v.f16_cycles : v.f32_cycles) * words_of(element_bytes);
  return 9 + busy_workers(m, elements, element_bytes) * (20 + 2 + c + (loops - 1) * c + 1 + c);
}

int64_t nonlinearity_grad_cycles(const Machine& m, const VectorCost& v, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  const int64_t c = (element_bytes <= 2 ? v.f16_cycles : v.f32_cycles) * words_of(element_bytes);
  return 9 + busy_workers(m, elements, element_bytes) * (24 + vector_loops(m, elements, element_bytes) * c + 1);
}

int64_t update_cycles(const Machine& m, const VectorCost& v, int64_t elements, int64_t element_bytes, bool mixed) {
  if (elements == 0) return 0;
  const int64_t extra = mixed ? 2 * vector_loops(m, elements, element_bytes) : 0;
  return 57 + busy_workers(m, elements, element_bytes) * (21 + inner_cycles(m, v, elements, element_bytes) + extra);
}

int64_t cast_cycles(const Machine& m, int64_t elements, int64_t from_bytes, int64_t to_bytes) {
  if (elements == 0) return 0;
  return busy_workers(m, elements, std::max(from_bytes, to_bytes)) *
         (std::max(vector_loops(m, elements, from_bytes), vector_loops(m, elements, to_bytes)) + 26);
}

int64_t fill_cycles(const Machine& m, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  return busy_workers(m, elements, element_bytes) *
         ((element_bytes > 2 ? 23 : 26) + vector_loops(m, elements, element_bytes));
}

int64_t random_cycles(const Machine& m, const VectorCost& v, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  return 20 + busy_workers(m, elements, element_bytes) * (31 + inner_cycles(m, v, elements, element_bytes));
}

int64_t slice_cycles(const Machine& m, int64_t elements, int64_t element_bytes) {
  if (elements == 0) return 0;
  return 25 + m.workers * (39 + 24 + 2 * vector_loops(m, elements, element_bytes));
}

int64_t memcpy_cycles(const Machine& m, int64_t bytes) {
  return bytes == 0 ? 0 : m.workers * (26 + div_up(div_up(bytes, m.workers), m.memcpy_bytes));
}

int64_t reorder_cycles(const Machine&, int64_t bytes, int64_t atom_bytes) {
  if (bytes == 0) return 0;
  // Thousandths of a cycle per byte: PopLibs' regression over random shapes, which has no atoms of one byte. An atom of
  // one byte takes as many cycles as one of two bytes. Either way a part of a word is read, changed and written back.
  const int64_t rate = atom_bytes >= 8 ? 440 : atom_bytes >= 4 ? 3125 : atom_bytes >= 2 ? 5148 : 2 * 5148;
  return 587 + bytes / 1000 * rate + div_up(bytes % 1000 * rate, 1000);
}

int64_t transpose_cycles(const Machine& m, int64_t count, int64_t rows, int64_t columns, int64_t element_bytes) {
  const int64_t bytes = saturating_product(saturating_product(count, rows), saturating_product(columns, element_bytes));
  const int64_t copied = reorder_cycles(m, bytes, atom_bytes(element_bytes));
  const int64_t grain = element_bytes == 2 ? 4 : 2, each = element_bytes == 2 ? 4 : 3;
  if ((element_bytes != 2 && element_bytes != 4) || rows % grain != 0 || columns % grain != 0) return copied;
  int64_t best = copied;
  for (int64_t parts = 1; parts <= m.workers && parts <= rows / grain; ++parts) {
    if (rows / grain % parts != 0) continue;
    const int64_t down = rows / grain / parts, across = columns / grain;
    const int64_t mine = div_up(saturating_product(count, parts), m.workers);
    int64_t worker = 0;
    if (down == 1 && across == 1)
      worker = mine == 1 ? 29 : 37 + (mine - 2) * each;
    else if (across == 1)
      worker = 27 + saturating_product(mine, 35 + each * (down - 2));
    else
      worker = 29 + saturating_product(mine, 18 + saturating_product(down, 12 + each * (across - 2)));
    best = std::min(best, 7 + saturating_product(m.workers, worker));
  }
  return best;
}
int64_t atom_bytes(int64_t run_bytes) { return std::clamp<int64_t>(run_bytes & -run_bytes, 1, 8); }

int64_t reduce_cycles(const Machine& m, int64_t outputs, int64_t length, int64_t element_bytes, bool contiguous,
                      int64_t run) {
  if (outputs == 0 || length == 0) return 0;
  const int64_t e = m.vector_elements(element_bytes);
  const int64_t words = words_of(element_bytes);
  if (contiguous && run > 0 && run < length) {
    const int64_t pieces = saturating_product(div_up(outputs, m.workers), div_up(length, run));
    return m.workers * (30 + saturating_product(pieces, 24 + words * div_up(run, e)));
  }
  if (contiguous && outputs == 1) {
    // All workers share one sum; one worker adds the six partial sums.
    return m.workers * (3 + 6 + words * div_up(div_up(length, m.workers), e) + 13) + m.workers * (20 + m.workers);
  }
  if (contiguous) return m.workers * (17 + div_up(outputs, m.workers) * (12 + words * div_up(length, e)));
  return m.workers * (16 + div_up(div_up(outputs, e), m.workers) * (3 + 9 + 3 + words * (length - 1)));
}

int64_t pooling_cycles(const Machine& m, int64_t batch, int64_t channels, int64_t windows, int64_t terms,
                       int64_t operands, int64_t element_bytes) {
  const int64_t most = 2 * m.vector_elements(element_bytes);
  const int64_t vectors = div_up(std::min(channels, most), m.vector_elements(element_bytes)) * words_of(element_bytes);
  const int64_t visit = m.pool_visit + m.pool_vector * operands * vectors;
  const int64_t mine = div_up(saturating_product(batch * div_up(channels, most), windows), m.workers);
  return mine == 0 ? 0 : m.workers * saturating_product(mine, m.pool_window + saturating_product(terms, visit));
}

int64_t scan_cycles(const Machine& m, const VectorCost& v, int64_t lines, int64_t length) {
  return lines == 0 ? 0 : m.workers * (20 + div_up(lines, m.workers) * (12 + v.f32_cycles * length));
}

int64_t sort_cycles(const Machine& m, const VectorCost& v, int64_t lines, int64_t length) {
  if (lines == 0 || length == 0) return 0;
  const auto depth = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(length)));
  return m.workers * (20 + div_up(lines, m.workers) * (20 + v.f32_cycles * length * depth));
}

int64_t loss_cycles(const Machine& m, int64_t rows, int64_t length, int64_t element_bytes) {
  if (rows == 0) return 0;
  return m.workers * div_up(rows, m.workers) * (20 + 3 * div_up(length, element_bytes <= 2 ? 2 : 1));
}

int64_t gather_cycles(const Machine& m, int64_t indices, int64_t in_range, int64_t length, int64_t element_bytes) {
  if (indices == 0) return 0;
  const int64_t vectors = element_bytes == 1 ? 3 * div_up(length, 4) : 2 * words_of(element_bytes) * div_up(length, 2);
  return m.workers * (30 + div_up(in_range, m.workers) * (19 + vectors) + div_up(indices - in_range, m.workers) * 8);
}

int64_t scatter_cycles(const Machine& m, int64_t indices, int64_t in_range, int64_t length, int64_t element_bytes) {
  if (indices == 0) return 0;
  // The elements of a slice are distributed among the workers. Each worker examines each index. Atoms are words.
  const int64_t share = div_up(length, m.workers), atom = element_bytes <= 2 ? 2 : 1;
  const int64_t body = 12 + std::max<int64_t>(0, div_up(share, atom) - 1) * 3 * words_of(element_bytes);
  return m.workers * (3 + 30 + in_range * body + (indices - in_range) * 5);
}

}  // namespace pxl::tiles
