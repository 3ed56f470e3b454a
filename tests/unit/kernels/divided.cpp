// Kernels that are divided among threads: the bits do not depend on how.
#include "runtime/kernels/elementwise/broadcast.hpp"
#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/kernels/reduction/normalise.hpp"
#include "runtime/kernels/reduction/reduce.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

constexpr DType floating[] = {DType::float16, DType::float32, DType::float64};

}  // namespace

TEST_CASE("softmax and its relatives") {
  for (DType dtype : floating)
    for (int64_t axis : {0, 1, 2}) {
      const TensorSpec x = spec(dtype, {9, 70, 40});
      const Array a = ramp(dtype, x.shape, 1), g = ramp(dtype, x.shape, 2);
      const Array y = check_divided(softmax_kernel(x, axis), {a}, {x})[0];
      check_divided(softmax_grad_kernel(x, axis), {g, y}, {x});
      const Array z = check_divided(log_softmax_kernel(x, axis), {a}, {x})[0];
      check_divided(log_softmax_grad_kernel(x, axis), {g, z}, {x});
    }
}

TEST_CASE("normalisation") {
  for (DType dtype : floating) {
    const TensorSpec rows = spec(dtype, {70, 50}), image = spec(dtype, {5, 12, 6, 7});
    const auto statistics = [&](int64_t n) { return spec(dtype == DType::float64 ? dtype : DType::float32, {n}); };
    const auto both = [&](const Kernel& forward, const Kernel& backward, const TensorSpec& x, int64_t n,
                          int64_t channels) {
      const TensorSpec c = spec(dtype, {channels});
      const Array a = ramp(dtype, x.shape, 1), w = ramp(dtype, c.shape, 2), bias = ramp(dtype, c.shape, 3);
      const auto y = check_divided(forward, {a, w, bias}, {x, statistics(n), statistics(n)});
      check_divided(backward, {ramp(dtype, x.shape, 4), a, w, y[1], y[2]}, {x, c, c});
    };
    both(layer_norm_kernel(rows, dtype, 1e-5), layer_norm_grad_kernel(rows, dtype), rows, 70, 50);
    both(group_norm_kernel(image, dtype, 3, 1e-5), group_norm_grad_kernel(image, dtype, 3), image, 15, 12);
    both(group_norm_kernel(rows, dtype, 5, 1e-5), group_norm_grad_kernel(rows, dtype, 5), rows, 350, 50);
  }
}

TEST_CASE("reductions") {
  constexpr Reduction all[] = {Reduction::sum,       Reduction::mean,    Reduction::max, Reduction::min,
                               Reduction::prod,      Reduction::l1,      Reduction::l2,  Reduction::sumsquare,
                               Reduction::logsumexp, Reduction::variance};
  for (DType dtype : floating)
    for (Reduction op : all)
      for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}}) {
        const TensorSpec x = spec(dtype, {30, 40, 50});
        const bool everything = axes.size() == 3;
        if (everything && op == Reduction::logsumexp) continue;
        CAPTURE(name(op));
        const Array a = ramp(dtype, x.shape, 1);
        const TensorSpec out = spec(dtype, reduced_shape(x.shape, axes, false));
        const Array y = check_divided(reduce_kernel(op, x, axes, dtype), {a}, {out})[0];
        if (op == Reduction::mean && everything) {
          double sum = 0;
          for (int64_t i = 0; i < a.size(); ++i) sum += a.number(i);
          CHECK(close(y.number(0), sum / static_cast<double>(a.size()), tolerance(dtype)));
        }
      }
}

TEST_CASE("broadcasts") {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{}, {700}},     {{70, 1}, {70, 33}}, {{33}, {70, 33}}, {{5, 1, 7}, {5, 40, 7}}, {{4, 1, 6, 1}, {4, 5, 6, 7}},
      {{1, 0}, {3, 0}}};
  for (DType dtype : {DType::boolean, DType::float16, DType::int32, DType::float64})
    for (const auto& [from, to] : shapes) {
      CAPTURE(bracket_text(to));
      const Array x = ramp(dtype, from, 2);
      const Array y = check_divided(broadcast_to_kernel(dtype, from, to), {x}, {spec(dtype, to)})[0];
      const Shape extents = strides_of(to), strides = broadcast_strides(from, to);
      for (int64_t i = 0; i < y.size(); ++i) {
        int64_t at = 0;
        for (size_t d = 0; d < to.size(); ++d) at += i / extents[d] % to[d] * strides[d];
        CHECK(y.number(i) == x.number(at));
      }
    }
}

TEST_CASE("medians") {
  const TensorSpec x = spec(DType::float32, {30, 40, 50});
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
    const Shape out = reduced_shape(x.shape, axes, false);
    check_divided(median_kernel(x, axes), {ramp(DType::float32, x.shape, 1)},
                  {spec(DType::float32, out), spec(DType::int32, out)});
  }
}

TEST_CASE("gradients of losses") {
  for (DType dtype : floating)
    for (bool ignores : {false, true}) {
      const TensorSpec probs = spec(dtype, {300, 11}), labels = spec(DType::int32, {300}), loss = spec(dtype, {});
      NllOptions options;
      if (ignores) options.ignore_index = 3;
      Array p = run(softmax_kernel(probs, 1), {ramp(dtype, probs.shape, 1)}, probs), l(DType::int32, {300});
      for (int64_t i = 0; i < 300; ++i) write_number(DType::int32, l.mutable_raw(), i, static_cast<double>(i * 7 % 11));
      check_divided(nll_loss_grad_kernel(probs, labels, options), {make(dtype, {}, {1}), p, l}, {probs});
      check_divided(nll_loss_with_softmax_grad_kernel(probs, labels, DType::float32, options),
                    {p, l, make(DType::float32, {}, {1})}, {loss, probs});
    }
}

TEST_CASE("float16 products are float32 ones, rounded once") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const TensorSpec a = spec(DType::float16, ta ? Shape{2, 40, 130} : Shape{2, 130, 40}),
                       b = spec(DType::float16, tb ? Shape{2, 520, 40} : Shape{2, 40, 520}),
                       out = spec(DType::float16, {2, 130, 520});
      const Array x = ramp(DType::float16, a.shape, 1), y = ramp(DType::float16, b.shape, 2);
      const Array z = check_divided(matmul_kernel(a, ta, b, tb, out), {x, y}, {out})[0];
      double worst = 0;
      for (int64_t batch : {0, 1})
        for (int64_t i = 0; i < 130; i += 3)
          for (int64_t j = 0; j < 520; j += 7) {
            double sum = 0;  // exact: the operands are small multiples of 1/16
            for (int64_t l = 0; l < 40; ++l)
              sum += x.number(batch * 5200 + (ta ? l * 130 + i : i * 40 + l)) *
                     y.number(batch * 20800 + (tb ? j * 40 + l : l * 520 + j));
            const double got = z.number((batch * 130 + i) * 520 + j);
            worst = std::max(worst,
                             std::fabs(got - static_cast<double>(static_cast<float>(half(static_cast<float>(sum))))));
          }
      CHECK(worst == 0);
    }
}
