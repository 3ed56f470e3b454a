// Convolutions by each way of computing them against sums in double, and in bits however they are divided.
#include "runtime/kernels/convolution/convolution.hpp"

#include <map>
#include <string_view>

#include "runtime/base/div_up.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/convolution/direct_table.hpp"
#include "runtime/kernels/convolution/ways.hpp"
#include "runtime/kernels/convolution/winograd.hpp"
#include "runtime/kernels/convolution/winograd_table.hpp"
#include "runtime/kernels/gemm/gemm.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// Calls f(pass, plain, biased) with the kernels of a way for each pass that it supports, without a bias and with one;
/// weight gradients have none. Returns the number of passes.
template <class F>
int each_pass(const ConvolutionWay& way, const Convolution& c, F&& f) {
  int supported = 0;
  for (const auto pass : {&ConvolutionWay::outputs, &ConvolutionWay::data_grad, &ConvolutionWay::weights_grad}) {
    if (!std::isfinite((way.*pass).ns(c))) continue;
    const auto plain = (way.*pass).make(c, false);
    if (plain) f(pass, *plain, *(way.*pass).make(c, pass != &ConvolutionWay::weights_grad)), ++supported;
  }
  return supported;
}

Convolution square(int64_t batch, int64_t cin, int64_t cout, int64_t in, int64_t kernel, int64_t stride,
                   int64_t dilation, int64_t padding) {
  const int64_t out = (in + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
  const WindowAxis axis{in, kernel, stride, dilation, padding, out};
  return {batch, 1, cin, cout, {WindowAxis{}, axis, axis}};
}

struct Operands {
  TensorSpec x, w, y;
  explicit Operands(const Convolution& c)
      : x(spec(DType::float32, {c.batch, c.cin, c.axes[1].in, c.axes[2].in})),
        w(spec(DType::float32, {c.cout, c.cin, c.axes[1].kernel, c.axes[2].kernel})),
        y(spec(DType::float32, {c.batch, c.cout, c.axes[1].out, c.axes[2].out})) {}
};

/// f(index in x, in w, in y) for each product of the convolution.
template <class F>
void each_term(const Convolution& c, F&& f) {
  const WindowAxis &h = c.axes[1], &w = c.axes[2];
  for (int64_t s = 0; s < c.batch; ++s)
    for (int64_t o = 0; o < c.cout; ++o)
      for (int64_t i = 0; i < c.cin; ++i)
        for (int64_t p = 0; p < h.out; ++p)
          for (int64_t q = 0; q < w.out; ++q)
            for (int64_t a = 0; a < h.kernel; ++a)
              for (int64_t b = 0; b < w.kernel; ++b) {
                const int64_t row = h.place(p, a), column = w.place(q, b);
                if (row < 0 || row >= h.in || column < 0 || column >= w.in) continue;
                f(((s * c.cin + i) * h.in + row) * w.in + column, ((o * c.cin + i) * h.kernel + a) * w.kernel + b,
                  ((s * c.cout + o) * h.out + p) * w.out + q);
              }
}

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

void check_close(const Array& got, const std::vector<double>& wanted, int64_t terms) {
  double worst = 0;
  for (int64_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::fabs(got.number(i) - wanted[static_cast<size_t>(i)]));
  // Winograd's transforms round even a sum of one term several times, without FMA more often.
  CHECK(worst < 2e-6 * static_cast<double>(terms) + 4e-6);
}

std::vector<Convolution> cases() {
  Convolution oblong = square(3, 8, 16, 9, 3, 1, 2, 2);  // dilated along one axis, of even extent
  oblong.axes[2] = {10, 3, 1, 1, 1, 10};
  Convolution uneven = square(3, 24, 17, 11, 4, 2, 1, 1);  // other kernels and padding along one axis
  uneven.axes[2] = {15, 3, 2, 1, 2, 8};
  return {square(1, 16, 32, 9, 3, 1, 1, 1),
          square(9, 32, 16, 8, 3, 2, 1, 1),
          square(2, 128, 128, 5, 3, 1, 1, 1),
          square(3, 20, 24, 11, 3, 1, 2, 2),
          square(17, 16, 16, 4, 2, 2, 1, 0),
          square(2, 3, 40, 13, 5, 2, 1, 2),
          square(1, 64, 256, 4, 3, 1, 1, 1),
          square(40, 16, 16, 6, 3, 1, 1, 0),
          square(5, 48, 64, 7, 3, 3, 1, 0),
          square(4, 17, 33, 6, 1, 2, 1, 0),
          square(2, 16, 16, 12, 3, 1, 1, 2),
          square(1, 16, 16, 3, 3, 1, 1, 0),
          square(5, 33, 70, 13, 3, 1, 1, 1),
          square(3, 16, 128, 40, 3, 1, 1, 1),
          square(2, 16, 16, 14, 3, 2, 1, 1),
          square(3, 24, 40, 7, 1, 1, 1, 0),
          square(2, 70, 16, 13, 1, 1, 1, 0),
          square(3, 24, 80, 1, 1, 1, 1, 0),
          square(1, 20, 150, 20, 1, 1, 1, 0),
          square(2, 18, 24, 14, 3, 1, 3, 3),
          square(1, 16, 17, 16, 3, 1, 2, 4),
          square(3, 16, 20, 16, 4, 2, 1, 1),
          square(2, 7, 33, 9, 4, 2, 1, 0),
          square(17, 20, 16, 8, 4, 2, 1, 1),
          square(1, 5, 16, 66, 4, 2, 1, 1),
          square(1, 3, 2, 130, 4, 2, 1, 3),
          square(2, 18, 70, 13, 5, 2, 1, 2),
          square(2, 64, 128, 12, 6, 2, 1, 2),
          oblong,
          uneven};
}

}  // namespace

