// The model against published measurements. Calibrated entries must keep their tolerance; `build/release/published`
// shows the others.
#include "tests/model/published/published.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/model/published/published_gemm.hpp"

using namespace pxl::tiles;

TEST_CASE("every point of the AMP measurement within 4 percent, the mean within 0.6") {
  CHECK(amp_points().size() == 64);
  for (const AmpPoint& p : amp_points()) {
    CAPTURE(p.rows);
    CHECK(std::abs(p.error_percent()) <= 4);
  }
  CHECK(amp_errors().mean <= 0.6);
}

TEST_CASE("the formula's own figures, recorded beside the measurements") {
  // Cycles of PopLibs' estimator for N rows.
  const std::pair<int64_t, int64_t> figures[] = {{16, 409}, {80, 649}, {112, 769}, {176, 1033}, {2000, 8329}};
  for (const auto& [rows, cycles] : figures) CHECK(AmpPoint{rows, 1}.predicted_cycles() == cycles);
}

TEST_CASE("calibrated figures hold their tolerance") {
  int calibrated = 0;
  for (const ReferenceMeasurement& p : reference_measurements()) {
    CAPTURE(p.id);
    const double predicted = p.predict();
    CHECK(predicted > 0);
    CHECK_FALSE(p.source.empty());
    if (!p.calibrated()) continue;
    ++calibrated;
    CHECK(std::abs(p.error_percent(predicted)) <= p.tolerance);
  }
  CHECK(calibrated == 3);
}

TEST_CASE("products on Tenstorrent's cards: fitted to half of the measurements, the others within 25 percent") {
  int64_t fitted = 0, held = 0;
  for (const GemmPoint& p : gemm_points()) {
    CAPTURE(p.row->machine);
    CAPTURE(p.row->rows);
    CAPTURE(p.row->depth);
    CAPTURE(p.what);
    CHECK(std::abs(p.error_percent()) <= (p.fitted ? 30 : 25));
    ++(p.fitted ? fitted : held);
  }
  CHECK(fitted >= 45);
  CHECK(held >= 45);
}
