// Attention with an online softmax. A block of rows reads blocks of keys and values. It keeps the largest product so
// far, the sum of the weights, and the weighted sum of the values. M. Milakov, N. Gimelshein, "Online normalizer
// calculation for softmax", 2018.
#include "runtime/kernels/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"

namespace pxl {

namespace {

constexpr int64_t query_block = 64, key_block = 256;

/// A matrix product on dense operands, with its workspace in memory of the calling thread.
template <class C>
class InnerProduct {
 public:
  InnerProduct(int64_t m, int64_t n, int64_t k, bool transposed, WorkspaceLayout& workspace)
      : kernel_(matmul_kernel({{m, k}, dtype_of<C>(), {}}, false,
                              {transposed ? Shape{n, k} : Shape{k, n}, dtype_of<C>(), {}}, transposed,
                              {{m, n}, dtype_of<C>(), {}})),
        memory_(workspace.per_thread<std::byte>(static_cast<int64_t>(kernel_.workspace().bytes(1)))) {}

  void operator()(const Buffers& b, const C* x, const C* y, C* out) const {
    const std::byte* in[] = {reinterpret_cast<const std::byte*>(x), reinterpret_cast<const std::byte*>(y)};
    std::byte* results[] = {reinterpret_cast<std::byte*>(out)};
    const Buffers operands{in, results};
    kernel_(operands.with_workspace(b.workspace(memory_), kernel_.workspace()));
  }

 private:
  Kernel kernel_;
  PerThread<std::byte> memory_;
};

/// The blocks of rows and keys of a problem, and the memory of a block of rows. C: what it computes in.
template <class C>
class Attention {
 public:
  Attention(const AttentionShape& shape, DType q, DType kv, WorkspaceLayout& w)
      : a_(shape),
        q_dtype_(q),
        kv_dtype_(kv),
        rows_(std::clamp<int64_t>(shape.rows(), 1, query_block)),
        keys_(std::clamp<int64_t>(shape.s, 1, key_block)),
        scores_(rows_, keys_, shape.d, true, w),
        weighted_(rows_, shape.e, keys_, false, w),
        q_(w.per_thread<C>(rows_ * shape.d)),
        k_(w.per_thread<C>(keys_ * shape.d)),
        v_(w.per_thread<C>(keys_ * shape.e)),
        weights_(w.per_thread<C>(rows_ * keys_)),
        part_(w.per_thread<C>(rows_ * shape.e)),
        total_(w.per_thread<C>(rows_ * shape.e)),
        largest_(w.per_thread<C>(rows_)),
        sums_(w.per_thread<C>(rows_)) {}

  int64_t blocks() const { return (a_.rows() + rows_ - 1) / rows_; }

  void run(const Buffers& b, int64_t unit) const {
    const int64_t outer = unit / blocks(), first = unit % blocks() * rows_, n = std::min(rows_, a_.rows() - first);
    const int64_t count = b.in[3] ? *b.input<int32_t>(3) : a_.s;
    const int64_t query = outer * a_.rows() + first;
    C *q = b.workspace(q_), *total = b.workspace(total_), *largest = b.workspace(largest_), *sums = b.workspace(sums_);
    load(q_dtype_, b.in[0], query * a_.d, n * a_.d, q);
    for (int64_t i = 0; i < n * a_.d; ++i) q[i] *= static_cast<C>(a_.scale);
    std::fill(q + n * a_.d, q + rows_ * a_.d, C(0));
    std::fill(total, total + rows_ * a_.e, C(0));
    std::fill(largest, largest + n, -std::numeric_limits<C>::infinity());
    std::fill(sums, sums + n, C(0));
    int64_t last = 0;
    for (int64_t r = 0; r < n; ++r) last = std::max(last, a_.keys_of(first + r, count));
    for (int64_t key = 0; key < last; key += keys_)
      add_keys(b, outer, first, n, key, std::min(keys_, last - key), count);
    for (int64_t r = 0; r < n; ++r)
      for (int64_t i = 0; i < a_.e; ++i) total[r * a_.e + i] /= sums[r];  // NaN for a row without keys
    convert(dtype_of<C>(), reinterpret_cast<const std::byte*>(total), q_dtype_,
            b.out[0] + query * a_.e * size_of(q_dtype_), n * a_.e);
  }

 private:
  static void load(DType dtype, const std::byte* from, int64_t first, int64_t n, C* to) {
    convert(dtype, from + first * size_of(dtype), dtype_of<C>(), reinterpret_cast<std::byte*>(to), n);
  }

  /// Rows of keys or values from `first` on, as a whole block: rows that are missing are zeros.
  const C* block(const std::byte* from, int64_t first, int64_t present, int64_t width, C* buffer) const {
    if (kv_dtype_ == dtype_of<C>() && present == keys_) return reinterpret_cast<const C*>(from) + first * width;
    load(kv_dtype_, from, first * width, present * width, buffer);
    std::fill(buffer + present * width, buffer + keys_ * width, C(0));
    return buffer;
  }