TEST_CASE("convolutions and their gradients agree with sums in double, and in bits however they are divided") {
  std::map<std::string_view, int> supported;  // passes of each way
  for (const Convolution& c : cases()) {
    CAPTURE(c.batch);
    CAPTURE(c.cin);
    CAPTURE(c.cout);
    CAPTURE(c.axes[1].in);
    CAPTURE(c.axes[1].stride);
    const Operands o(c);
    const Array x = ramp(DType::float32, o.x.shape, 1), w = ramp(DType::float32, o.w.shape, 2),
                dy = ramp(DType::float32, o.y.shape, 3);
    std::vector<double> y(static_cast<size_t>(dy.size())), dx(static_cast<size_t>(x.size())),
        dw(static_cast<size_t>(w.size()));
    each_term(c, [&](int64_t i, int64_t k, int64_t r) {
      y[static_cast<size_t>(r)] += x.number(i) * w.number(k);
      dx[static_cast<size_t>(i)] += dy.number(r) * w.number(k);
      dw[static_cast<size_t>(k)] += dy.number(r) * x.number(i);
    });
    const int64_t taps = kernel_size(c.axes);
    const auto outputs = [&](const Kernel& k) { check_close(check_divided(k, {x, w}, {o.y})[0], y, c.cin * taps); };
    const auto data = [&](const Kernel& k) { check_close(check_divided(k, {dy, w}, {o.x})[0], dx, c.cout * taps); };
    const auto weights = [&](const Kernel& k) {
      check_close(check_divided(k, {dy, x}, {o.w})[0], dw, c.batch * output_size(c.axes));
    };
    outputs(convolution_kernel(DType::float32, c));
    data(convolution_data_grad_kernel(DType::float32, c));
    weights(convolution_weights_grad_kernel(DType::float32, c));
    for (const ConvolutionWay& way : convolution_ways()) {
      CAPTURE(way.name);
      supported[way.name] += each_pass(way, c, [&](auto pass, const Kernel& k, const Kernel&) {
        pass == &ConvolutionWay::outputs ? outputs(k) : pass == &ConvolutionWay::data_grad ? data(k) : weights(k);
      });
    }
  }
  CHECK(supported["winograd"] == 57);
  CHECK(supported["dilated"] == 12);
  CHECK(supported["channels_last"] == 61);
  // oneDNN has no vector code for convolutions before AVX2.
  if (library_computes_products() && has_avx2() && supported.contains("primitive")) CHECK(supported["primitive"] >= 20);
}

