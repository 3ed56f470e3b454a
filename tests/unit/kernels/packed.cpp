// Packed products: every instruction set against sums in double, float16 products however they are divided.
#include "runtime/kernels/gemm/packed.hpp"

#include <cmath>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/gemm/gemm.hpp"
#include "runtime/kernels/gemm/packed_product.hpp"
#include "runtime/kernels/gemm/packed_table.hpp"
#include "runtime/kernels/gemm/product.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Case {
  int64_t m, n, k;
  bool ta, tb;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int64_t m : {1, 2, 3, 6, 15, 57})
    for (int64_t n : {1, 7, 16, 33, 100, 160})
      for (int64_t k : {1, 5, 64, 256, 300})
        for (int t = 0; t < 4; ++t) all.push_back({m, n, k, t == 1 || t == 3, t >= 2});
  all.push_back({300, 35, 270, false, false});  // several groups of micro-panels
  return all;
}

double term_sum(const Case& c, const Array& a, const Array& b, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t l = 0; l < c.k; ++l)
    sum += a.number(c.ta ? l * c.m + i : i * c.k + l) * b.number(c.tb ? j * c.k + l : l * c.n + j);
  return sum;
}

MatrixView stored(const Array& x) { return {x.raw(), x.shape()[1], narrow_functions(x.dtype())}; }

/// The product by one variant, in a result whose rows are longer than they need be.
std::vector<float> multiplied(const PackedFunctions& f, const Case& c, const Array& a, const Array& b,
                              int64_t together = 0) {
  std::vector<float> right(static_cast<size_t>(f.packed_size(c.n, c.k)));
  std::vector<float> out(static_cast<size_t>(c.m * (c.n + 3)), -1.0F);
  f.pack({stored(b), c.tb, c.k, c.n, 0, f.strips(c.n), right.data()});
  const WorkspaceMemory packed_a(static_cast<size_t>(f.packed_a_size) * sizeof(float));
  f.multiply({.a = stored(a),
              .transposed = c.ta,
              .m = c.m,
              .n = c.n,
              .k = c.k,
              .b = right.data(),
              .out = out.data(),
              .ldo = c.n + 3,
              .terms_of_sum = together,
              .packed_a = reinterpret_cast<float*>(packed_a.data())});
  return out;
}

/// The same of operands where they lie, in or added to `out`.
void multiply_in_place(const PackedFunctions& f, const Case& c, const Array& a, const Array& b, bool add,
                       std::vector<float>& out, int64_t together = 0) {
  const WorkspaceMemory memory(static_cast<size_t>(f.product_memory(c.m)) * sizeof(float));
  f.product({stored(a), stored(b), c.ta, c.tb, add, c.m, c.n, c.k, out.data(), c.n + 3,
             reinterpret_cast<float*>(memory.data()), together});
}

Array operand(DType dtype, int64_t rows, int64_t columns, bool transposed, int seed) {
  return ramp(dtype, transposed ? Shape{columns, rows} : Shape{rows, columns}, seed);
}

/// The same with elements whose products are rounded.
Array irregular(int64_t rows, int64_t columns, bool transposed, int seed) {
  Array x(DType::float32, transposed ? Shape{columns, rows} : Shape{rows, columns});
  for (int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = std::sin(static_cast<float>(seed + 3 * i));
  return x;
}

}  // namespace

