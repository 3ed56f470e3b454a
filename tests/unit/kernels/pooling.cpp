// Pools: the places of maxima where values tie, are NaN or -inf.
#include <cstring>
#include <limits>

#include "runtime/kernels/block/extremes.hpp"
#include "runtime/kernels/image/pooling.hpp"
#include "runtime/kernels/image/window_sums.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

// Adds g at the first maximum of each window, by definition.
std::vector<double> by_definition(const Pool& p, const std::vector<double>& g, const std::vector<double>& x) {
  const auto& [d, h, w] = p.axes;
  std::vector<double> dx(x.size(), 0);
  size_t window = 0;
  for (int64_t od = 0; od < d.out; ++od)
    for (int64_t oh = 0; oh < h.out; ++oh)
      for (int64_t ow = 0; ow < w.out; ++ow, ++window) {
        int64_t best = -1;
        for (int64_t k = 0; k < d.kernel * h.kernel * w.kernel; ++k) {
          const int64_t id = d.place(od, k / (h.kernel * w.kernel)), ih = h.place(oh, k / w.kernel % h.kernel),
                        iw = w.place(ow, k % w.kernel);
          if (id < 0 || id >= d.in || ih < 0 || ih >= h.in || iw < 0 || iw >= w.in) continue;
          const int64_t at = (id * h.in + ih) * w.in + iw;
          const double v = x[static_cast<size_t>(at)];
          if (best >= 0 && std::isnan(x[static_cast<size_t>(best)])) continue;
          if (best < 0 || std::isnan(v) || v > x[static_cast<size_t>(best)]) best = at;
        }
        if (best >= 0) dx[static_cast<size_t>(best)] += g[window];
      }
  return dx;
}

WindowAxis axis(int64_t in, int64_t kernel, int64_t stride, int64_t padding) {
  WindowAxis a;
  a.in = in;
  a.kernel = kernel;
  a.stride = stride;
  a.padding_before = padding;
  a.out = (in + 2 * padding - kernel) / stride + 1;
  return a;
}

}  // namespace

TEST_CASE("the gradient of a pool goes to the first maximum, in the order of rows") {
  const double levels[] = {-inf, -1, 0, 0, 1, not_a_number};
  uint32_t state = 1;
  const auto draw = [&](uint32_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; };
  for (int trial = 0; trial < 60; ++trial) {
    Pool p;
    const auto some = [&](int64_t in) {
      const int64_t kernel = 1 + draw(3);
      return axis(in, kernel, 1 + draw(3), draw(static_cast<uint32_t>(kernel)));
    };
    p.axes = {some(3), some(4), some(11)};
    const auto size = static_cast<size_t>(input_size(p.axes)), windows = static_cast<size_t>(output_size(p.axes));
    std::vector<double> x, g;
    for (size_t i = 0; i < size; ++i) x.push_back(levels[draw(trial % 2 ? 6 : 5)]);
    for (size_t i = 0; i < windows; ++i) g.push_back(static_cast<double>(1 + i));
    const Shape given{p.axes[0].out, p.axes[1].out, p.axes[2].out}, wanted{3, 4, 11};
    for (DType dtype : {DType::float32, DType::float64}) {
      CAPTURE(trial);
      CHECK(numbers(run(max_pool_grad_kernel(dtype, p), {make(dtype, given, g), make(dtype, wanted, x)},
                        TensorSpec{wanted, dtype, {}})) == by_definition(p, g, x));
    }
  }
}

TEST_CASE("windows take their elements in order, with every instruction set") {
  uint32_t state = 7;
  const auto draw = [&] { return state = state * 1664525 + 1013904223; };
  const auto check = [&]<class T>(WindowFunctionsOf<T> WindowFunctions::*type, T) {
    // Rounded sums, zeros of both signs and a few numbers that are NaN.
    std::vector<T> x(600), weights(61);
    for (T& v : x)
      v = draw() % 4 ? static_cast<T>(static_cast<int32_t>(draw())) * T(0x1p-20) : draw() % 2 ? T(0) : -T(0);
    for (int i = 0; i < 9; ++i) x[draw() % 600] = std::numeric_limits<T>::quiet_NaN();
    for (T& v : weights) v = static_cast<T>(draw()) * T(0x1p-30);
    const auto larger_of = [](T a, T b) { return larger(a, b); };
    for (const WindowFunctions* f : usable_variants(window_functions_variants()))
      for (const int64_t stride : {1, 2, 3})
        for (const size_t count : {1, 3, 9})
          for (int64_t n = 0; n <= 60; ++n) {
            std::vector<const T*> starts;
            for (size_t i = 0; i < count; ++i) starts.push_back(x.data() + draw() % 400);
            std::vector<T> sums(61, T(-1)), largest = sums;
            (f->*type).sum({starts.data(), std::ssize(starts), stride, n, sums.data()}, weights.data());
            (f->*type).max({starts.data(), std::ssize(starts), stride, n, largest.data()});
            int64_t wrong = 0;
            for (int64_t o = 0; o < 61; ++o) {
              T sum = 0, most = o < n ? starts[0][o * stride] : T(-1);
              for (const T* start : starts) {
                if (o >= n) break;
                sum += start[o * stride];
                most = larger_of(most, start[o * stride]);
              }
              sum = o < n ? sum * weights[static_cast<size_t>(o)] : T(-1);
              const auto same = [](T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); };
              wrong += !same(sums[static_cast<size_t>(o)], sum) || !same(largest[static_cast<size_t>(o)], most);
            }
            CHECK(wrong == 0);
          }
  };
  check(&WindowFunctions::singles, 0.0F);
  check(&WindowFunctions::doubles, 0.0);
}