TEST_CASE("the way with the shortest expected time computes a convolution") {
  for (const Convolution& c : cases())
    for (const auto pass : {&ConvolutionWay::outputs, &ConvolutionWay::data_grad, &ConvolutionWay::weights_grad}) {
      double shortest = std::numeric_limits<double>::infinity(), cost = 0;
      for (const ConvolutionWay& way : convolution_ways())
        if (const double ns = (way.*pass).ns(c); ns < shortest)
          if (const auto kernel = (way.*pass).make(c, false)) shortest = ns, cost = kernel->cost_ns();
      CHECK(fastest_kernel(pass, c).cost_ns() == cost);
    }
}

// If kernels are many and tiles few, kernels are transformed when they are used. The shapes are those of outputs, and
// of the data's gradients by transposed transforms and with turned kernels.
TEST_CASE("Winograd's convolutions of many weights and few tiles agree with sums in double, however divided") {
  const Convolution outputs[] = {square(1, 56, 512, 4, 6, 2, 1, 2), square(2, 232, 512, 2, 3, 1, 1, 1)},
                    gradients[] = {square(1, 256, 128, 4, 6, 2, 1, 2), square(1, 512, 232, 2, 3, 1, 1, 1)};
  const auto check = [](const Convolution& c, bool gradient) {
    CAPTURE(c.cin);
    CAPTURE(gradient);
    const Operands o(c);
    const TensorSpec &from = gradient ? o.y : o.x, &to = gradient ? o.x : o.y;
    const Array data = ramp(DType::float32, from.shape, 1), w = ramp(DType::float32, o.w.shape, 2);
    const Kernel k = gradient ? *winograd_data_grad_kernel(c) : *winograd_convolution_kernel(c);
    CHECK(k.phases()[1].iterations == 16);  // columns of the sums, 32 or 64 at a time
    const std::vector<double> numbers_of_data = numbers(data), numbers_of_w = numbers(w);
    std::vector<double> sums(static_cast<size_t>(element_count(to.shape)));
    each_term(c, [&](int64_t i, int64_t tap, int64_t r) {
      if (gradient) std::swap(i, r);
      sums[static_cast<size_t>(r)] += numbers_of_data[static_cast<size_t>(i)] * numbers_of_w[static_cast<size_t>(tap)];
    });
    check_close(check_divided(k, {data, w}, {to})[0], sums, (gradient ? c.cout : c.cin) * kernel_size(c.axes));
  };
  for (const Convolution& c : outputs) check(c, false);
  for (const Convolution& c : gradients) check(c, true);
}

