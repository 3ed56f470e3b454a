// Updates of variables, as chains of block functions over cache-sized pieces: each step is rounded to the dtype that
// the formula prescribes.
#include "runtime/kernels/update.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/fused_update.hpp"
#include "runtime/kernels/index.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/strided.hpp"

namespace pxl {
namespace {

/// A block of any dtype on the stack.
struct Block {
  alignas(64) std::byte bytes[block_size * 8];
  operator std::byte*() { return bytes; }
};

/// The block functions of one dtype.
struct Arithmetic {
  DType dtype;
  int64_t width;
  BinaryBlock add, sub, mul, div;

  explicit Arithmetic(std::string_view what, DType d)
      : dtype(d),
        width(static_cast<int64_t>(size_of(d))),
        add(binary_block(Binary::add, d)),
        sub(binary_block(Binary::sub, d)),
        mul(binary_block(Binary::mul, d)),
        div(binary_block(Binary::div, d)) {
    if (!sub) throw Error(std::string(what) + " is not defined for " + std::string(name(d))).as(codes::dtype);
  }
};

/// A number in a dtype's representation.
struct Number {
  alignas(8) std::byte bytes[8] = {};
  Number(DType dtype, double value) { write_number(dtype, bytes, 0, value); }
};

void for_blocks(int64_t begin, int64_t end, auto&& f) {
  for (int64_t i = begin; i < end; i += block_size) f(i, std::min(block_size, end - i));
}
void for_blocks(int64_t n, auto&& f) { for_blocks(0, n, f); }

/// x, broadcast to t's shape: x itself, or a copy in the workspace.
struct Spread {
  bool needed;
  StridedCopy copy;
  WorkspaceLayout workspace;
  PerCall<std::byte> copied;

