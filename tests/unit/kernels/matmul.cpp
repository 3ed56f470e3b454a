// Matrix products against plain loops.
#include "runtime/kernels/gemm/matmul.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// The product by definition, for operands of rank 2 or more, batches broadcasting.
std::vector<double> expected(const Array& a, bool ta, const Array& b, bool tb, const GemmShape& plan) {
  const int64_t ra = a.rank(), rb = b.rank();
  const Shape sa(a.shape().begin(), a.shape().end() - std::min<int64_t>(ra, 2)),
      sb(b.shape().begin(), b.shape().end() - std::min<int64_t>(rb, 2));
  const Shape batch = broadcast(sa, sb), strides = strides_of(batch);
  const int64_t m = ra == 1 ? 1 : a.shape()[static_cast<size_t>(ra - (ta ? 1 : 2))],
                n = rb == 1 ? 1 : b.shape()[static_cast<size_t>(rb - (tb ? 2 : 1))];
  const auto at = [&](const Shape& s, int64_t i) {
    int64_t offset = 0;
    const Shape own = strides_of(s);
    for (size_t d = 0; d < batch.size(); ++d) {
      const size_t lead = batch.size() - s.size();
      if (d >= lead && s[d - lead] != 1) offset += i / strides[d] % batch[d] * own[d - lead];
    }
    return offset;
  };
  std::vector<double> out;
  for (int64_t i = 0; i < element_count(batch); ++i) {
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t c = 0; c < n; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < plan.k; ++k) {
          sum += a.number(at(sa, i) * m * plan.k + (ta ? k * m + r : r * plan.k + k)) *
                 b.number(at(sb, i) * n * plan.k + (tb ? c * plan.k + k : k * n + c));
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("products of all ranks, transposed or not") {
  const std::vector<std::pair<Shape, Shape>> shapes{{{3, 4}, {4, 5}},
                                                    {{4}, {4}},
                                                    {{4}, {4, 3}},
                                                    {{3, 4}, {4}},
                                                    {{2, 3, 4}, {4, 5}},
                                                    {{3, 4}, {2, 4, 5}},
                                                    {{2, 1, 3, 4}, {5, 4, 2}},
                                                    {{2, 3, 4}, {2, 4, 1}},
                                                    {{2, 1, 4}, {2, 4, 3}},
                                                    {{3, 0}, {0, 2}},
                                                    {{0, 3}, {3, 2}},
                                                    {{17, 65}, {65, 33}},
                                                    {{2, 3, 4}, {4}},
                                                    {{1, 4}, {4, 1}}};
  for (const auto& [sa, sb] : shapes) {
    for (DType dtype : {DType::float16, DType::float32, DType::float64, DType::int32}) {
      for (int flags = 0; flags < 4; ++flags) {
        const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0;
        Shape pa = sa, pb = sb;
        if (ta && pa.size() > 1) std::swap(pa[pa.size() - 1], pa[pa.size() - 2]);
        if (tb && pb.size() > 1) std::swap(pb[pb.size() - 1], pb[pb.size() - 2]);
        const Array a = ramp(dtype, pa, 1), b = ramp(dtype, pb, 2);
        const GemmShape plan = gemm_shape(pa, ta, pb, tb);
        CAPTURE(text(a.spec()));
        CAPTURE(text(b.spec()));
        CAPTURE(flags);
        const TensorSpec out = spec(dtype, plan.out);
        const Array c = run(matmul_kernel(a.spec(), ta, b.spec(), tb, out), {a, b}, out);
        const std::vector<double> e = expected(a, ta, b, tb, plan);
        REQUIRE(static_cast<size_t>(c.size()) == e.size());
        for (int64_t i = 0; i < c.size(); ++i) CHECK(close(c.number(i), e[static_cast<size_t>(i)], tolerance(dtype)));
        const Array old = ramp(dtype, plan.out, 3);
        const Array d = run(matmul_kernel(a.spec(), ta, b.spec(), tb, out, 2.0, 3.0), {a, b, old}, out);
        for (int64_t i = 0; i < d.size(); ++i)
          CHECK(close(d.number(i), 2 * e[static_cast<size_t>(i)] + 3 * old.number(i), tolerance(dtype)));
      }
    }
  }
}

TEST_CASE("products that do not fit are refused") {
  CHECK_THROWS_AS(gemm_shape({}, false, {3}, false), Error);
  CHECK_THROWS_AS(gemm_shape({2, 3}, false, {2, 3}, false), Error);
  CHECK_THROWS_AS(gemm_shape({2, 2, 3}, false, {3, 3, 2}, false), Error);
  CHECK(matmul_shape({2, 3}, false, {2, 3}, true) == Shape{2, 2});
}