TEST_CASE("depthwise convolutions with channels in lanes agree with sums in double, and in bits however divided") {
  const auto depthwise = [](int64_t batch, int64_t channels, int64_t in, int64_t kernel, int64_t stride,
                            int64_t dilation, int64_t padding) {
    Convolution c = square(batch, 1, 1, in, kernel, stride, dilation, padding);
    c.groups = channels;
    return c;
  };
  Convolution oblong = depthwise(3, 5, 11, 3, 2, 1, 1);
  oblong.axes[2] = {6, 2, 1, 2, 3, 10};  // more padding than the kernel reaches back
  for (const Convolution& c :
       {depthwise(2, 16, 8, 3, 1, 1, 1), depthwise(3, 37, 8, 3, 2, 1, 1), depthwise(1, 2, 4, 3, 1, 1, 0),
        depthwise(20, 33, 7, 5, 1, 1, 2), depthwise(2, 18, 10, 3, 3, 1, 0), depthwise(2, 7, 9, 2, 1, 3, 1),
        depthwise(5, 16, 5, 5, 2, 1, 2), depthwise(2, 3, 19, 5, 1, 1, 2), depthwise(2, 5, 35, 5, 2, 1, 2),
        depthwise(2, 3, 20, 7, 1, 1, 3), depthwise(1, 3, 18, 7, 2, 1, 0), depthwise(1, 2, 35, 3, 1, 1, 1),
        depthwise(1, 3, 27, 3, 1, 2, 1), oblong}) {
    CAPTURE(c.groups);
    CAPTURE(c.axes[1].in);
    CAPTURE(c.axes[1].stride);
    REQUIRE(std::isfinite(depthwise_outputs_ns(c)));
    const Shape in{c.batch, c.groups, c.axes[1].in, c.axes[2].in}, out{c.batch, c.groups, c.axes[1].out, c.axes[2].out},
        kernel{c.groups, 1, c.axes[1].kernel, c.axes[2].kernel};
    const Array x = ramp(DType::float32, in, 1), w = ramp(DType::float32, kernel, 2), dy = ramp(DType::float32, out, 3);
    std::vector<double> y(static_cast<size_t>(dy.size())), dx(static_cast<size_t>(x.size())),
        dw(static_cast<size_t>(w.size()));
    Convolution one = c;  // a channel
    one.batch = one.groups = 1;
    const int64_t taps = kernel_size(c.axes);
    for (int64_t plane = 0; plane < c.batch * c.groups; ++plane)
      each_term(one, [&](int64_t i, int64_t k, int64_t r) {
        const int64_t at = plane * input_size(c.axes) + i, tap = plane % c.groups * taps + k,
                      to = plane * output_size(c.axes) + r;
        y[static_cast<size_t>(to)] += x.number(at) * w.number(tap);
        dx[static_cast<size_t>(at)] += dy.number(to) * w.number(tap);
        dw[static_cast<size_t>(tap)] += dy.number(to) * x.number(at);
      });
    const TensorSpec of_x = spec(DType::float32, in), of_w = spec(DType::float32, kernel),
                     of_y = spec(DType::float32, out);
    // A bias of channels, also of the convolution that is transposed.
    const Array bias = ramp(DType::float32, {c.groups}, 4);
    const auto biased = [&](std::vector<double> sums, int64_t plane) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += bias.number(static_cast<int64_t>(i) / plane % c.groups);
      return sums;
    };
    // Processors choose between rows and channels in lanes, so both have the same bits, but for gradients with strides.
    Array of_rows[2];
    for (const ConvolutionWay& way : convolution_ways()) {
      CAPTURE(way.name);
      each_pass(way, c, [&](auto pass, const Kernel& plain, const Kernel& with_bias) {
        if (way.name == "direct" || way.name == "depthwise") {
          const bool gradient = pass == &ConvolutionWay::data_grad;
          if (pass != &ConvolutionWay::weights_grad && (!gradient || c.axes[1].stride * c.axes[2].stride == 1)) {
            const Array got = run(plain, {gradient ? dy : x, w}, gradient ? of_x : of_y);
            Array& other = of_rows[gradient ? 1 : 0];
            if (other.size() == got.size())
              CHECK(std::memcmp(got.raw(), other.raw(), static_cast<size_t>(got.size()) * sizeof(float)) == 0);
            other = got;
          }
        }
        if (pass == &ConvolutionWay::weights_grad)
          return check_close(check_divided(plain, {dy, x}, {of_w})[0], dw, c.batch * output_size(c.axes));
        const bool is_output = pass == &ConvolutionWay::outputs;
        const Array& data = is_output ? x : dy;
        const TensorSpec& to = is_output ? of_y : of_x;
        check_close(check_divided(plain, {data, w}, {to})[0], is_output ? y : dx, taps);
        check_close(check_divided(with_bias, {data, w, bias}, {to})[0],
                    is_output ? biased(y, output_size(c.axes)) : biased(dx, input_size(c.axes)), taps);
      });
    }
  }
}

