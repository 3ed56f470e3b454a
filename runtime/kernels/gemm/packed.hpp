// Packed GEMM in the manner of BLIS (Van Zee and van de Geijn, 2015). B is packed into micro-panels of nr columns, once
// for several calls or in each call. A is packed into micro-panels of mr rows, one block of k at a time. Operands are
// float32 or 16-bit floats (widened while packing), results float32. Compiled per instruction set and selected at
// start-up.
//
// Each element sums its terms in the order of k from 0, with one fused multiply-add per term (a multiplication and an
// addition on processors without FMA). The bits depend on neither blocking nor threads. `terms_of_sum` = n: blocks of n
// terms are summed separately, then added. The error grows with n + k / n instead of k.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/block/finish.hpp"

namespace pxl {

struct NarrowFunctions;

/// Non-owning view of a row-major matrix; `stride` is the leading dimension, in elements.
struct MatrixView {
  const std::byte* data = nullptr;
  int64_t stride = 0;
  const NarrowFunctions* narrow = nullptr;  ///< widens 16-bit elements; null: elements are float32

  /// The submatrix that begins at (row, column).
  MatrixView at(int64_t row, int64_t column) const {
    return {data + (row * stride + column) * (narrow ? 2 : 4), stride, narrow};
  }
};

/// Packs micro-panels [first, last) of B [k, n], or [n, k] with `transposed`. Panel s has k rows of nr floats at `to` +
/// s * k * nr; columns beyond n are 0.
struct PackB {
  MatrixView from;
  bool transposed = false;
  int64_t k = 0, n = 0, first = 0, last = 0;
  float* to = nullptr;
};

/// out[m, n] = a @ b, or out += a @ b with `add`, with packed b; a is [m, k], or [k, m] with `transposed`.
struct PackedGemm {
  MatrixView a;
  const int64_t* rows = nullptr;  ///< row offsets, in elements, if `a` is not transposed; null: a.stride apart
  bool transposed = false, add = false;
  int64_t m = 0, n = 0, k = 0;
  const float* b = nullptr;
  float* out = nullptr;
  int64_t ldo = 0;
  int64_t terms_of_sum = 0;   ///< at most 256; 0: terms are added one by one, also to old results
  float* packed_a = nullptr;  ///< packed_a_size floats, aligned to 64 bytes, of the calling thread
  /// Not null: column j of the result, row j of `finish`, goes to `columns` + j * column, and `out` has sums before.
  /// There are at least 4 rows, or a is transposed.
  float* columns = nullptr;
  int64_t column = 0;
  Finish finish = {};
};

/// out[m, n] = a @ b, or out += a @ b with `add`, with operands in place. a is [m, k], or [k, m] with `ta`; b is [k,
/// n], or [n, k] with `tb`. `out` receives the terms one by one, or with `terms_of_sum` their sums.
struct UnpackedGemm {
  MatrixView a, b;
  bool ta = false, tb = false, add = false;
  int64_t m = 0, n = 0, k = 0;
  float* out = nullptr;
  int64_t ldo = 0;
  float* memory = nullptr;   ///< product_memory floats, aligned to 64 bytes, of the calling thread
  int64_t terms_of_sum = 0;  ///< see PackedGemm
};

/// `count` products out[m, n] = a[m, k] @ b[k, n] with k > 0; a is [k, m] if `ta`, b is [n, k] if `tb`. Float32
/// operands are read in place; only a transposed b is packed. The bits are those of packed products. The next product's
/// operands are `a_step` and `b_step` floats further, which may be 0, and its result `out_step`.
struct ProductsInPlace {
  const float *a, *b;
  float* out;
  int64_t count, a_step, b_step, out_step;
  bool ta, tb;
  int64_t m, n, k, lda, ldb, ldo;
  float* memory;       ///< for `tb`: PackedFunctions::strip floats, aligned to 64 bytes, of the calling thread
  Finish finish = {};  ///< of each product; an addend only if there is one
};

struct PackedFunctions {
  int64_t mr, nr;                   ///< register tile
  int64_t tile_size, tiles, strip;  ///< floats per packed micro-panel of A, panels kept, floats per panel of B
  int64_t packed_a_size;            ///< floats that one call of `multiply` needs
  void (*pack)(const PackB&);
  void (*multiply)(const PackedGemm&);
  void (*product)(const UnpackedGemm&);
  void (*products_in_place)(const ProductsInPlace&);
  /// Finishes the sums from[rows, n], whose rows are `stride` numbers apart, and those of the results `to_stride`.
  void (*finish)(const Finish& f, int64_t rows, int64_t n, const float* from, int64_t stride, float* to,
                 int64_t to_stride);

  int64_t strips(int64_t n) const { return (n + nr - 1) / nr; }
  int64_t packed_size(int64_t n, int64_t k) const { return strips(n) * nr * k; }
  /// Floats that `product` needs for m rows.
  int64_t product_memory(int64_t m) const {
    const int64_t needed = (m + mr - 1) / mr;
    return strip + (needed < tiles ? needed : tiles) * tile_size;
  }
};

const PackedFunctions& packed();

}  // namespace pxl