  void add_keys(const Buffers& b, int64_t outer, int64_t first, int64_t n, int64_t key, int64_t present,
                int64_t count) const {
    const C* k = block(b.in[1], outer * a_.s + key, present, a_.d, b.workspace(k_));
    const C* v = block(b.in[2], outer * a_.s + key, present, a_.e, b.workspace(v_));
    C *weights = b.workspace(weights_), *part = b.workspace(part_), *total = b.workspace(total_);
    scores_(b, b.workspace(q_), k, weights);
    for (int64_t r = 0; r < n; ++r) {
      const int64_t seen = std::clamp<int64_t>(a_.keys_of(first + r, count) - key, 0, present);
      const C kept = weigh(weights + r * keys_, seen, b.workspace(largest_)[r], b.workspace(sums_)[r]);
      for (int64_t i = 0; i < a_.e; ++i) total[r * a_.e + i] *= kept;
    }
    std::fill(weights + n * keys_, weights + rows_ * keys_, C(0));
    weighted_(b, weights, v, part);
    for (int64_t r = 0; r < n; ++r) {
      const int64_t seen = std::clamp<int64_t>(a_.keys_of(first + r, count) - key, 0, present);
      for (int64_t i = 0; i < a_.e; ++i) {
        C sum = part[r * a_.e + i];
        if (seen < present && !std::isfinite(sum)) {  // a later value, which counts for other rows alone
          sum = 0;
          for (int64_t j = 0; j < seen; ++j) sum += weights[r * keys_ + j] * v[j * a_.e + i];
        }
        total[r * a_.e + i] += sum;
      }
    }
  }

  static C greater(C a, C b) { return a > b || a != a ? a : b; }  // keeps NaN

  /// Turns the products of a row into weights relative to the largest so far; those after the first `seen` are 0.
  /// Returns the factor of what was summed before.
  C weigh(C* weights, int64_t seen, C& largest, C& sum) const {
    const C now = seen == 0 ? largest : greater(largest, line_max(weights, seen));
    std::fill(weights + seen, weights + keys_, C(0));
    if (now == -std::numeric_limits<C>::infinity()) {
      std::fill(weights, weights + seen, C(0));
      return 1;
    }
    for (int64_t j = 0; j < seen; ++j) weights[j] -= now;
    exponentials_(weights, weights, seen);
    C kept = largest - now;
    exponentials_(&kept, &kept, 1);
    sum = sum * kept + static_cast<C>(line_sum(weights, seen));
    largest = now;
    return kept;
  }

  AttentionShape a_;
  DType q_dtype_, kv_dtype_;
  int64_t rows_, keys_;  ///< of a block
  InnerProduct<C> scores_, weighted_;
  PerThread<C> q_, k_, v_, weights_, part_, total_, largest_, sums_;
  UnaryBlock exponentials_ = unary_block(Unary::exp, dtype_of<C>());
};

template <class C>
Kernel attention(const AttentionShape& shape, DType q, DType kv) {
  WorkspaceLayout workspace;
  const auto of = std::make_shared<const Attention<C>>(shape, q, kv, workspace);
  const double rows = static_cast<double>(shape.outer * shape.rows()), keys = static_cast<double>(shape.s);
  // A query and key with d = e = 64 take 4.4 ns on an Intel Xeon with AVX-512 (12 heads, 512 queries and keys).
  const double ns = rows * keys * (1.0 + 0.027 * static_cast<double>(shape.d + shape.e));
  Phase check{1, 1, [shape](const Buffers& b, int64_t, int64_t) {
                if (b.in[3]) check_attention_count(*b.input<int32_t>(3), shape.s);
              }};
  Phase blocks{shape.outer * of->blocks(), 1, [of](const Buffers& b, int64_t begin, int64_t end) {
                 for (int64_t unit = begin; unit < end; ++unit) of->run(b, unit);
               }};
  return Kernel::parallel({std::move(check), std::move(blocks)}, ns).with_workspace(workspace);
}

}  // namespace

int64_t AttentionShape::keys_of(int64_t row, int64_t count) const {
  return causal ? std::clamp<int64_t>(count - t + row % t + 1, 0, count) : count;
}

AttentionShape attention_shape(const Shape& q, const Shape& k, const Shape& v, bool causal, double scale) {
  const size_t rank = q.size();
  AttentionShape a{1, 1, q[rank - 2], k[rank - 2], q[rank - 1], v[rank - 1], causal, scale};
  for (size_t i = 0; i + 2 < rank; ++i) a.outer *= k[i];
  if (rank > 2 && k[rank - 3] > 0) a.group = q[rank - 3] / k[rank - 3];
  return a;
}

void check_attention_count(int64_t count, int64_t s) {
  if (count < 0 || count > s)
    throw run_error("attention to the first " + std::to_string(count) + " of " + std::to_string(s) + " keys",
                    {"`count` is from 0 to " + std::to_string(s)})
        .as(codes::index);
}

Kernel attention_kernel(const AttentionShape& shape, DType q, DType kv) {
  const bool wide = q == DType::float64 || kv == DType::float64;
  return wide ? attention<double>(shape, q, kv) : attention<float>(shape, q, kv);
}

}  // namespace pxl