TEST_CASE("a bias is added after the sums, with the bits of an addition") {
  std::vector<Convolution> grouped = cases();
  for (int64_t groups : {2, 16}) {  // several channels of a group, and depthwise
    Convolution c = square(3, 32 / groups, 32 / groups, 9, 3, 1, 1, 1);
    c.groups = groups;
    grouped.push_back(c);
  }
  for (const Convolution& c : grouped) {
    CAPTURE(c.groups);
    CAPTURE(c.cin);
    CAPTURE(c.cout);
    CAPTURE(c.axes[1].kernel);
    const int64_t in = c.groups * c.cin, out = c.groups * c.cout;
    const auto image = [&](int64_t channels, bool of_result) {
      const auto extent = [&](const WindowAxis& a) { return of_result ? a.out : a.in; };
      return Shape{c.batch, channels, extent(c.axes[1]), extent(c.axes[2])};
    };
    for (DType dtype : {DType::float32, DType::float64}) {
      const Array x = ramp(dtype, image(in, false), 1), dy = ramp(dtype, image(out, true), 3);
      const Array w = ramp(dtype, {out, c.cin, c.axes[1].kernel, c.axes[2].kernel}, 2);
      const Array b = ramp(dtype, {out}, 4), back = ramp(dtype, {in}, 5);
      const auto check = [&](const Kernel& plain, const Kernel& biased, const Array& data, const Array& bias,
                             const TensorSpec& result) {
        const Array sums = check_divided(plain, {data, w}, {result})[0];
        const Array got = check_divided(biased, {data, w, bias}, {result})[0];
        const int64_t plane = result.shape[2] * result.shape[3], channels = result.shape[1];
        int64_t wrong = 0;
        for (int64_t i = 0; i < got.size(); ++i) {
          const double sum = sums.number(i) + bias.number(i / plane % channels);
          wrong += got.number(i) != (dtype == DType::float32 ? static_cast<double>(static_cast<float>(sum)) : sum);
        }
        CHECK(wrong == 0);
      };
      check(convolution_kernel(dtype, c), convolution_kernel(dtype, c, true), x, b, dy.spec());
      check(convolution_data_grad_kernel(dtype, c), convolution_data_grad_kernel(dtype, c, true), dy, back, x.spec());
      if (dtype != DType::float32) continue;
      for (const ConvolutionWay& way : convolution_ways()) {
        CAPTURE(way.name);
        each_pass(way, c, [&](auto pass, const Kernel& plain, const Kernel& biased) {
          if (pass == &ConvolutionWay::outputs) check(plain, biased, x, b, dy.spec());
          if (pass == &ConvolutionWay::data_grad) check(plain, biased, dy, back, x.spec());
        });
      }
    }
  }
  // Sums without terms are the bias alone.
  const Convolution empty{2, 1, 0, 3, {WindowAxis{}, WindowAxis{}, WindowAxis{4, 1, 1, 1, 0, 4}}};
  const Array bias = ramp(DType::float32, {3}, 6);
  const Array y = check_divided(convolution_kernel(DType::float32, empty, true),
                                {Array(DType::float32, {2, 0, 4}), Array(DType::float32, {3, 0, 1}), bias},
                                {spec(DType::float32, {2, 3, 4})})[0];
  const Array within = check_divided((*convolution_kernel(DType::float32, empty, true).finished())({0.25F, 0.5F}),
                                     {Array(DType::float32, {2, 0, 4}), Array(DType::float32, {3, 0, 1}), bias},
                                     {spec(DType::float32, {2, 3, 4})})[0];
  for (int64_t i = 0; i < y.size(); ++i) {
    CHECK(y.number(i) == bias.number(i / 4 % 3));
    CHECK(within.number(i) == std::clamp(y.number(i), 0.25, 0.5));
  }
}

