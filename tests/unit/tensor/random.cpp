// Philox against its published vectors, and uniform numbers of a range.
#include "runtime/tensor/random.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "runtime/tensor/array.hpp"
#include "runtime/tensor/uniform_range.hpp"

using namespace pxl;
using Words = std::array<uint32_t, 4>;

TEST_CASE("philox4x32-10 gives the test vectors of Random123 (kat_vectors)") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers are in [low, high) as the dtype holds the bounds, whatever the bounds") {
  std::mt19937_64 rng(7);
  const auto unit = [&] { return std::uniform_real_distribution<double>(0, 1)(rng); };
  int tries = 0;
  for (const DType dtype : {DType::float16, DType::float32, DType::float64}) {
    const double most = dtype == DType::float16 ? 4 : dtype == DType::float32 ? 38 : 308;
    const auto held = [&](double x) { return Array::full(dtype, {}, x).number(0); };
    const auto bound = [&] {
      const double size = std::pow(10, (2 * unit() - 1) * most);
      return unit() < 0.1 ? 0 : unit() < 0.5 ? size : -size;
    };
    for (int i = 0; i < 20000; ++i) {
      // Far apart, or neighbours.
      const double a = bound(), b = unit() < 0.5 ? bound() : a * (1 + (unit() - 0.5) * std::pow(10, -16 * unit()));
      const double low = std::min(a, b), high = std::max(a, b);
      if (held(low) == held(high)) continue;
      const UniformRange of(dtype, low, high);
      for (const double u : {0.0, unit(), 1 - 0x1p-24, 1 - 0x1p-53}) {
        // Kernels compute the first number, the host the second.
        const double narrow =
            dtype == DType::float64 ? of(u) : static_cast<double>(of(std::min(static_cast<float>(u), 1 - 0x1p-24F)));
        for (const double x : {held(narrow), held(of(u))}) {
          ++tries;
          CHECK_MESSAGE((x >= held(low) && x < held(high)), name(dtype), " ", low, " ", high, ": ", x);
        }
      }
    }
  }
  MESSAGE(tries, " numbers");
  CHECK_THROWS_WITH(UniformRange(DType::float32, 0, HUGE_VAL),
                    "uniform numbers are between finite bounds, not between 0 and inf");
  CHECK(UniformRange(DType::float32, 1, 0)(0.25) == 0.75);
}
