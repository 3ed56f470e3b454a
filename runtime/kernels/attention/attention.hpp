// Attention: the mean of values, weighted by the softmax of products of queries and keys.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// What attention computes. Queries are [..., heads, t, d], keys [..., key_heads, s, d], values [..., key_heads, s, e].
/// Consecutive heads of queries share a head of keys; tensors of rank 2 have one head.
struct AttentionShape {
  int64_t outer = 1;  ///< heads of keys, with the axes before them
  int64_t group = 1;  ///< heads of queries by head of keys
  int64_t t = 0, s = 0, d = 0, e = 0;
  bool causal = false;
  double scale = 1;  ///< of the products

  /// The rows of queries that share keys.
  int64_t rows() const { return group * t; }
  /// The number of keys that a row of queries reads, of the first `count`.
  int64_t keys_of(int64_t row, int64_t count) const;
};
/// Operands have the shapes above.
AttentionShape attention_shape(const Shape& q, const Shape& k, const Shape& v, bool causal, double scale);

/// Throws run_error unless 0 <= count <= s.
void check_attention_count(int64_t count, int64_t s);

/// in: queries, keys, values, count (int32, one element; null: s); out: [..., heads, t, e] in the queries' dtype. Keys
/// and values have one floating dtype; the kernel computes in float64 if an operand has it, else in float32. It reads
/// no key or value from `count` on. Throws run_error for a count beyond s.
Kernel attention_kernel(const AttentionShape& shape, DType q, DType kv);

}  // namespace pxl
