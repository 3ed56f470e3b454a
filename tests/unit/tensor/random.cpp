
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
        // As kernels compute, and as the host does.
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