TEST_CASE("packed products agree with sums in double, and those with fused multiply-add with each other") {
  const std::vector<const PackedFunctions*> variants = usable_variants(packed_variants());
  for (const Case& c : cases())
    for (DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      CAPTURE(c.m);
      CAPTURE(c.n);
      CAPTURE(c.k);
      CAPTURE(c.ta);
      CAPTURE(c.tb);
      const Array a = operand(dtype, c.m, c.k, c.ta, 1), b = operand(dtype, c.k, c.n, c.tb, 2);
      std::vector<std::vector<float>> results;
      for (const PackedFunctions* f : variants) {
        results.push_back(multiplied(*f, c, a, b));
        const std::vector<float>& r = results.back();
        double worst = 0;
        bool padding = true;
        for (int64_t i = 0; i < c.m; ++i)
          for (int64_t j = 0; j < c.n + 3; ++j) {
            const float x = r[static_cast<size_t>(i * (c.n + 3) + j)];
            if (j < c.n)
              worst = std::max(worst, std::fabs(x - term_sum(c, a, b, i, j)));
            else
              padding = padding && x == -1.0F;
          }
        CHECK(worst < 2e-6 * static_cast<double>(c.k) + 1e-6);
        CHECK(padding);
      }
      if (results.size() == 3) CHECK(results[1] == results[2]);
      for (size_t v = 0; v < variants.size(); ++v) {
        std::vector<float> out(results[v].size(), -1.0F);
        multiply_in_place(*variants[v], c, a, b, false, out);
        CHECK(out == results[v]);
        multiply_in_place(*variants[v], c, a, b, true, out);
        double worst = 0;
        for (size_t i = 0; i < out.size(); ++i)
          if (static_cast<int64_t>(i) % (c.n + 3) < c.n)
            worst = std::max(worst, std::fabs(static_cast<double>(out[i]) - 2 * static_cast<double>(results[v][i])));
        CHECK(worst < 4e-6 * static_cast<double>(c.k) + 1e-6);
        CHECK(out.back() == -1.0F);
      }
    }
}

TEST_CASE("terms are summed by themselves, some at a time, with the bits of fused multiply-adds and additions") {
  for (const Case& c : {Case{1, 7, 5, false, false},
                        {3, 33, 64, false, true},
                        {15, 40, 100, true, false},
                        {7, 16, 300, true, true},
                        {140, 18, 513, false, false},
                        {2, 64, 40, false, false}})
    for (int64_t together : {1, 32, 64, 256}) {
      CAPTURE(c.m);
      CAPTURE(c.k);
      CAPTURE(together);
      const Array a = irregular(c.m, c.k, c.ta, 1), b = irregular(c.k, c.n, c.tb, 2);
      const auto at = [&](const Array& x, int64_t row, int64_t column, bool transposed) {
        return x.data<float>()[transposed ? column * x.shape()[1] + row : row * x.shape()[1] + column];
      };
      std::vector<float> once(static_cast<size_t>(c.m * (c.n + 3)), -1.0F), twice = once;
      for (int64_t i = 0; i < c.m; ++i)
        for (int64_t j = 0; j < c.n; ++j) {
          float total = 0;
          const auto add_all = [&] {
            for (int64_t first = 0; first < c.k; first += together) {
              float sum = 0;
              for (int64_t l = first; l < std::min(first + together, c.k); ++l)
                sum = std::fma(at(a, i, l, c.ta), at(b, l, j, c.tb), sum);
              total += sum;
            }
            return total;
          };
          once[static_cast<size_t>(i * (c.n + 3) + j)] = add_all();
          twice[static_cast<size_t>(i * (c.n + 3) + j)] = add_all();
        }
      for (const PackedFunctions* f : usable_variants(packed_variants())) {
        const std::vector<float> packed_once = multiplied(*f, c, a, b, together);
        std::vector<float> out(once.size(), -1.0F);
        multiply_in_place(*f, c, a, b, false, out, together);
        CHECK(out == packed_once);
        double worst = 0;
        for (size_t i = 0; i < out.size(); ++i)
          worst = std::max(worst, std::fabs(static_cast<double>(out[i] - once[i])));
        CHECK(worst < 2e-6 * static_cast<double>(c.k));
        if (f == usable_variants(packed_variants())[0]) continue;  // has no FMA
        CHECK(out == once);
        multiply_in_place(*f, c, a, b, true, out, together);
        CHECK(out == twice);
      }
    }
}

