// Products of quantised operands: exact sums of blocks, times scales, in the order that is documented, to the bit, with
// every instruction set; and the same bits however the product is divided.
#include "runtime/kernels/gemm/quantised_product.hpp"

#include <cmath>

#include "runtime/kernels/gemm/quantised_product_table.hpp"
#include "runtime/kernels/gemm/skinny.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Operands {
  bool packed;
  int64_t m, n, k, group;
  Array x, x_scale, w, scale;

  int weight(int64_t r, int64_t j) const {
    const std::byte* bytes = w.raw();
    if (!packed) return static_cast<int8_t>(bytes[r * n + j]);
    return (static_cast<int>(bytes[r / 2 * n + j]) >> (4 * (r % 2)) & 15) - 8;
  }
};

/// Bytes in an order that repeats late, the extremes among them; without `least` none is -128.
Array bytes(DType dtype, Shape shape, uint32_t seed, bool least) {
  Array a(dtype, std::move(shape));
  uint32_t state = seed;
  for (int64_t i = 0; i < a.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    auto byte = static_cast<std::byte>(state >> 24);
    if (state >> 8 & 1) byte = state >> 9 & 1 ? std::byte{0x7f} : std::byte{0x80};
    a.mutable_raw()[i] = !least && byte == std::byte{0x80} ? std::byte{0x81} : byte;
  }
  return a;
}

Operands operands(bool packed, int64_t m, int64_t n, int64_t k, int64_t group, bool least) {
  const int64_t groups = (k + group - 1) / group;
  return {packed,
          m,
          n,
          k,
          group,
          bytes(DType::int8, {m, k}, 1, least),
          ramp(DType::float32, {m, groups}, 3),
          packed ? bytes(DType::uint8, {k / 2, n}, 2, true) : bytes(DType::int8, {k, n}, 2, true),
          ramp(DType::float32, {groups, n}, 5)};
}

/// Element (i, j) over rows [k0, k1) as quantised_product.hpp orders it.
float sum_of(const Operands& o, bool fused, int64_t i, int64_t j, int64_t k0, int64_t k1) {
  const int64_t groups = o.scale.shape()[0];
  const auto* x = reinterpret_cast<const int8_t*>(o.x.raw());
  float out = 0;
  for (int64_t k = k0; k < k1;) {
    const int64_t g = k / o.group, end = std::min({k1, (g + 1) * o.group, k + quantised_block_rows(o.packed)});
    int64_t sum = 0;
    for (int64_t r = k; r < end; ++r) sum += x[i * o.k + r] * o.weight(r, j);
    const float by = o.scale.data<float>()[g * o.n + j] * o.x_scale.data<float>()[i * groups + g];
    const auto whole = static_cast<float>(sum);
    out = fused ? std::fma(whole, by, out) : whole * by + out;
    k = end;
  }
  return out;
}

}  // namespace

TEST_CASE("sums of blocks are exact, with every instruction set") {
  for (bool packed : {false, true})
    for (const int64_t m : {1, 2, 3, 4, 5, 9, 70})
      for (const int64_t n : {1, 63, 64, 130, 256})
        for (const int64_t k : {2, 16, 38, 64, 200})
          for (const int64_t group : {2, 6, 64, 1000})
            for (bool least : {false, true}) {
              const Operands o = operands(packed, m, n, k, group, least);
              CAPTURE(packed);
              CAPTURE(m);
              CAPTURE(n);
              CAPTURE(k);
              CAPTURE(group);
              for (std::string_view set : usable_instruction_sets()) {
                const bool fused = set != "baseline";
                std::vector<float> out(static_cast<size_t>(skinny_panels_size(m, n)));
                QuantisedProduct p;
                p.x = reinterpret_cast<const int8_t*>(o.x.raw()), p.ldx = k;
                p.x_scales = o.x_scale.data<float>(), p.x_groups = o.scale.shape()[0];
                p.packed = packed, p.w = o.w.raw(), p.ldw = n, p.scales = o.scale.data<float>(), p.group = group;
                p.m = m, p.n = n, p.k0 = 0, p.k1 = k, p.out = out.data();
                variant_for(set, quantised_product_variants()).add(p);
                int64_t wrong = 0;
                for (int64_t i = 0; i < m; ++i)
                  for (int64_t j = 0; j < n; ++j)
                    wrong += out[static_cast<size_t>((j / skinny_panel * m + i) * skinny_panel + j % skinny_panel)] !=
                             sum_of(o, fused, i, j, 0, k);
                CHECK(wrong == 0);
              }
            }
}

TEST_CASE("quantised products have the same bits however they are divided") {
  for (bool packed : {false, true})
    for (const int64_t m : {1, 4, 16, 17})
      for (const int64_t k : {64, 3000}) {
        const int64_t n = 1100, group = 64;
        const Operands o = operands(packed, m, n, k, group, false);
        const Kernel kernel = quantised_matmul_kernel(o.x.spec(), o.w.spec(), packed, group);
        const Array got = check_divided(kernel, {o.x, o.w, o.x_scale, o.scale}, {spec(DType::float32, {m, n})})[0];
        double largest = 0;
        for (int64_t j = 0; j < n; j += 7)
          largest =
              std::max(largest, std::fabs(static_cast<double>(got.data<float>()[j] - sum_of(o, true, 0, j, 0, k))) /
                                    (static_cast<double>(k) * 64 * 64));
        CHECK(largest < 0x1p-20);
      }
}

TEST_CASE("quantised products without elements") {
  const Array none(DType::int8, {3, 0}), scales(DType::float32, {3, 0}), w(DType::int8, {0, 5}),
      s(DType::float32, {0, 5});
  const Array zeros = run(quantised_matmul_kernel(none.spec(), w.spec(), false, 64), {none, w, scales, s},
                          spec(DType::float32, {3, 5}));
  for (double value : numbers(zeros)) CHECK(value == 0);
}
