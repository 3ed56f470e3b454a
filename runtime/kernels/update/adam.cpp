// The steps of Adam, AdaMax and LAMB (update.hpp).
#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/reduction/reduce.hpp"
#include "runtime/kernels/update/update.hpp"
#include "runtime/kernels/update/update_parts.hpp"

namespace pxl {

namespace {

/// 1 - beta^step, in the dtype in which an accumulator stores its numbers.
double correction(DType dtype, double beta, float step) {
  if (dtype == DType::float64) return 1.0 - std::pow(beta, static_cast<double>(step));
  return static_cast<double>(1.0f - std::pow(static_cast<float>(beta), step));
}

}  // namespace

Kernel adam_updater_kernel(const TensorSpec& m, const TensorSpec& v, const TensorSpec& out,
                           const AdamOptions& options) {
  const BlockArithmetic am("adam_updater", m.dtype), av("adam_updater", v.dtype), ao("adam_updater", out.dtype);
  const UnaryBlock root = unary_block(Unary::sqrt, v.dtype);
  if (m.shape != v.shape || m.shape != out.shape || !root || !is_floating(m.dtype) || !is_floating(out.dtype)) {
    throw Error("adam_updater: " + text(m) + ", " + text(v) + " and " + text(out) +
                " need one shape and floating dtypes")
        .as(codes::dtype);
  }
  // Numbers that depend on the step alone. They are computed once, before the elements are divided among threads.
  struct Corrections {
    double m = 1, v = 1;
  };
  WorkspaceLayout workspace;
  const auto corrections = workspace.per_call<Corrections>(1);
  const Phase advance{1, 1, [=](const Buffers& b, int64_t begin, int64_t end) {
                        Corrections& to = *b.workspace(corrections);
                        to = {};
                        if (begin < end && options.step >= 0) {
                          std::byte* data =
                              const_cast<std::byte*>(b.in[options.step]);  // the op updates its time step in place
                          const float step = static_cast<float>(read_number(options.step_dtype, data)) + 1.0f;
                          write_number(options.step_dtype, data, 0, static_cast<double>(step));
                          to.m = correction(m.dtype, options.beta1.read(b), step);
                          if (options.mode == AdamOptions::adam)
                            to.v = correction(v.dtype, options.beta2.read(b), step);
                        }
                      }};
  const int64_t n = m.size();
  const bool plain = options.mode == AdamOptions::adam && m.dtype == DType::float32 && v.dtype == DType::float32 &&
                     out.dtype == DType::float32 && (options.weight < 0 || options.weight_dtype == DType::float32);
  UpdateOp formula{UpdateOpKind::adam, {options.m, options.v}, [=](const Buffers& b, float* c) {
                     c[0] = 1.0f / static_cast<float>(b.workspace(corrections)->m);
                     c[1] = 1.0f / static_cast<float>(b.workspace(corrections)->v);
                     c[2] = static_cast<float>(options.epsilon.read(b));
                     if (options.weight >= 0) c[3] = static_cast<float>(options.weight_decay.read(b));
                     return true;
                   }};
  if (options.weight >= 0) {
    formula.kind = UpdateOpKind::adam_decay;
    formula.operands.push_back(options.weight);
  }
  const auto general = [=](const Buffers& b, int64_t begin, int64_t end) {
    const double correct_m = b.workspace(corrections)->m, correct_v = b.workspace(corrections)->v;
    const double decay_value = options.weight >= 0 ? options.weight_decay.read(b) : 0.0;
    const RoundedNumber divide_m(m.dtype, correct_m), divide_v(v.dtype, correct_v),
        epsilon(v.dtype, options.epsilon.read(b)), decay(out.dtype, decay_value);
    StackBlock first, quotient, denominator;
    for_blocks(begin, end, [&](int64_t i, int64_t k) {
      const std::byte* hat = b.in[options.m] + i * am.width;
      if (options.step >= 0) {
        am.div.vs(hat, divide_m.bytes, first, k);
        hat = first;
      }
      convert(m.dtype, hat, v.dtype, quotient, k);
      const std::byte* second = b.in[options.v] + i * av.width;
      if (options.mode == AdamOptions::adam) {
        if (options.step >= 0) {
          av.div.vs(second, divide_v.bytes, denominator, k);
          second = denominator;
        }
        root(second, denominator, k);
        second = denominator;
      }
      av.add.vs(second, epsilon.bytes, denominator, k);
      av.div.vv(quotient, denominator, quotient, k);
      std::byte* to = b.out[0] + i * ao.width;
      if (decay_value == 0) {
        convert(v.dtype, quotient, out.dtype, to, k);
        return;
      }
      convert(options.weight_dtype, b.in[options.weight] + i * static_cast<int64_t>(size_of(options.weight_dtype)),
              out.dtype, first, k);
      ao.mul.vs(first, decay.bytes, first, k);
      convert(v.dtype, quotient, out.dtype, denominator, k);
      ao.add.vv(denominator, first, to, k);
    });
  };
  return step_kernel(n, 1.0 * static_cast<double>(n), step_if(plain, std::move(formula)), general, {advance})
      .with_workspace(workspace);
}

Kernel adam_var_update_kernel(const TensorSpec& t, const TensorSpec& x, DType r1, DType r2, Scalar learning_rate,
                              Scalar max_weight_norm) {
  const BlockArithmetic a("adam_var_update", t.dtype);
  const BroadcastInput spread(x, t.shape);
  const auto part = [=, x_dtype = x.dtype, x_width = static_cast<int64_t>(size_of(x.dtype))](
                        const Buffers& b, const std::byte* from, int64_t begin, int64_t end) {
    const float s1 = static_cast<float>(read_number(r1, b.in[2])), s2 = static_cast<float>(read_number(r2, b.in[3]));
    const float limit = static_cast<float>(max_weight_norm.read(b));
    const float ratio = s1 == 0.0f || s2 == 0.0f ? 1.0f : std::min(std::sqrt(s1), limit) / std::sqrt(s2);
    const RoundedNumber factor(a.dtype, static_cast<double>(static_cast<float>(learning_rate.read(b)) * ratio));
    StackBlock buffer;
    for_blocks(begin, end, [&](int64_t i, int64_t m) {
      convert(x_dtype, from + i * x_width, a.dtype, buffer, m);
      a.mul.vs(buffer, factor.bytes, buffer, m);
      a.sub.vv(b.in[0] + i * a.width, buffer, b.out[0] + i * a.width, m);
    });
  };
  const int64_t n = t.size();
  if (spread.needed)
    return Kernel([=](const Buffers& b) { part(b, spread(b, 1), 0, n); }).with_workspace(spread.workspace);
  return Kernel::elementwise(n, 0.3 * static_cast<double>(n),
                             [=](const Buffers& b, int64_t begin, int64_t end) { part(b, b.in[1], begin, end); });
}

Kernel lamb_square_kernel(const TensorSpec& x) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < x.shape.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  return reduce_kernel(Reduction::sumsquare, x, axes, DType::float32);
}

}  // namespace pxl