TEST_CASE_TEMPLATE("narrow products are sums in float32 rounded once, in bits however they are divided", T, half,
                   bfloat16) {
  constexpr DType dtype = dtype_of<T>();
  std::vector<Case> all = cases();
  all.push_back({2, 64, 300000, false, false});  // its right operand is laid out in parts
  for (const Case& c : all) {
    CAPTURE(c.m);
    CAPTURE(c.n);
    CAPTURE(c.k);
    const Array a = operand(dtype, c.m, c.k, c.ta, 1), b = operand(dtype, c.k, c.n, c.tb, 2);
    const Kernel kernel =
        matmul_kernel(spec(dtype, a.shape()), c.ta, spec(dtype, b.shape()), c.tb, spec(dtype, {c.m, c.n}));
    const Array whole = run(kernel, {a, b}, spec(dtype, {c.m, c.n}));
    const std::vector<float> sums = multiplied(packed(), c, a, b);
    bool rounded = true;
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j)
        rounded =
            rounded && whole.number(i * c.n + j) == static_cast<float>(T(sums[static_cast<size_t>(i * (c.n + 3) + j)]));
    CHECK(rounded);
    for (int pieces : {2, 3, 7}) {
      Array divided(dtype, {c.m, c.n});
      const std::byte* in[] = {a.raw(), b.raw()};
      std::byte* to[] = {divided.mutable_raw()};
      run_in_pieces(kernel, {in, to}, pieces);
      CHECK(identical(whole, divided));
    }
  }
}

TEST_CASE("a product with its right operand packed before has the bits of one that packs it, however it is divided") {
  std::vector<Case> all = cases();
  all.push_back({57, 512, 700, false, false});  // whose rows the packed kernels of AVX2 multiply in any case
  all.push_back({256, 1024, 96, false, false});
  all.push_back({6, 512, 700, false, false});
  for (const Case& c : all) {
    CAPTURE(c.m);
    CAPTURE(c.n);
    CAPTURE(c.k);
    const Array a = irregular(c.m, c.k, c.ta, 1), b = irregular(c.k, c.n, c.tb, 2);
    for (bool stored : {true, false}) {
      GemmCall call{gemm_shape(a.shape(), c.ta, b.shape(), c.tb), {}};
      call.options.out = stored ? 0 : -1;
      if (!stored)
        call.options.epilogue = [](const Buffers& buffers, std::byte* values, int64_t begin, int64_t end) {
          std::copy_n(reinterpret_cast<const float*>(values), end - begin, buffers.output<float>(0) + begin);
        };
      const bool packs =
          c.m <= 16 ? c.k < 256 : product_way(false, false, c.m, c.n, c.k, c.k, c.n) == ProductWay::packed;
      CHECK(gains_by_packing(call) == (!c.ta && !c.tb && packs && c.n > 1 && c.m <= 256 && (c.m > 4 || c.n > 64)));
      if (!gains_by_packing(call)) continue;
      const Array right = run(pack_right_kernel(call.plan), {b}, spec(DType::float32, {packed_right_size(call.plan)}));
      const Kernel kernel = packed_product_kernel(call);
      const Array whole = run(kernel, {a, right}, spec(DType::float32, {c.m, c.n}));
      if (stored) CHECK(identical(whole, run(product_kernel(call.plan, call.options), {a, b}, whole.spec())));
      std::vector<float> expected(static_cast<size_t>(c.m * (c.n + 3)), -1.0F);
      multiply_in_place(packed(), c, a, b, false, expected);
      bool same = true;
      for (int64_t i = 0; i < c.m; ++i)
        same = same && std::equal(whole.data<float>() + i * c.n, whole.data<float>() + (i + 1) * c.n,
                                  expected.data() + i * (c.n + 3));
      CHECK(same);
      for (int pieces : {2, 3, 7}) {
        Array divided(DType::float32, {c.m, c.n});
        const std::byte* in[] = {a.raw(), right.raw()};
        std::byte* to[] = {divided.mutable_raw()};
        run_in_pieces(kernel, {in, to}, pieces);
        CHECK(identical(whole, divided));
      }
    }
  }
}

