// Softmax, normalisation and losses where operands are special, long or far from 0.
#include "runtime/kernels/reduction/normalise.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("softmax of columns sees NaN, infinities and large numbers as that of rows does") {
  Array odd = ramp(DType::float32, {4, 16});
  odd.mutable_data<float>()[16] = static_cast<float>(not_a_number);
  odd.mutable_data<float>()[17] = static_cast<float>(-inf);
  odd.mutable_data<float>()[18] = 1000;
  const Array columns = run(softmax_kernel(odd.spec(), 0), {odd}, odd.spec());
  for (int64_t i = 0; i < 4; ++i) {
    CHECK(std::isnan(columns.number(i * 16)));
    CHECK(columns.number(i * 16 + 2) == (i == 1 ? 1 : 0));
  }
  CHECK(columns.number(17) == 0);
  const Array large = make(DType::float32, {2}, {1000, 1000});
  CHECK(numbers(run(softmax_kernel(large.spec(), 0), {large}, large.spec())) == std::vector<double>{0.5, 0.5});
  CHECK_THROWS_AS(softmax_kernel(spec(DType::int32, {2}), 0), Error);
  CHECK_THROWS_AS(softmax_kernel(spec(DType::float32, {2}), 1), Error);
}

TEST_CASE("groups that do not divide the channels, and data without channels, are refused") {
  CHECK_THROWS_AS(group_norm_kernel(spec(DType::float64, {2, 4, 3}), DType::float64, 3, 1e-5), Error);
  CHECK_THROWS_AS(group_norm_kernel(spec(DType::float64, {3}), DType::float64, 1, 1e-5), Error);
}

TEST_CASE("batch normalisation by long planes, short ones and single numbers, in bits however it is divided") {
  for (const Shape& shape :
       {Shape{3, 5, 4, 5}, Shape{4, 70, 3}, Shape{9, 33}, Shape{2, 2, 40, 41}, Shape{300, 3, 3, 3}})
    for (DType d : {DType::float16, DType::float32, DType::float64}) {
      CAPTURE(shape);
      CAPTURE(name(d));
      const DType wide = d == DType::float16 ? DType::float32 : d;
      const int64_t channels = shape[1], plane = element_count(shape) / (shape[0] * channels), n = shape[0] * plane;
      const TensorSpec of_channels = spec(wide, {channels});
      const Array x = ramp(d, shape, 1), g = ramp(d, shape, 2);
      const auto at = [&](int64_t i) { return i / plane % channels; };
      std::vector<double> mean(static_cast<size_t>(channels)), var = mean, plain = mean, centred = mean;
      const auto each = [&](auto&& f) {
        for (int64_t i = 0; i < x.size(); ++i) f(static_cast<size_t>(at(i)), x.number(i), g.number(i));
      };
      each([&](size_t c, double v, double) { mean[c] += v / static_cast<double>(n); });
      each([&](size_t c, double v, double dy) {
        var[c] += (v - mean[c]) * (v - mean[c]) / static_cast<double>(n);
        plain[c] += dy;
        centred[c] += dy * (v - mean[c]);
      });
      const auto stats = check_divided(batch_statistics_kernel(x.spec()), {x}, {of_channels, of_channels, of_channels});
      const auto sums =
          check_divided(batch_norm_grad_sums_kernel(x.spec()), {g, x, stats[0]}, {of_channels, of_channels});
      const Array scale = ramp(wide, {channels}, 3), bias = ramp(wide, {channels}, 4);
      const Array y =
          check_divided(batch_norm_kernel(x.spec(), wide, 1e-3), {x, scale, bias, stats[0], stats[1]}, {x.spec()})[0];
      const double near = 20 * tolerance(wide);
      for (int64_t c = 0; c < channels; ++c) {
        const auto k = static_cast<size_t>(c);
        CHECK(close(stats[0].number(c), mean[k], near));
        CHECK(close(stats[1].number(c), var[k], near));
        CHECK(close(sums[0].number(c), plain[k], near * static_cast<double>(n)));
        CHECK(close(sums[1].number(c), centred[k], near * static_cast<double>(n)));
      }
      for (int64_t i = 0; i < y.size(); ++i) {
        const auto k = static_cast<size_t>(at(i));
        const double wanted =
            (x.number(i) - mean[k]) / std::sqrt(var[k] + 1e-3) * scale.number(at(i)) + bias.number(at(i));
        CHECK(close(y.number(i), wanted, 50 * tolerance(d)));
      }
    }
  // Channels far from 0 keep the precision of their variance.
  Array far = Array(DType::float32, {4, 1, 1000});
  for (int64_t i = 0; i < far.size(); ++i) far.mutable_data<float>()[i] = 4096.0F + static_cast<float>(i % 2);
  const TensorSpec one = spec(DType::float32, {1});
  const auto stats = run(batch_statistics_kernel(far.spec()), {far}, {one, one, one});
  CHECK(stats[0].number(0) == 4096.5);
  CHECK(stats[1].number(0) == 0.25);
  CHECK(stats[2].number(0) == 0);
}

