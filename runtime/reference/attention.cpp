// Attention.
#include "runtime/kernels/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

void attention(ReferenceContext& c) {
  const AttentionShape a = attention_shape(c.shape(0), c.shape(1), c.shape(2), c.boolean("is_causal"),
                                           c.number("scale", 1 / std::sqrt(static_cast<double>(c.shape(0).back()))));
  const int64_t count = c.has(3) ? c.indices(3).data()[0] : a.s;
  check_attention_count(count, a.s);
  const Reals q = c.real(0), k = c.real(1), v = c.real(2);
  Reals out = Reals::from_shape(extents(c.out_shape()));
  for (int64_t row = 0; row < a.outer * a.rows(); ++row) {
    const int64_t from = row / a.rows() * a.s, n = a.keys_of(row % a.rows(), count);
    std::vector<double> weights(static_cast<size_t>(n), 0);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      double& product = weights[static_cast<size_t>(j)];
      for (int64_t i = 0; i < a.d; ++i) product += q.data()[row * a.d + i] * k.data()[(from + j) * a.d + i];
      product *= a.scale;
      if (product > largest || std::isnan(product)) largest = product;
    }
    for (double& w : weights) sum += w = std::exp(w - largest);
    for (int64_t i = 0; i < a.e; ++i) {
      double total = 0;
      for (int64_t j = 0; j < n; ++j) total += weights[static_cast<size_t>(j)] * v.data()[(from + j) * a.e + i];
      out.data()[row * a.e + i] = total / sum;
    }
  }
  c.out(0, out);
}

}  // namespace pxl::reference