TEST_CASE("an addend and bounds of a convolution have the bits of a sum and bounds that follow it") {
  std::vector<Convolution> given = cases();
  for (int64_t groups : {2, 16}) {
    given.push_back(square(3, 32 / groups, 32 / groups, 9, 3, 1, 1, 1));
    given.back().groups = groups;
  }
  for (const Convolution& c : given)
    for (const bool bias : {false, true})
      for (const auto& [low, high] : {std::pair{0.0F, static_cast<float>(inf)}, {0.0F, 0.125F}, {-0.5F, -0.25F}}) {
        CAPTURE(c.cin);
        CAPTURE(c.cout);
        CAPTURE(c.axes[1].kernel);
        CAPTURE(low);
        Array x = ramp(DType::float32, {c.batch, c.groups * c.cin, c.axes[1].in, c.axes[2].in}, 1);
        // A result that is not a number, and results that are -0 without a bias.
        x.mutable_data<float>()[0] = static_cast<float>(not_a_number);
        for (int64_t i = x.size() / 2; i < x.size(); ++i) x.mutable_data<float>()[i] = -0.0F;
        Array w = ramp(DType::float32, {c.groups * c.cout, c.cin, c.axes[1].kernel, c.axes[2].kernel}, 2);
        std::vector<Array> operands = {x, w};
        if (bias) operands.push_back(ramp(DType::float32, {c.groups * c.cout}, 4));
        const TensorSpec result = spec(DType::float32, {c.batch, c.groups * c.cout, c.axes[1].out, c.axes[2].out});
        const Array addend = ramp(DType::float32, result.shape, 7);
        std::vector<Array> more = operands;
        more.push_back(addend);
        const SumFinish finishes[] = {{low, high}, {low, high, true}, {.hard_swish = true}};
        const auto check = [&](const Kernel& kernel, const Kernel& finished, const SumFinish& f) {
          const bool adds = f.adds;
          CAPTURE(adds);
          const Array sums = check_divided(kernel, operands, {result})[0];
          const Array got = check_divided(finished, adds ? more : operands, {result})[0];
          int64_t wrong = 0;
          for (int64_t i = 0; i < got.size(); ++i) {
            const float sum = sums.data<float>()[i] + (adds ? addend.data<float>()[i] : -0.0F);
            const float bounded = sum <= f.low ? f.low : sum >= f.high ? f.high : sum;
            const float line = (sum + 3.0F) / 6.0F;
            const float wanted = f.hard_swish ? sum * (line < 0 ? 0 : line > 1 ? 1 : line) : bounded;
            wrong += std::memcmp(&got.data<float>()[i], &wanted, sizeof wanted) != 0;
          }
          CHECK(wrong == 0);
        };
        const Kernel whole = convolution_kernel(DType::float32, c, bias);
        for (const SumFinish& f : finishes) check(whole, (*whole.finished())(f), f);
        for (const ConvolutionWay& way : convolution_ways()) {
          CAPTURE(way.name);
          if (!std::isfinite(way.outputs.ns(c))) continue;
          const auto kernel = way.outputs.make(c, bias);
          for (const SumFinish& f : finishes) {
            Convolution with_finish = c;
            with_finish.finish = f;
            if (kernel) check(*kernel, *way.outputs.make(with_finish, bias), f);
          }
        }
      }
}