TEST_CASE("normalisations far from 0 subtract the mean before it is rounded, forward and backward") {
  for (DType d : {DType::float32, DType::float64})
    for (int64_t spatial : {1, 4, 16}) {
      const double far = d == DType::float32 ? 1e4 : 1e8, step = d == DType::float32 ? 1e-3 : 1e-7;
      const int64_t channels = 4, n = channels * spatial;
      CAPTURE(name(d));
      CAPTURE(spatial);
      Array x(d, {2, channels, spatial}), w = ramp(d, {channels}, 3), b = ramp(d, {channels}, 4);
      for (int64_t i = 0; i < x.size(); ++i)
        write_number(d, x.mutable_raw(), i, far + step * static_cast<double>(i * 7 % 11));
      const Array g = ramp(d, x.shape(), 5);
      const TensorSpec stats = spec(d, {2}), of_channels = spec(d, {channels});
      const auto y = run(group_norm_kernel(x.spec(), d, 1, 1e-12), {x, w, b}, {x.spec(), stats, stats});
      const auto back =
          run(group_norm_grad_kernel(x.spec(), d, 1), {g, x, w, y[1], y[2]}, {x.spec(), of_channels, of_channels});
      std::vector<double> dweight(static_cast<size_t>(channels));
      for (int64_t r = 0; r < 2; ++r) {
        // Sums use differences from the first element, which are exact.
        std::vector<double> hat, gw;
        double mean = 0, square = 0, sum = 0, projection = 0;
        for (int64_t i = 0; i < n; ++i) hat.push_back(x.number(r * n + i) - x.number(r * n));
        for (double v : hat) mean += v / static_cast<double>(n);
        for (double& v : hat) v -= mean, square += v * v / static_cast<double>(n);
        const double inverse = 1 / std::sqrt(square + 1e-12);
        for (int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<size_t>(i);
          hat[at] *= inverse;
          gw.push_back(g.number(r * n + i) * w.number(i / spatial));
          dweight[static_cast<size_t>(i / spatial)] += g.number(r * n + i) * hat[at];
          sum += gw[at] / static_cast<double>(n), projection += gw[at] * hat[at] / static_cast<double>(n);
        }
        const double near = d == DType::float32 ? 1e-5 : 1e-12;
        for (int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<size_t>(i);
          CHECK(close(y[0].number(r * n + i), hat[at] * w.number(i / spatial) + b.number(i / spatial), near));
          CHECK(close(back[0].number(r * n + i), inverse * (gw[at] - sum - hat[at] * projection), near * inverse));
        }
      }
      for (int64_t c = 0; c < channels; ++c)
        CHECK(close(back[1].number(c), dweight[static_cast<size_t>(c)], d == DType::float32 ? 1e-4 : 1e-11));
    }
}

TEST_CASE("a label out of range is an error that names it") {
  const Array p = Array::full(DType::float32, {2, 2, 3}, 0.5), bad = make(DType::int32, {2, 2}, {2, 1, 7, 0});
  CHECK_THROWS_WITH_AS(run(nll_loss_kernel(p.spec(), bad.spec(), {}), {p, bad}, spec(DType::float32, {})),
                       doctest::Contains("label 7 is out of range for 3 classes"), Error);
  CHECK_THROWS_AS(nll_loss_kernel(p.spec(), spec(DType::int32, {2}), {}), Error);
  CHECK_THROWS_AS(loss_reduction("foo"), Error);
}
