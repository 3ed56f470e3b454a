// float32 products against sums in double: every way they are computed, every way they may be divided.
#include "runtime/kernels/gemm/product.hpp"

#include "runtime/kernels/gemm/skinny.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Case {
  int64_t m, n, k;
  bool ta, tb;
};

Array operand(int64_t rows, int64_t columns, bool transposed, int seed) {
  return ramp(DType::float32, transposed ? Shape{columns, rows} : Shape{rows, columns}, seed);
}

double term_sum(const Case& c, const Array& a, const Array& b, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t l = 0; l < c.k; ++l)
    sum += a.number(c.ta ? l * c.m + i : i * c.k + l) * b.number(c.tb ? j * c.k + l : l * c.n + j);
  return sum;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int64_t m : {1, 3, 8, 9, 16, 17, 80})
    for (int64_t n : {1, 10, 32, 40, 100})
      for (int64_t k : {16, 33, 300, 2100})
        for (int t = 0; t < 4; ++t) all.push_back({m, n, k, t == 1 || t == 3, t >= 2});
  all.push_back({20, 1, 70000, true, false});
  all.push_back({3000, 1, 20, false, false});
  for (int64_t k : {1, 4, 8, 13, 16}) all.push_back({784, 32, k, true, false});
  for (int64_t n : {1, 10, 33, 600}) all.push_back({300, n, 8, true, false});
  return all;
}

}  // namespace

TEST_CASE("products agree with sums in double, and in bits however they are divided") {
  for (const Case& c : cases()) {
    CAPTURE(c.m);
    CAPTURE(c.n);
    CAPTURE(c.k);
    CAPTURE(c.ta);
    CAPTURE(c.tb);
    Array a = operand(c.m, c.k, c.ta, 1), b = operand(c.k, c.n, c.tb, 2);
    const GemmShape plan = gemm_shape(a.shape(), c.ta, b.shape(), c.tb);
    const Kernel kernel = product_kernel(plan, {});
    const TensorSpec out = spec(DType::float32, {c.m, c.n});
    const Array whole = run(kernel, {a, b}, out);
    double worst = 0;
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j)
        worst = std::max(worst, std::fabs(whole.number(i * c.n + j) - term_sum(c, a, b, i, j)));
    CHECK(worst < 2e-6 * static_cast<double>(c.k) + 1e-6);
    for (int pieces : {2, 3, 7}) {
      Array divided(DType::float32, out.shape);
      const std::byte* in[] = {a.raw(), b.raw()};
      std::byte* to[] = {divided.mutable_raw()};
      run_in_pieces(kernel, {in, to}, pieces);
      CHECK(identical(whole, divided));
    }
  }
}

TEST_CASE("narrow products of a column agree with sums in double, in any parts") {
  for (const bool ta : {false, true})
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      const Case c{200, 1, 300, ta, false};
      const Array a = ramp(dtype, ta ? Shape{c.k, c.m} : Shape{c.m, c.k}, 1);
      const Array b = ramp(dtype, {c.k, c.n}, 2);
      ProductOptions options;
      options.dtype = dtype;
      const Kernel kernel = product_kernel(gemm_shape(a.shape(), c.ta, b.shape(), c.tb), options);
      const Array y = check_divided(kernel, {a, b}, {spec(dtype, {c.m, c.n})})[0];
      for (int64_t i = 0; i < c.m; ++i) CHECK(close(y.number(i), term_sum(c, a, b, i, 0), tolerance(dtype)));
    }
}

TEST_CASE("ops after a product see every element once, stored or not") {
  for (const Case& c : cases()) {
    CAPTURE(c.m);
    CAPTURE(c.n);
    CAPTURE(c.k);
    Array a = operand(c.m, c.k, c.ta, 3), b = operand(c.k, c.n, c.tb, 4);
    const GemmShape plan = gemm_shape(a.shape(), c.ta, b.shape(), c.tb);
    const TensorSpec out = spec(DType::float32, {c.m, c.n});
    const Array plain = run(product_kernel(plan, {}), {a, b}, out);
    for (bool stored : {true, false}) {
      Array taken = Array::zeros(DType::float32, out.shape), result = Array::zeros(DType::float32, out.shape);
      float* to = taken.mutable_data<float>();
      ProductOptions options;
      options.out = stored ? 0 : -1;
      options.epilogue = [to](const Buffers&, std::byte* given, int64_t begin, int64_t end) {
        float* values = reinterpret_cast<float*>(given);
        for (int64_t i = begin; i < end; ++i) to[i] += values[i - begin];
      };
      const std::byte* in[] = {a.raw(), b.raw()};
      std::byte* outputs[] = {result.mutable_raw()};
      run_in_pieces(product_kernel(plan, options), {in, outputs}, 3);
      CHECK(identical(taken, plain));
      if (stored) CHECK(identical(result, plain));
    }
    // The update in registers has the bits of a multiplication and an addition after the product.
    Array weights = ramp(DType::float32, out.shape, 5), expected = weights.clone();
    float* e = expected.mutable_data<float>();
    for (int64_t i = 0; i < expected.size(); ++i) {
      const float scaled = -0.05f * plain.data<float>()[i];
      e[i] = e[i] + scaled;
    }
    ProductOptions options;
    options.add_to = 2;
    options.alpha = -0.05f;
    const std::byte* in[] = {a.raw(), b.raw(), weights.mutable_raw()};
    std::byte* outputs[] = {weights.mutable_raw()};
    run_in_pieces(product_kernel(plan, options), {in, outputs}, 2);
    CHECK(identical(weights, expected));
  }
}

TEST_CASE("the input's gradient sees the weights as they were before the update") {
  for (int64_t m : {1, 7, 8, 9, 16})
    for (int64_t n : {1, 2, 9, 10, 15, 16, 31, 48})
      for (int64_t k : {1, 4, 15, 20, 37}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        Array x = ramp(DType::float32, {m, k}, 1), w = ramp(DType::float32, {k, n}, 2),
              dy = ramp(DType::float32, {m, n}, 3);
        const Array before = w.clone();
        Array dx = Array::full(DType::float32, {m, k}, 9.0);
        SkinnyBackward f;
        f.x = x.data<float>();
        f.ldx = k;
        f.w = w.data<float>();
        f.ldw = n;
        f.dy = dy.data<float>();
        f.lddy = n;
        f.m = m;
        f.n = n;
        f.k0 = k / 5;
        f.k1 = k - k / 7;
        f.dx = dx.mutable_data<float>();
        f.lddx = k;
        f.u = w.mutable_data<float>();
        f.w = f.u;
        f.ldu = n;
        f.alpha = 0.5f;
        f.add = true;
        skinny().backward(f);
        const auto given = [&](int64_t r) { return r >= f.k0 && r < f.k1; };
        double worst = 0;
        for (int64_t r = 0; r < k; ++r) {
          for (int64_t i = 0; i < m; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < n; ++j) sum += dy.number(i * n + j) * before.number(r * n + j);
            worst = std::max(worst, std::fabs(dx.number(i * k + r) - (given(r) ? sum : 9.0)));
          }
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t i = 0; i < m; ++i) sum += x.number(i * k + r) * dy.number(i * n + j);
            const double expected = before.number(r * n + j) + (given(r) ? 0.5 * sum : 0.0);
            worst = std::max(worst, std::fabs(w.number(r * n + j) - expected));
          }
        }
        CHECK(worst < 1e-4);
      }
}