TEST_CASE("Winograd's transforms write nothing beside their results, with the same bits wherever there is FMA") {
  static constexpr float untouched = -1e30F;
  const std::vector<const WinogradTable*> variants = usable_variants(winograd_variants());
  const Array numbers = ramp(DType::float32, {400000}, 1);
  const float* data = reinterpret_cast<const float*>(numbers.raw());
  for (size_t number = 0; number < variants[0]->size(); ++number)
    for (const int64_t extent : {1, 2, 5, 8, 31, 33})
      for (const int64_t channels : {1, 4, 11, 16}) {
        const WinogradForm form = (*variants[0])[number].form;
        CAPTURE(form.outputs);
        CAPTURE(form.taps);
        CAPTURE(form.step);
        CAPTURE(extent);
        CAPTURE(channels);
        WinogradTiles t{.form = form, .rows = 15, .columns = extent, .before_rows = 1, .before_columns = 2, .first = 1};
        t.down = 2, t.across = div_up(extent, form.outputs);
        const int64_t first_row = form.outputs, last_row = 3 * form.outputs;  // of outputs
        // Whole vectors of channels are written, and the numbers after them are not.
        const int64_t tile = winograd_channels * form.phases() + 4, plane = 15 * extent + 3,
                      position = t.count() * tile + 5;
        const WinogradChannels c{channels, plane, position, tile};
        const int64_t side = form.step * form.taps;
        const WinogradKernels k{.n = channels,
                                .distance = side * side + 1,
                                .rows = side,
                                .columns = side - form.step + 1,
                                .turned = form.step == 1};
        const int64_t phases[] = {0, winograd_channels, 2 * winograd_channels, 3 * winograd_channels};
        std::vector<std::vector<float>> results;
        for (const WinogradTable* table : variants) {
          const WinogradFunctions* f = &(*table)[number];
          REQUIRE(f->form == form);
          const auto filled = [](int64_t n) { return std::vector<float>(static_cast<size_t>(n), untouched); };
          std::vector<float> scratch = filled(t.scratch()), inputs = filled(form.positions() * position),
                             gradients = inputs, planes = filled(channels * plane), spread = planes,
                             kernels = filled(form.positions() * tile),
                             weights = filled(k.rows * k.columns * channels + 1);
          f->inputs(t, c, data, inputs.data(), scratch.data());
          f->gradients(t, c, true, data, gradients.data(), scratch.data());
          f->outputs(t, c, data, {{}, data}, planes.data(), scratch.data());
          f->data(t, c, t.pitch(), t.pitch() + 5, data, {{}, data}, spread.data(), scratch.data());
          f->kernels(k, data, kernels.data(), tile, phases);
          f->weights(k, data, tile, weights.data());
          std::vector<float> result;
          for (const auto* all : {&inputs, &gradients})
            for (int64_t p = 0; p < form.positions(); ++p)
              for (int64_t i = 0; i < t.count(); ++i) {
                const auto at = all->begin() + p * position + i * tile;
                const int64_t written = all == &inputs ? form.phases() : 1;
                for (int64_t phase = 0; phase < written; ++phase)
                  result.insert(result.end(), at + phase * winograd_channels,
                                at + phase * winograd_channels + channels);
                CHECK(at[written * winograd_channels] == untouched);
              }
          for (int64_t p = 0; p < form.positions(); ++p) {
            const auto at = kernels.begin() + p * tile;
            for (int64_t phase = 0; phase < form.phases(); ++phase)
              result.insert(result.end(), at + phase * winograd_channels, at + phase * winograd_channels + channels);
            CHECK(at[form.phases() * winograd_channels] == untouched);
          }
          const auto check_rows = [&](const std::vector<float>& all, int64_t begin, int64_t end) {
            int64_t wrong = 0;
            for (int64_t i = 0; i < std::ssize(all); ++i)
              wrong += (all[static_cast<size_t>(i)] == untouched) !=
                       (i % plane < begin * extent || i % plane >= end * extent);
            CHECK(wrong == 0);
          };
          check_rows(planes, first_row, last_row);
          check_rows(spread, t.pitch(), t.pitch() + 5);
          CHECK(weights.back() == untouched);
          for (const auto* more : {&planes, &spread, &weights}) result.insert(result.end(), more->begin(), more->end());
          results.push_back(result);
        }
        for (size_t v = 1; v < results.size(); ++v) {
          if (v > 1) CHECK(results[v] == results[1]);  // the first one has no FMA
          double worst = 0;
          for (size_t i = 0; i < results[0].size(); ++i)
            worst = std::max(worst, std::fabs(static_cast<double>(results[v][i] - results[0][i])));
          CHECK(worst < 1e-4);
        }
      }
}