  Spread(const TensorSpec& x, const Shape& shape)
      : needed(x.shape != shape),
        copy(size_of(x.dtype), shape, broadcast_strides(x.shape, shape), strides_of(shape)),
        copied(workspace.per_call<std::byte>(needed ? element_count(shape) * static_cast<int64_t>(size_of(x.dtype))
                                                    : 0)) {}
  const std::byte* operator()(const Buffers& b, size_t slot) const {
    if (!needed) return b.in[slot];
    std::byte* all = b.workspace(copied);
    copy(b.in[slot], all);
    return all;
  }
};

float complement(double f) { return 1.0f - static_cast<float>(f); }

/// Runs the step on elements [begin, end); false if this run needs the general arithmetic.
bool run_step(const UpdateOp& op, const Buffers& b, int64_t begin, int64_t end) {
  float constants[max_constants] = {};
  if (!op.constants(b, constants)) return false;
  const float* operands[max_step_operands] = {};
  for (size_t k = 0; k < op.operands.size(); ++k)
    operands[k] = b.input<float>(static_cast<size_t>(op.operands[k])) + begin;
  bulk().updates.steps[static_cast<size_t>(op.kind)](operands, constants, b.output<float>(0) + begin, end - begin);
  return true;
}

using Part = std::function<void(const Buffers&, int64_t, int64_t)>;

/// `general`, and the step instead of it where that can run.
Part step_or(const UpdateOp& op, Part general) {
  return [=](const Buffers& b, int64_t begin, int64_t end) {
    if (!run_step(op, b, begin, end)) general(b, begin, end);
  };
}
/// An elementwise kernel that is a step, unless it has none for its dtypes.
Kernel step_kernel(int64_t n, double cost_ns, const std::optional<UpdateOp>& op, Part general,
                   std::vector<Phase> before = {}) {
  if (!op) return Kernel::elementwise(n, cost_ns, std::move(general), std::move(before));
  Kernel kernel = Kernel::elementwise(n, cost_ns, step_or(*op, std::move(general)), std::move(before));
  kernel.set_update_op(*op);
  return kernel;
}
std::optional<UpdateOp> step_if(bool float32, UpdateOp op) {
  return float32 ? std::optional(std::move(op)) : std::nullopt;
}

/// What t is multiplied by, and x or its square.
struct Factors {
  double beta, alpha;
};
struct AccumulateInfo {
  Accumulate op;
  UpdateOpKind step;
  bool square;    ///< x is squared
  bool replaces;  ///< where t is multiplied by 0, whatever it holds is replaced
  Factors (*factors)(double f);
};
constexpr AccumulateInfo accumulate_rows[] = {
    {Accumulate::add_scaled, UpdateOpKind::blend, false, false,
     [](double f) -> Factors {
       return {1, f};
     }},
    {Accumulate::add_square, UpdateOpKind::blend_square, true, false,
     [](double f) -> Factors {
       return {1, f};
     }},
    {Accumulate::mean, UpdateOpKind::blend, false, true,
     [](double f) -> Factors {
       const float step = static_cast<float>(f);
       return {static_cast<double>(step / (step + 1.0f)), static_cast<double>(1.0f / (step + 1.0f))};
     }},
    {Accumulate::moving_average, UpdateOpKind::blend, false, false,
     [](double f) -> Factors {
       return {f, static_cast<double>(complement(f))};
     }},
    {Accumulate::moving_average_square, UpdateOpKind::blend_square, true, false,
     [](double f) -> Factors {
       return {f, static_cast<double>(complement(f))};
     }},
};
const AccumulateInfo& info(Accumulate op) {
  return *std::find_if(std::begin(accumulate_rows), std::end(accumulate_rows),
                       [&](const AccumulateInfo& row) { return row.op == op; });
}

}  // namespace

double Scalar::read(const Buffers& buffers) const { return slot < 0 ? value : read_number(dtype, buffers.in[slot]); }

Kernel accumulate_kernel(Accumulate op, const TensorSpec& t, const TensorSpec& x, Scalar f) {
  const Arithmetic a("accumulate", t.dtype);
  const Spread spread(x, t.shape);
  const AccumulateInfo& row = info(op);
  const bool square = row.square;
  const auto general = [=, &row, x_dtype = x.dtype, x_width = static_cast<int64_t>(size_of(x.dtype))](
                           const Buffers& b, int64_t begin, int64_t end) {
    const auto [beta, alpha] = row.factors(f.read(b));
    const Number scale_t(a.dtype, beta), scale_x(a.dtype, alpha);
    const bool multiplies_t = beta != 1.0, multiplies_x = alpha != 1.0, replaces = row.replaces && beta == 0;
    Block buffer;
    for_blocks(begin, end, [&](int64_t i, int64_t m) {
      const std::byte* old = b.in[0] + i * a.width;
      std::byte* out = b.out[0] + i * a.width;
      convert(x_dtype, b.in[1] + i * x_width, a.dtype, buffer, m);
      if (replaces) {
        std::memcpy(out, buffer, static_cast<size_t>(m * a.width));
        return;
      }
      if (square) a.mul.vv(buffer, buffer, buffer, m);
      if (multiplies_x) a.mul.vs(buffer, scale_x.bytes, buffer, m);
      if (multiplies_t) {
        a.mul.vs(old, scale_t.bytes, out, m);
        old = out;
      }
      a.add.vv(old, buffer, out, m);
    });
  };
  const std::optional<UpdateOp> step = step_if(t.dtype == DType::float32 && x.dtype == DType::float32,
                                               {row.step, {0, 1}, [=, &row](const Buffers& b, float* constants) {
                                                  const auto [beta, alpha] = row.factors(f.read(b));
                                                  constants[0] = static_cast<float>(beta);
                                                  constants[1] = static_cast<float>(alpha);
                                                  return !(row.replaces && beta == 0);
                                                }});
  const int64_t n = t.size();
  if (!spread.needed) return step_kernel(n, 0.3 * static_cast<double>(n), step, general);
  const Part part = step ? step_or(*step, general) : Part(general);
  return Kernel([=, slot = f.slot](const Buffers& b) {
           const std::byte* in[] = {b.in[0], spread(b, 1), slot < 0 ? nullptr : b.in[slot]};
           part(b.with(in, b.out), 0, n);
         })
      .with_workspace(spread.workspace);
}

Kernel accumulator_scale_kernel(const TensorSpec& t, Scalar f) {
  const Arithmetic a("accumulator_scale", t.dtype);
  const int64_t n = t.size();
  const std::optional<UpdateOp> step =
      step_if(t.dtype == DType::float32, {UpdateOpKind::scale, {0}, [f](const Buffers& b, float* constants) {
                                            constants[0] = static_cast<float>(f.read(b));
                                            return f.read(b) != 0;
                                          }});
  return step_kernel(n, 0.2 * static_cast<double>(n), step, [=](const Buffers& b, int64_t begin, int64_t end) {
    const double factor = f.read(b);
    const Number scale(a.dtype, factor);
    std::byte* out = b.out[0] + begin * a.width;
    if (factor == 0)
      std::memset(out, 0, static_cast<size_t>((end - begin) * a.width));
    else
      a.mul.vs(b.in[0] + begin * a.width, scale.bytes, out, end - begin);
  });
}

Kernel scaled_add_kernel(const TensorSpec& x, const TensorSpec& y, Scalar fa, Scalar fb) {
  const Arithmetic a("scaled_add", x.dtype);
  if (x.shape != y.shape)
    throw Error("scaled_add: shapes " + bracket_text(x.shape) + " and " + bracket_text(y.shape) + " differ")
        .as(codes::shape);
  const int64_t n = x.size();
  const bool float32 = x.dtype == DType::float32 && y.dtype == DType::float32;
  const std::optional<UpdateOp> step =
      step_if(float32, {UpdateOpKind::blend, {0, 1}, [=](const Buffers& b, float* constants) {
                          constants[0] = static_cast<float>(fa.read(b));
                          constants[1] = static_cast<float>(fb.read(b));
                          return true;
                        }});
  Kernel kernel = step_kernel(n, 0.2 * static_cast<double>(n), step,
                              [=, y_dtype = y.dtype, y_width = static_cast<int64_t>(size_of(y.dtype))](
                                  const Buffers& b, int64_t begin, int64_t end) {
                                const double alpha = fa.read(b), beta = fb.read(b);
                                const Number scale_x(a.dtype, alpha), scale_y(a.dtype, beta);
                                Block first, second;
                                for_blocks(begin, end, [&](int64_t i, int64_t m) {
                                  const std::byte* left = b.in[0] + i * a.width;
                                  convert(y_dtype, b.in[1] + i * y_width, a.dtype, second, m);
                                  if (beta != 1.0) a.mul.vs(second, scale_y.bytes, second, m);
                                  if (alpha != 1.0) {
                                    a.mul.vs(left, scale_x.bytes, first, m);
                                    left = first;
                                  }
                                  a.add.vv(left, second, b.out[0] + i * a.width, m);
                                });
                              });
  if (float32 && fa.slot < 0 && fa.value == 1.0 && fb.slot < 0) kernel.mark_axpy(static_cast<float>(fb.value));
  return kernel;
}

Kernel copy_var_update_kernel(const TensorSpec& t) {
  const auto width = static_cast<int64_t>(size_of(t.dtype));
  return Kernel::elementwise(t.size(), 0.1 * static_cast<double>(t.size()),
                             [width](const Buffers& b, int64_t begin, int64_t end) {
                               const std::byte* from = b.in[1] + begin * width;
                               std::byte* to = b.out[0] + begin * width;
                               if (begin < end && to != from)
                                 std::memmove(to, from, static_cast<size_t>((end - begin) * width));
                             });
}

Kernel sparse_accumulate_kernel(const TensorSpec& t, const TensorSpec& x, const TensorSpec& indices, int64_t axis,
                                Scalar f) {
  const Arithmetic a("sparse_accumulate", t.dtype);
  if (!is_integer(indices.dtype))
    throw Error("indices must be integers, not " + std::string(name(indices.dtype))).as(codes::dtype);
  const int64_t at = normalise_axis(axis, static_cast<int64_t>(t.shape.size())),
                extent = t.shape[static_cast<size_t>(at)];
  int64_t outer = 1, inner = 1;
  Shape expected;
  for (int64_t d = 0; d < static_cast<int64_t>(t.shape.size()); ++d) {
    if (d == at)
      expected.insert(expected.end(), indices.shape.begin(), indices.shape.end());
    else
      expected.push_back(t.shape[static_cast<size_t>(d)]);
    if (d < at) outer *= t.shape[static_cast<size_t>(d)];
    if (d > at) inner *= t.shape[static_cast<size_t>(d)];
  }
  if (x.shape != expected) {
    throw Error("sparse_accumulate: x has shape " + bracket_text(x.shape) + "; t " + bracket_text(t.shape) +
                " and indices " + bracket_text(indices.shape) + " need " + bracket_text(expected))
        .as(codes::shape);
  }
  WorkspaceLayout workspace;
  const auto converted = workspace.per_call<int64_t>(indices.size());
  return Kernel([=, count = indices.size(), bytes = static_cast<size_t>(t.bytes()), x_dtype = x.dtype,
                 x_width = static_cast<int64_t>(size_of(x.dtype)), index = indices.dtype](const Buffers& b) {
           const double factor = f.read(b);
           const Number scale(a.dtype, factor);
           int64_t* rows = b.workspace(converted);
           convert(index, b.in[2], DType::int64, reinterpret_cast<std::byte*>(rows), count);
           for (int64_t j = 0; j < count; ++j) check_index(rows[j], j, at, extent);
           if (bytes != 0 && b.out[0] != b.in[0]) std::memmove(b.out[0], b.in[0], bytes);
           Block buffer;
           for (int64_t o = 0; o < outer; ++o) {
             for (int64_t j = 0; j < count; ++j) {
               for_blocks(inner, [&](int64_t i, int64_t m) {
                 convert(x_dtype, b.in[1] + ((o * count + j) * inner + i) * x_width, a.dtype, buffer, m);
                 if (factor != 1.0) a.mul.vs(buffer, scale.bytes, buffer, m);
                 std::byte* to = b.out[0] + ((o * extent + rows[j]) * inner + i) * a.width;
                 a.add.vv(to, buffer, to, m);
               });
             }
           }
         })
      .with_workspace(workspace);
}

Kernel adam_updater_kernel(const TensorSpec& m, const TensorSpec& v, const TensorSpec& out,
                           const AdamOptions& options) {
  const Arithmetic am("adam_updater", m.dtype), av("adam_updater", v.dtype), ao("adam_updater", out.dtype);
  const UnaryBlock root = unary_block(Unary::sqrt, v.dtype);
  if (m.shape != v.shape || m.shape != out.shape || !root || !is_floating(m.dtype) || !is_floating(out.dtype)) {
    throw Error("adam_updater: " + text(m) + ", " + text(v) + " and " + text(out) +
                " need one shape and floating dtypes")
        .as(codes::dtype);
  }
  // What the step decides for all elements: computed once, before they are divided.
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
                          const auto correction = [&](const Scalar& beta) {
                            return static_cast<double>(1.0f - std::pow(static_cast<float>(beta.read(b)), step));
                          };
                          to.m = correction(options.beta1);
                          if (options.mode == AdamOptions::adam) to.v = correction(options.beta2);
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
    const Number divide_m(m.dtype, correct_m), divide_v(v.dtype, correct_v), epsilon(v.dtype, options.epsilon.read(b)),
        decay(out.dtype, decay_value);
    Block first, quotient, denominator;
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
  const Arithmetic a("adam_var_update", t.dtype);
  const Spread spread(x, t.shape);
  const auto part = [=, x_dtype = x.dtype, x_width = static_cast<int64_t>(size_of(x.dtype))](
                        const Buffers& b, const std::byte* from, int64_t begin, int64_t end) {
    const float s1 = static_cast<float>(read_number(r1, b.in[2])), s2 = static_cast<float>(read_number(r2, b.in[3]));
    const float limit = static_cast<float>(max_weight_norm.read(b));
    const float ratio = s1 == 0.0f || s2 == 0.0f ? 1.0f : std::min(std::sqrt(s1), limit) / std::sqrt(s2);
    const Number factor(a.dtype, static_cast<double>(static_cast<float>(learning_rate.read(b)) * ratio));
    Block buffer;
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
