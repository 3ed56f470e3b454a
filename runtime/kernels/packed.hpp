// Packed GEMM in the manner of BLIS (Van Zee and van de Geijn, 2015): B is packed into micro-panels of nr columns, once
// for several calls or by each call, A into micro-panels of mr rows one block of k at a time. Operands are float32 or
// floats of 16 bits (widened while packing), results float32. Compiled per instruction set and selected at start-up.
//
// Each element sums its terms in the order of k from 0, with one fused multiply-add per term (a multiplication and an
// addition on processors without FMA). The bits depend on neither blocking nor threads. With `terms_of_sum`, so many
// terms are summed by themselves, and their sums are added: errors grow with the terms of a sum, and with the number of
// sums, instead of with all terms.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pxl {

struct NarrowFunctions;

/// Non-owning view of a row-major matrix; `stride` is the leading dimension, in elements.
struct MatrixView {
  const std::byte* data = nullptr;
  int64_t stride = 0;
  const NarrowFunctions* narrow = nullptr;  ///< of elements of 16 bits; null: they are float32

  /// The submatrix that begins at (row, column).
  MatrixView at(int64_t row, int64_t column) const {
    return {data + (row * stride + column) * (narrow ? 2 : 4), stride, narrow};
  }
};

/// Packs micro-panels [first, last) of B [k, n], or [n, k] with `transposed`. Panel s is k rows of nr floats at
/// `to` + s * k * nr; columns beyond n are 0.
struct PackB {
  MatrixView from;
  bool transposed = false;
  int64_t k = 0, n = 0, first = 0, last = 0;
  float* to = nullptr;
};

/// out[m, n] = a @ b, or out += a @ b with `add`, with packed b; a is [m, k], or [k, m] with `transposed`.
struct PackedGemm {
  MatrixView a;
  const int64_t* rows =
      nullptr;  ///< of an `a` that is not transposed: where its rows begin, in elements; null: a.stride apart
  bool transposed = false, add = false;
  int64_t m = 0, n = 0, k = 0;
  const float* b = nullptr;
  float* out = nullptr;
  int64_t ldo = 0;
  int64_t terms_of_sum = 0;   ///< at most 256; 0: the terms are added one by one, also to what is there
  float* packed_a = nullptr;  ///< packed_a_size floats, aligned to 64 bytes, of the calling thread
};

/// out[m, n] = a @ b, or out += a @ b with `add`, of operands in place: a is [m, k], or [k, m] with `ta`; b is
/// [k, n], or [n, k] with `tb`. The terms of a sum are added to what is there, or with `terms_of_sum` their sums.
struct UnpackedGemm {
  MatrixView a, b;
  bool ta = false, tb = false, add = false;
  int64_t m = 0, n = 0, k = 0;
  float* out = nullptr;
  int64_t ldo = 0;
  float* memory = nullptr;   ///< product_memory floats, aligned to 64 bytes, of the calling thread
  int64_t terms_of_sum = 0;  ///< as of PackedGemm
};

/// `count` products out[m, n] = a[m, k] @ b[k, n], with a[k, m] if `ta`, b[n, k] if `tb`, k > 0, of float32 operands
/// where they lie: nothing is packed but a transposed b. The bits are those of packed products. Of the product after,
/// the operands are `a_step` and `b_step` floats further, which may be 0, and the result `out_step`.
struct ProductsInPlace {
  const float *a, *b;
  float* out;
  int64_t count, a_step, b_step, out_step;
  bool ta, tb;
  int64_t m, n, k, lda, ldb, ldo;
  float* memory;  ///< of `tb`: PackedFunctions::strip floats, aligned to 64 bytes, of the calling thread
};

struct PackedFunctions {
  int64_t mr, nr;                   ///< of one set of registers
  int64_t tile_size, tiles, strip;  ///< floats of a packed micro-panel of A, how many are kept; floats of one of B
  int64_t packed_a_size;            ///< floats that one call of `multiply` needs
  void (*pack)(const PackB&);
  void (*multiply)(const PackedGemm&);
  void (*product)(const UnpackedGemm&);
  void (*products_in_place)(const ProductsInPlace&);

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
