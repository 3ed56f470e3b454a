// Products of any size from operands laid out anew in the order in which the registers take them: the right operand in
// strips of columns, once for a product; the left one in tiles of rows, a block of terms at a time. Operands are
// float32 or float16 (widened on the way), results float32. Compiled per instruction set, chosen once.
//
// Every element of a result adds its terms in the order of k, one fused multiply-add each (a multiplication and an
// addition on machines without them), starting from 0: nothing depends on tiles, strips or threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pxl {

/// A row-major matrix [rows, columns] as it lies in memory; rows are `stride` elements apart.
struct MatrixView {
  const std::byte* data = nullptr;
  int64_t stride = 0;
  bool half = false;

  /// The part that begins at (row, column).
  MatrixView at(int64_t row, int64_t column) const {
    return {data + (row * stride + column) * (half ? 2 : 4), stride, half};
  }
};

/// Strips [first, last) of the right operand [k, n], or [n, k] with `transposed`. Strip s is k rows of nr
/// floats at `to` + s * k * nr; columns beyond n are 0.
struct PackB {
  MatrixView from;
  bool transposed = false;
  int64_t k = 0, n = 0, first = 0, last = 0;
  float* to = nullptr;
};

/// out[m, n] = a @ b for the packed b; a is [m, k], or [k, m] with `transposed`.
struct PackedGemm {
  MatrixView a;
  bool transposed = false;
  int64_t m = 0, n = 0, k = 0;
  const float* b = nullptr;
  float* out = nullptr;
  int64_t ldo = 0;
  float* packed_a = nullptr;  ///< packed_a_size floats, aligned to 64 bytes, of the calling thread
};

struct PackedFunctions {
  int64_t mr, nr;         ///< of one set of registers
  int64_t packed_a_size;  ///< floats that one call of `multiply` needs
  void (*pack)(const PackB&);
  void (*multiply)(const PackedGemm&);

  int64_t strips(int64_t n) const { return (n + nr - 1) / nr; }
  int64_t packed_size(int64_t n, int64_t k) const { return strips(n) * nr * k; }
};

const PackedFunctions& packed();

}  // namespace pxl