// The bound in docs/numerics.md, in rounding units of the sum over the terms' absolute values. Terms of random signs:
// their sums are far smaller, so that errors of cancellation show.
TEST_CASE("errors of convolutions in groups, by each way, are within the documented bound") {
  for (Convolution c :
       {square(2, 16, 16, 12, 3, 1, 1, 1), square(1, 96, 64, 9, 3, 1, 1, 1), square(2, 16, 16, 13, 4, 2, 1, 1),
        square(1, 96, 64, 8, 4, 2, 1, 1), square(9, 40, 24, 16, 4, 2, 1, 1), square(3, 64, 32, 13, 5, 2, 1, 2)}) {
    c.groups = c.cin == 16 ? 2 : 1;
    CAPTURE(c.cin);
    CAPTURE(c.axes[1].kernel);
    const Shape in{c.batch, c.groups * c.cin, c.axes[1].in, c.axes[2].in},
        out{c.batch, c.groups * c.cout, c.axes[1].out, c.axes[2].out},
        kernel{c.groups * c.cout, c.cin, c.axes[1].kernel, c.axes[2].kernel};
    const Array x = ramp(DType::float32, in, 1), w = ramp(DType::float32, kernel, 2), dy = ramp(DType::float32, out, 3);
    const auto zeros = [](const Array& a) { return std::vector<double>(static_cast<size_t>(a.size())); };
    std::vector<double> y = zeros(dy), dx = zeros(x), dw = zeros(w), y_size = y, dx_size = dx, dw_size = dw;
    Convolution one = c;
    one.batch = one.groups = 1;
    const int64_t x_part = c.cin * input_size(c.axes), w_part = c.cin * c.cout * kernel_size(c.axes),
                  y_part = c.cout * output_size(c.axes);
    for (int64_t part = 0; part < c.batch * c.groups; ++part)
      each_term(one, [&](int64_t i, int64_t k, int64_t r) {
        i += part * x_part, k += part % c.groups * w_part, r += part * y_part;
        const auto add = [](std::vector<double>& sum, std::vector<double>& size, int64_t at, double term) {
          sum[static_cast<size_t>(at)] += term;
          size[static_cast<size_t>(at)] += std::fabs(term);
        };
        add(y, y_size, r, x.number(i) * w.number(k));
        add(dx, dx_size, i, dy.number(r) * w.number(k));
        add(dw, dw_size, k, dy.number(r) * x.number(i));
      });
    const auto check = [](const Kernel& k, const Array& a, const Array& b, const Array& like,
                          const std::vector<double>& sums, const std::vector<double>& sizes) {
      const Array got = check_divided(k, {a, b}, {like.spec()})[0];
      const double unit = *std::max_element(sizes.begin(), sizes.end()) * std::numeric_limits<float>::epsilon();
      double worst = 0;
      for (int64_t i = 0; i < got.size(); ++i)
        worst = std::max(worst, std::fabs(got.number(i) - sums[static_cast<size_t>(i)]));
      CHECK(worst / unit < 8);
    };
    for (const ConvolutionWay& way : convolution_ways()) {
      CAPTURE(way.name);
      each_pass(way, c, [&](auto pass, const Kernel& k, const Kernel&) {
        if (pass == &ConvolutionWay::outputs) check(k, x, w, dy, y, y_size);
        if (pass == &ConvolutionWay::data_grad) check(k, dy, w, x, dx, dx_size);
        if (pass == &ConvolutionWay::weights_grad) check(k, dy, x, w, dw, dw_size);
      });
    }
  }
}
