// Softmax, normalisation and losses: values against definitions, gradients against differences.
#include "runtime/kernels/reduction/normalise.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

using Numbers = std::vector<double>;

namespace {

/// d sum(weights * f(x)) / dx by differences, in float64.
Numbers differences(const Array& x, const Array& weights, const std::function<Array(const Array&)>& f) {
  Numbers derivatives;
  for (int64_t i = 0; i < x.size(); ++i) {
    double side[2];
    for (int s = 0; s < 2; ++s) {
      Array moved = x.clone();
      moved.mutable_data<double>()[i] += s == 0 ? -1e-5 : 1e-5;
      const Array y = f(moved);
      side[s] = 0;
      for (int64_t j = 0; j < y.size(); ++j) side[s] += y.number(j) * weights.number(j);
    }
    derivatives.push_back((side[1] - side[0]) / 2e-5);
  }
  return derivatives;
}
void check_close(const Array& got, const Numbers& expected, double limit) {
  REQUIRE(static_cast<size_t>(got.size()) == expected.size());
  for (int64_t i = 0; i < got.size(); ++i) CHECK(close(got.number(i), expected[static_cast<size_t>(i)], limit));
}

}  // namespace

TEST_CASE("softmax and log-softmax, any axis, with gradients") {
  for (const auto& [shape, axis] :
       {std::pair<Shape, int64_t>{{3, 4, 5}, 0}, {{3, 4, 5}, 1}, {{3, 4, 5}, -1}, {{5, 300}, 0}, {{2, 3, 19}, 1}}) {
    for (DType dtype : floats) {
      const Array x = ramp(dtype, shape);
      const Array y = run(softmax_kernel(x.spec(), axis), {x}, x.spec()),
                  l = run(log_softmax_kernel(x.spec(), axis), {x}, x.spec());
      const size_t a = axis < 0 ? shape.size() - 1 : static_cast<size_t>(axis);
      const int64_t stride = strides_of(x.shape())[a], n = x.shape()[a];
      for (int64_t i = 0; i < x.size(); ++i) {
        const int64_t first = i - i / stride % n * stride;
        double sum = 0;
        for (int64_t k = 0; k < n; ++k) sum += std::exp(x.number(first + k * stride));
        CHECK(close(y.number(i), std::exp(x.number(i)) / sum, tolerance(dtype)));
        CHECK(close(l.number(i), x.number(i) - std::log(sum), tolerance(dtype)));
      }
    }
    if (element_count(shape) > 200) continue;
    const Array x = ramp(DType::float64, shape), g = ramp(DType::float64, shape, 3);
    const auto soft = [&, along = axis](const Array& v) { return run(softmax_kernel(v.spec(), along), {v}, v.spec()); };
    const auto log_soft = [&, along = axis](const Array& v) {
      return run(log_softmax_kernel(v.spec(), along), {v}, v.spec());
    };
    check_close(run(softmax_grad_kernel(x.spec(), axis), {g, soft(x)}, x.spec()), differences(x, g, soft), 1e-7);
    check_close(run(log_softmax_grad_kernel(x.spec(), axis), {g, log_soft(x)}, x.spec()), differences(x, g, log_soft),
                1e-7);
  }
  // Columns see NaN and infinities as rows do.
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
  CHECK(numbers(run(softmax_kernel(large.spec(), 0), {large}, large.spec())) == Numbers{0.5, 0.5});
  CHECK_THROWS_AS(softmax_kernel(spec(DType::int32, {2}), 0), Error);
  CHECK_THROWS_AS(softmax_kernel(spec(DType::float32, {2}), 1), Error);
}

