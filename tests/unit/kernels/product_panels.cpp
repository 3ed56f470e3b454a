// Panels of large products: within their limits, enough of them for many cores, and none so narrow that packing takes
// the time.
#include "runtime/kernels/gemm/product_panels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace pxl;

namespace {

int64_t panels(const PanelGrid& grid) { return grid.down * grid.across; }

}  // namespace

TEST_CASE("panels fit the cache, end soon, and are no more than the matrix has room for") {
  for (const int64_t m : {1, 7, 33, 80, 512, 4096, 1'000'000})
    for (const int64_t n : {1, 9, 64, 513, 50'000})
      for (const int64_t k : {1, 64, 4096, 3'000'000})
        for (const int64_t matrices : {1, 3, 400})
          for (const bool tb : {false, true}) {
            const PanelGrid grid = panel_grid(m, n, k, matrices, tb);
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            CHECK(grid.down >= 1);
            CHECK(grid.across >= 1);
            CHECK(grid.down <= m);
            CHECK(grid.across <= n);
            const int64_t most = max_panel_elements(m, n, grid);
            CHECK(most <= 1 << 17);
            // Panels of the smallest extents may exceed the limit of time.
            if (most > 64) CHECK(static_cast<double>(most) * static_cast<double>(k) <= double{1 << 28});
          }
}

TEST_CASE("a large product has work for many cores, a small one is whole") {
  CHECK(panels(panel_grid(512, 512, 784, 1, false)) >= 8);
  CHECK(panels(panel_grid(4096, 4096, 256, 1, false)) >= 64);
  CHECK(panels(panel_grid(40, 40, 40, 1, false)) == 1);
  CHECK(panels(panel_grid(256, 256, 64, 64, true)) == 1);  // the batch has
  // More work, no fewer panels.
  int64_t before = 0;
  for (int64_t n = 64; n <= 4096; n *= 2) {
    const int64_t now = panels(panel_grid(n, n, n, 1, false));
    CHECK(now >= before);
    before = now;
  }
}

TEST_CASE("no operand is packed for a few rows of a large product") {
  for (const int64_t m : {256, 2048, 4096})
    for (const int64_t n : {512, 4096})
      for (const int64_t k : {256, 4096}) {
        const PanelGrid grid = panel_grid(m, n, k, 1, true);
        CHECK(m / grid.down >= 128);
        CHECK(n / grid.across >= 128);
      }
}
