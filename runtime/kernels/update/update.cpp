// Updates of variables, as sequences of block functions over cache-sized pieces. Each step is rounded to the dtype that
// the formula prescribes.
#include "runtime/kernels/update/update.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/indexing/index.hpp"
#include "runtime/kernels/update/update_parts.hpp"

namespace pxl {
namespace {

/// The factor of t, and the factor of x or its square.
struct Factors {
  double beta, alpha;
};
/// f and 1 - f; and the weights of s values and one more value in their mean, as type C computes them.
template <class C>
Factors complements(double f) {
  return {f, static_cast<double>(C(1) - static_cast<C>(f))};
}
template <class C>
Factors shares(double s) {
  const C count = static_cast<C>(s) + C(1);
  return {static_cast<double>(static_cast<C>(s) / count), static_cast<double>(C(1) / count)};
}
Factors plus(double f) { return {1, f}; }
struct AccumulateInfo {
  Accumulate op;
  UpdateOpKind step;
  bool square;                   ///< x is squared
  bool replaces;                 ///< a factor 0 of t replaces any value of t
  Factors (*factors)(double f);  ///< in float32
  Factors (*wide)(double f);     ///< for a float64 t
};
constexpr AccumulateInfo accumulate_rows[] = {
    {Accumulate::add_scaled, UpdateOpKind::blend, false, false, plus, plus},
    {Accumulate::add_square, UpdateOpKind::blend_square, true, false, plus, plus},
    {Accumulate::mean, UpdateOpKind::blend, false, true, shares<float>, shares<double>},
    {Accumulate::moving_average, UpdateOpKind::blend, false, false, complements<float>, complements<double>},
    {Accumulate::moving_average_square, UpdateOpKind::blend_square, true, false, complements<float>,
     complements<double>},
};
const AccumulateInfo& info(Accumulate op) {
  return *std::find_if(std::begin(accumulate_rows), std::end(accumulate_rows),
                       [&](const AccumulateInfo& row) { return row.op == op; });
}

}  // namespace

double Scalar::read(const Buffers& buffers) const { return slot < 0 ? value : read_number(dtype, buffers.in[slot]); }

Kernel accumulate_kernel(Accumulate op, const TensorSpec& t, const TensorSpec& x, Scalar f) {
  const BlockArithmetic a("accumulate", t.dtype);
  const BroadcastInput spread(x, t.shape);
  const AccumulateInfo& row = info(op);
  const bool square = row.square;
  const auto general = [=, &row, x_dtype = x.dtype, x_width = static_cast<int64_t>(size_of(x.dtype))](
                           const Buffers& b, int64_t begin, int64_t end) {
    const auto [beta, alpha] = (a.dtype == DType::float64 ? row.wide : row.factors)(f.read(b));
    const RoundedNumber scale_t(a.dtype, beta), scale_x(a.dtype, alpha);
    const bool multiplies_t = beta != 1.0, multiplies_x = alpha != 1.0, replaces = row.replaces && beta == 0;
    StackBlock buffer;
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
  const UpdatePart part = step ? step_or(*step, general) : UpdatePart(general);
  return Kernel([=, slot = f.slot](const Buffers& b) {
           const std::byte* in[] = {b.in[0], spread(b, 1), slot < 0 ? nullptr : b.in[slot]};
           part(b.with(in, b.out), 0, n);
         })
      .with_workspace(spread.workspace);
}

Kernel accumulator_scale_kernel(const TensorSpec& t, Scalar f) {
  const BlockArithmetic a("accumulator_scale", t.dtype);
  const int64_t n = t.size();
  const std::optional<UpdateOp> step =
      step_if(t.dtype == DType::float32, {UpdateOpKind::scale, {0}, [f](const Buffers& b, float* constants) {
                                            constants[0] = static_cast<float>(f.read(b));
                                            return f.read(b) != 0;
                                          }});
  return step_kernel(n, 0.2 * static_cast<double>(n), step, [=](const Buffers& b, int64_t begin, int64_t end) {
    const double factor = f.read(b);
    const RoundedNumber scale(a.dtype, factor);
    std::byte* out = b.out[0] + begin * a.width;
    if (factor == 0)
      std::memset(out, 0, static_cast<size_t>((end - begin) * a.width));
    else
      a.mul.vs(b.in[0] + begin * a.width, scale.bytes, out, end - begin);
  });
}

Kernel scaled_add_kernel(const TensorSpec& x, const TensorSpec& y, Scalar fa, Scalar fb) {
  const BlockArithmetic a("scaled_add", x.dtype);
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
                                const RoundedNumber scale_x(a.dtype, alpha), scale_y(a.dtype, beta);
                                StackBlock first, second;
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
  const BlockArithmetic a("sparse_accumulate", t.dtype);
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
           const RoundedNumber scale(a.dtype, factor);
           int64_t* rows = b.workspace(converted);
           read_indices(index, b.in[2], count, rows);
           for (int64_t j = 0; j < count; ++j) check_index(rows[j], j, at, extent);
           if (bytes != 0 && b.out[0] != b.in[0]) std::memmove(b.out[0], b.in[0], bytes);
           StackBlock buffer;
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

}  // namespace pxl