TEST_CASE("products in place have the bits of packed ones, one or many") {
  std::vector<Case> all = cases();
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const int64_t k : {1, 4, 33, 300, 520})
        for (const auto& [m, n] : {std::pair<int64_t, int64_t>{4, 4}, {1, 17}, {33, 1}, {29, 45}})
          all.push_back({m, n, k, ta, tb});
  for (const PackedFunctions* f : usable_variants(packed_variants()))
    for (const Case& c : all) {
      CAPTURE(c.m);
      CAPTURE(c.n);
      CAPTURE(c.k);
      CAPTURE(c.ta);
      CAPTURE(c.tb);
      constexpr int64_t count = 3;
      const Array a = irregular(count * c.m * c.k, 1, false, 1), b = irregular(count * c.k * c.n, 1, false, 2);
      const WorkspaceMemory memory(static_cast<size_t>(f->product_memory(c.m)) * sizeof(float));
      const int64_t lda = c.ta ? c.m : c.k, ldb = c.tb ? c.k : c.n, ldo = c.n + 3, out_size = c.m * ldo;
      for (const bool shared : {false, true}) {
        const int64_t b_step = shared ? 0 : c.k * c.n;
        std::vector<float> out(static_cast<size_t>(count * out_size), -1.0F), expected = out;
        auto* const floats = reinterpret_cast<float*>(memory.data());
        const Finish finish = shared ? Finish{{-0.25F, 0.5F}, a.data<float>()} : Finish{};  // a has m numbers at least
        f->products_in_place({a.data<float>(), b.data<float>(), out.data(), count, c.m * c.k, b_step, out_size, c.ta,
                              c.tb, c.m, c.n, c.k, lda, ldb, ldo, floats, finish});
        for (int64_t i = 0; i < count; ++i) {
          f->product({{reinterpret_cast<const std::byte*>(a.data<float>() + i * c.m * c.k), lda},
                      {reinterpret_cast<const std::byte*>(b.data<float>() + i * b_step), ldb},
                      c.ta,
                      c.tb,
                      false,
                      c.m,
                      c.n,
                      c.k,
                      expected.data() + i * out_size,
                      ldo,
                      floats});
          float* const sums = expected.data() + i * out_size;
          if (shared) f->finish(finish, c.m, c.n, sums, ldo, sums, ldo);
        }
        CHECK(out == expected);
      }
    }
}

TEST_CASE("finished sums have their bias and are within bounds, zeros and NaN too, with every instruction set") {
  constexpr float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {-0.0F, 0.0F, nan, infinite, -infinite, 0.25F, -0.25F, 3.0F, 1e-40F, -1e-40F};
  const float biases[] = {0.5F, -0.0F, -3.0F};
  for (const PackedFunctions* f : usable_variants(packed_variants()))
    for (const float* bias : {static_cast<const float*>(nullptr), biases})
      for (const auto& [low, high] : {std::pair{-infinite, infinite}, {0.0F, infinite}, {0.0F, 6.0F}, {-0.5F, -0.125F}})
        for (int64_t n = 1; n < 40; ++n) {
          constexpr int64_t rows = 3, apart = 41;
          std::vector<float> given(rows * apart), got;
          for (size_t i = 0; i < given.size(); ++i) given[i] = values[i % std::size(values)];
          got = given;
          f->finish({{low, high}, bias}, rows, n, given.data(), apart, got.data(), apart);
          int64_t wrong = 0;
          for (size_t i = 0; i < given.size(); ++i) {
            const size_t row = i / apart;
            const float sum = bias ? given[i] + bias[row] : given[i];
            const float bounded = sum <= low ? low : sum >= high ? high : sum;
            const float wanted = static_cast<int64_t>(i % apart) < n ? bounded : given[i];
            wrong += std::memcmp(&got[i], &wanted, sizeof wanted) != 0 && !(got[i] != got[i] && wanted != wanted);
          }
          CHECK(wrong == 0);
        }
}