TEST_CASE("group and layer normalisation with gradients") {
  const DType d = DType::float64;
  // Short and long channels.
  for (const int64_t n : {3, 19}) {
    const Array x = ramp(d, {2, 4, n}), w = make(d, {4}, {1, 2, -1, 0.5}), b = make(d, {4}, {0, 1, 2, 3}),
                g = ramp(d, {2, 4, n}, 5);
    const TensorSpec stats = spec(d, {4}), channels = spec(d, {4});
    const auto f = [&](const Array& v) {
      return run(group_norm_kernel(v.spec(), d, 2, 1e-5), {v, w, b}, {v.spec(), stats, stats})[0];
    };
    const auto y = run(group_norm_kernel(x.spec(), d, 2, 1e-5), {x, w, b}, {x.spec(), stats, stats});
    double mean = 0, square = 0;
    const int64_t row = 2 * n;
    for (int64_t i = 0; i < row; ++i) mean += x.number(i), square += x.number(i) * x.number(i);
    mean /= static_cast<double>(row), square /= static_cast<double>(row);
    CHECK(close(y[1].number(0), mean, 1e-13));
    CHECK(close(y[2].number(0), 1 / std::sqrt(square - mean * mean + 1e-5), 1e-13));
    CHECK(close(y[0].number(n), (x.number(n) - mean) / std::sqrt(square - mean * mean + 1e-5) * 2 + 1, 1e-9));
    const auto back =
        run(group_norm_grad_kernel(x.spec(), d, 2), {g, x, w, y[1], y[2]}, {x.spec(), channels, channels});
    check_close(back[0], differences(x, g, f), 1e-5);
    check_close(
        back[1],
        differences(w, g,
                    [&](const Array& v) {
                      return run(group_norm_kernel(x.spec(), d, 2, 1e-5), {x, v, b}, {x.spec(), stats, stats})[0];
                    }),
        1e-5);
    check_close(
        back[2],
        differences(b, g,
                    [&](const Array& v) {
                      return run(group_norm_kernel(x.spec(), d, 2, 1e-5), {x, w, v}, {x.spec(), stats, stats})[0];
                    }),
        1e-5);
    CHECK_THROWS_AS(group_norm_kernel(x.spec(), d, 3, 1e-5), Error);
    CHECK_THROWS_AS(group_norm_kernel(spec(d, {3}), d, 1, 1e-5), Error);
  }
  const Array x = ramp(d, {2, 4, 3}), w = make(d, {4}, {1, 2, -1, 0.5}), b = make(d, {4}, {0, 1, 2, 3});
  // Layer normalisation in float16 with float32 parameters.
  const Array h = ramp(DType::float16, {2, 3, 4}), wf = w.cast(DType::float32), bf = b.cast(DType::float32);
  const TensorSpec rows = spec(DType::float32, {6});
  const auto l = run(layer_norm_kernel(h.spec(), DType::float32, 1e-5), {h, wf, bf}, {h.spec(), rows, rows});
  double m = 0, v = 0;
  for (int64_t i = 0; i < 4; ++i) m += h.number(i) / 4;
  for (int64_t i = 0; i < 4; ++i) v += (h.number(i) - m) * (h.number(i) - m) / 4;
  CHECK(close(l[0].number(2), (h.number(2) - m) / std::sqrt(v + 1e-5) * -1 + 2, 2e-3));
  const Array scale = make(d, {4}, {2, 2, 2, 2}), var = make(d, {4}, {4, 4, 4, 4});
  const Array bn = run(batch_norm_kernel(x.spec(), d, 0.0), {x, scale, b, w, var}, x.spec());
  CHECK(close(bn.number(5), (x.number(5) - 2) + 1, 1e-12));
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

TEST_CASE("negative log-likelihood") {
  const Array p = make(DType::float32, {2, 2, 3}, {0.2, 0.3, 0.5, 0.1, 0.8, 0.1, 0.6, 0.2, 0.2, 0, 1, 0});
  const Array labels = make(DType::int32, {2, 2}, {2, 1, 0, 0});
  const double l[] = {-std::log(0.5), -std::log(0.8), -std::log(0.6), -std::log(1e-7)};
  const auto loss = [&](NllOptions o) {
    return run(nll_loss_kernel(p.spec(), labels.spec(), o), {p, labels}, spec(DType::float32, {})).number(0);
  };
  CHECK(close(loss({}), (l[0] + l[1] + l[2] + l[3]) / 4, 1e-6));
  CHECK(close(loss({LossReduction::sum}), l[0] + l[1] + l[2] + l[3], 1e-6));
  CHECK(close(loss({LossReduction::mean, 0}), (l[0] + l[1]) / 2, 1e-6));
  check_close(
      run(nll_loss_kernel(p.spec(), labels.spec(), {LossReduction::none}), {p, labels}, spec(DType::float32, {2, 2})),
      {l[0], l[1], l[2], l[3]}, 1e-6);
  const Array one = make(DType::float32, {}, {2});
  const Array grad =
      run(nll_loss_grad_kernel(p.spec(), labels.spec(), {LossReduction::mean, 0}), {one, p, labels}, p.spec());
  check_close(grad, {0, 0, -2 / 0.5 / 2, 0, -2 / 0.8 / 2, 0, 0, 0, 0, 0, 0, 0}, 1e-6);
  // The mean's gradient divides by the first extent alone; the loss by all labels, and uses log(p + 1e-7).
  const auto both = run(nll_loss_with_softmax_grad_kernel(p.spec(), labels.spec(), DType::float32, {}),
                        {p, labels, one}, {spec(DType::float32, {}), p.spec()});
  CHECK(close(both[0].number(0), (l[0] + l[1] + l[2] + l[3]) / 4, 1e-6));
  CHECK(close(both[1].number(2), (0.5 - 1) * 2 / 2, 1e-6));
  CHECK(close(both[1].number(9), (0 - 1.0) * 2 / 2, 1e-6));
  const auto some =
      run(nll_loss_with_softmax_grad_kernel(p.spec(), labels.spec(), DType::float32, {LossReduction::mean, 0}),
          {p, labels, one}, {spec(DType::float32, {}), p.spec()});
  CHECK(close(some[1].number(2), (0.5 - 1) * 2 / 2, 1e-6));
  CHECK(some[1].number(9) == 0);
  const Array bad = make(DType::int32, {2, 2}, {2, 1, 7, 0});
  CHECK_THROWS_WITH_AS(run(nll_loss_kernel(p.spec(), labels.spec(), {}), {p, bad}, spec(DType::float32, {})),
                       doctest::Contains("label 7 is out of range for 3 classes"), Error);
  CHECK_THROWS_AS(nll_loss_kernel(p.spec(), spec(DType::int32, {2}), {}), Error);
  CHECK_THROWS_AS(loss_reduction("foo"), Error);
}