TEST_CASE("products are computed in the way that is fastest for their shape") {
  using enum ProductWay;
  CHECK(fastest_way("avx2", false, false, 64, 512, 256, 256, 1024) == packed);
  CHECK(fastest_way("avx2", false, false, 64, 512, 256, 256, 1000) == library);
  CHECK(fastest_way("avx2", false, true, 64, 512, 1024, 1024, 1024) == library);
  CHECK(fastest_way("avx2", true, false, 256, 64, 512, 1024, 64) == packed);
  CHECK(fastest_way("avx2", true, true, 256, 64, 512, 1024, 512) == packed);
  CHECK(fastest_way("avx2", true, false, 256, 256, 512, 256, 256) == packed);
  CHECK(fastest_way("avx2", true, false, 256, 64, 512, 256, 64) == library);
  CHECK(fastest_way("avx2", true, false, 256, 300, 512, 1000, 300) == library);
  CHECK(fastest_way("avx2", false, true, 4, 4, 4, 4, 4) == in_place);
  CHECK(fastest_way("avx512", false, true, 64, 512, 1024, 1024, 1000) == packed);
  CHECK(fastest_way("avx512", false, true, 64, 512, 1024, 1024, 1024) == in_place);
  CHECK(fastest_way("avx512", false, true, 256, 512, 1000, 1000, 1000) == library);
  CHECK(fastest_way("avx512", false, true, 64, 512, 512, 512, 512) == library);
  CHECK(fastest_way("avx512", false, false, 64, 1024, 1024, 1024, 1024) == library);
  CHECK(fastest_way("avx512", false, false, 64, 1024, 256, 256, 1024) == in_place);
  CHECK(fastest_way("avx512", true, false, 1024, 1024, 1024, 1024, 1024) == library);
  CHECK(fastest_way("avx512", true, true, 1024, 1024, 1024, 1024, 1024) == in_place);
  CHECK(fastest_way("baseline", false, false, 64, 64, 64, 64, 64) == library);
  if (std::getenv("PXL_GEMM") || !library_computes_products()) return;
  for (const Case& c : {Case{20, 512, 1100, false, false}, Case{20, 512, 1100, false, true},
                        Case{20, 30, 40, true, false}, Case{5, 6, 7, false, false}}) {
    const int64_t ldb = c.tb ? c.k : c.n;
    if (product_way(c.ta, c.tb, c.m, c.n, c.k, c.ta ? c.m : c.k, ldb) == library) continue;
    const Array a = operand(DType::float32, c.m, c.k, c.ta, 1), b = operand(DType::float32, c.k, c.n, c.tb, 2);
    const WorkspaceMemory memory(static_cast<size_t>(gemm_memory(c.m)) * sizeof(float));
    std::vector<float> out(static_cast<size_t>(c.m * (c.n + 3)), -1.0F), expected = out;
    gemm_one_thread(c.ta, c.tb, c.m, c.n, c.k, a.data<float>(), c.ta ? c.m : c.k, b.data<float>(), ldb, out.data(),
                    c.n + 3, reinterpret_cast<float*>(memory.data()));
    multiply_in_place(::pxl::packed(), c, a, b, false, expected);
    CHECK(out == expected);
  }
}
TEST_CASE("addends are added in whole vectors and a rest, and nothing after them is written") {
  for (const PackedFunctions* f : usable_variants(packed_variants()))
    for (int64_t n : {0, 1, 7, 8, 16, 31, 100}) {
      CAPTURE(n);
      std::vector<float> from(101), to(101);
      for (size_t i = 0; i < to.size(); ++i) from[i] = 0.1F * static_cast<float>(i), to[i] = 0.3F;
      f->finish({{}, nullptr, from.data()}, 1, n, to.data(), n, to.data(), n);
      int64_t wrong = 0;
      for (size_t i = 0; i < to.size(); ++i)
        wrong += to[i] != (static_cast<int64_t>(i) < n ? 0.3F + 0.1F * static_cast<float>(i) : 0.3F);
      CHECK(wrong == 0);
    }
}
