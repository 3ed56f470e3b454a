#include "runtime/kernels/random/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/movement/strided.hpp"
#include "runtime/kernels/random/philox_words.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"
#include "runtime/tensor/print.hpp"
#include "runtime/tensor/random.hpp"
#include "runtime/tensor/uniform_range.hpp"

namespace pxl {
namespace {

// Single-core time per element, in ns, on a processor of 2022.
constexpr double uniform_ns = 1.5, normal_ns = 4;

using Key = std::array<uint32_t, 2>;
Key key_of(const Buffers& b, size_t slot) { return {b.input<uint32_t>(slot)[0], b.input<uint32_t>(slot)[1]}; }

/// Draws elements [begin, end) of a stream. numbers(words, n, values) makes the 4 n numbers of n blocks; put(i, values,
/// n) consumes the numbers for elements [i, i + n).
template <class C, class Numbers, class Put>
void draw_elements(Key key, RandomStream stream, int64_t begin, int64_t end, Numbers&& numbers, Put&& put) {
  PhiloxWords words;
  C values[4 * philox_batch];
  for (int64_t i = begin; i < end;) {
    const int64_t first = i / 4, skipped = i % 4;
    const int64_t blocks = std::min(philox_batch, (end + 3) / 4 - first), n = std::min(4 * blocks - skipped, end - i);
    words.draw(key, static_cast<uint32_t>(stream), static_cast<uint64_t>(first), blocks);
    numbers(words, blocks, values);
    put(i, values + skipped, n);
    i += n;
  }
}

/// Uniform numbers. float32 has 24 bits. float64 takes 32 of its 53 bits from its own word and the rest from an
/// adjacent word.
void unit(const PhiloxWords& words, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t w = 0; w < 4; ++w)
      out[4 * i + w] = static_cast<float>(static_cast<int32_t>(words.at[w][i] >> 8)) * 0x1p-24f;
}
void unit(const PhiloxWords& words, int64_t n, double* out) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t w = 0; w < 4; ++w) {
      const uint64_t bits =
          (static_cast<uint64_t>(words.at[w][i]) << 21) | (words.at[(w + 1) & 3][i] * 0x9e3779b1u >> 11);
      out[4 * i + w] = static_cast<double>(bits) * 0x1p-53;
    }
}

/// Normal numbers, two from two words.
void standard_normal(const PhiloxWords& words, int64_t n, double* out) {
  double x[philox_batch], angle[philox_batch], pairs[2][2 * philox_batch];
  for (int64_t half = 0; half < 2; ++half) {
    const uint32_t *u = words.at[2 * half], *v = words.at[2 * half + 1];
    for (int64_t i = 0; i < n; ++i) x[i] = (static_cast<double>(u[i]) + 1.0) * 0x1p-32;
    for (int64_t i = 0; i < n; ++i) angle[i] = static_cast<double>(v[i]) * (0x1p-32 * 6.283185307179586);
    bulk().box_muller(x, angle, pairs[half], n);
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t w = 0; w < 4; ++w) out[4 * i + w] = pairs[w / 2][2 * i + w % 2];
}

/// keep[i], for elements [begin, begin + n), says whether the element's word, as a uniform number, is at least p.
void mask_bits(Key key, double p, bool* keep, int64_t begin, int64_t n) {
  if (p >= 1) {
    std::fill_n(keep, n, false);
    return;
  }
  const auto threshold = static_cast<uint32_t>(p * 0x1p32);
  draw_elements<bool>(
      key, RandomStream::mask, begin, begin + n,
      [&](const PhiloxWords& words, int64_t blocks, bool* values) {
        static_assert(sizeof(bool) == 1 && std::endian::native == std::endian::little);
        for (int64_t i = 0; i < blocks; ++i) {
          uint32_t four = 0;  // the compiler vectorises this: bytes 0 or 1
          for (int w = 0; w < 4; ++w) four |= uint32_t{words.at[w][i] >= threshold} << (8 * w);
          std::memcpy(values + 4 * i, &four, sizeof four);
        }
      },
      [&](int64_t i, const bool* values, int64_t m) { std::copy_n(values, m, keep + (i - begin)); });
}

void check_probability(double p) {
  if (!(p >= 0 && p <= 1)) throw Error("a dropout probability is between 0 and 1, not " + std::to_string(p));
}

}  // namespace

Kernel random_uniform_kernel(const TensorSpec& out, double low, double high) {
  const UniformRange of(out.dtype, low, high);
  return with_floating("random_uniform", out.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return Kernel::elementwise(
        out.size(), uniform_ns * static_cast<double>(out.size()), [=](const Buffers& b, int64_t begin, int64_t end) {
          T* to = b.output<T>(0);
          draw_elements<C>(
              key_of(b, 0), RandomStream::uniform, begin, end,
              [](const PhiloxWords& words, int64_t blocks, C* values) { unit(words, blocks, values); },
              [&](int64_t i, const C* values, int64_t n) {
                for (int64_t j = 0; j < n; ++j) to[i + j] = static_cast<T>(of(values[j]));
              });
        });
  });
}

Kernel random_normal_kernel(const TensorSpec& out, double mean, double std) {
  return with_floating("random_normal", out.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return Kernel::elementwise(
        out.size(), normal_ns * static_cast<double>(out.size()),
        [mean, std](const Buffers& b, int64_t begin, int64_t end) {
          T* to = b.output<T>(0);
          draw_elements<double>(
              key_of(b, 0), RandomStream::normal, begin, end,
              [](const PhiloxWords& words, int64_t blocks, double* values) { standard_normal(words, blocks, values); },
              [&](int64_t i, const double* values, int64_t n) {
                for (int64_t j = 0; j < n; ++j)
                  to[i + j] = static_cast<T>(static_cast<compute_type<T>>(mean + std * values[j]));
              });
        });
  });
}

Kernel dropout_kernel(const TensorSpec& x, double p) {
  check_probability(p);
  return with_floating("dropout", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const double cost_ns = 1.5 * static_cast<double>(x.size());
    return Kernel::elementwise(x.size(), cost_ns, [p](const Buffers& b, int64_t begin, int64_t end) {
      const Key key = key_of(b, 1);
      const C scale = static_cast<C>(1.0 / (1.0 - p));
      bool keep[block_size];
      C buffer[block_size];
      for (int64_t i = begin; i < end; i += block_size) {
        const int64_t m = std::min(block_size, end - i);
        mask_bits(key, p, keep, i, m);
        const C* line = load_line(b.input<T>(0) + i, 1, m, buffer);
        for (int64_t j = 0; j < m; ++j) buffer[j] = keep[j] ? line[j] * scale : C(0);
        store_line<T>(buffer, b.output<T>(0) + i, 1, m);
      }
    });
  });
}

Kernel shaped_dropout_kernel(const TensorSpec& x, const Shape& mask, double p) {
  check_probability(p);
  return with_floating("shaped_dropout", x.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const int64_t count = element_count(mask);
    WorkspaceLayout workspace;
    const auto flags = workspace.per_call<bool>(count);
    return Kernel([=, nest = broadcast_loop_nest({x.shape, mask}, x.shape)](const Buffers& b) {
             bool* keep = b.workspace(flags);
             mask_bits(key_of(b, 1), p, keep, 0, count);
             const C scale = static_cast<C>(1.0 / (1.0 - p));
             const int64_t step = nest.inner_stride(1);
             for_each_run<2>(nest, [&](const auto& at, int64_t n) {
               const T* line = b.input<T>(0) + at[0];
               T* to = b.output<T>(0) + at[0];
               for (int64_t i = 0; i < n; ++i) {
                 to[i] = static_cast<T>(keep[at[1] + i * step] ? static_cast<C>(line[i]) * scale : C(0));
               }
             });
           })
        .with_workspace(workspace);
  });
}

Kernel modify_seed_kernel(uint32_t modifier) {
  return [modifier](const Buffers& b) {
    const auto words = random_words(key_of(b, 0), RandomStream::seed, modifier);
    std::copy_n(words.begin(), 2, b.output<uint32_t>(0));
  };
}

void WeightRow::refuse(const std::function<double(int64_t)>& value) const {
  const std::string_view op = logits ? "categorical" : "multinomial", name = logits ? "logit" : "weight";
  const std::string of = rows > 1 ? fmt::format(" of row {}", row) : "";
  for (int64_t i = 0; i < n; ++i)
    if (const double v = value(i); !(v >= least() && v < std::numeric_limits<double>::infinity()))
      throw run_error(fmt::format("{}: {} {}{} is {}", op, name, i, of, number_text(v)),
                      {logits ? "a logit is a number or -inf" : "a weight is a number, and not negative"})
          .as(codes::arithmetic);
  throw run_error(fmt::format("{}: no {}{} is above {}", op, name, of, logits ? "-inf" : "0"),
                  {"there is no category to draw"})
      .as(codes::arithmetic);
}

namespace {

/// Whether a row of float32 or float64 is right, from its extremes. NaN is both.
template <class T>
bool are_weights(const T* x, const WeightRow& row) {
  const auto is_right = [&](double least, double largest) {
    return least >= row.least() && largest > row.least() && largest < std::numeric_limits<double>::infinity();
  };
  if constexpr (std::is_same_v<T, float>) return is_right(bulk().min32(x, row.n), bulk().max32(x, row.n));
  if constexpr (std::is_same_v<T, double>) return is_right(bulk().min64(x, row.n), bulk().max64(x, row.n));
  return false;
}

}  // namespace

Kernel checked_weights_kernel(const TensorSpec& t, bool logits) {
  constexpr double element_ns = 0.5;
  const int64_t n = t.shape.back(), rows = n == 0 ? 0 : t.size() / n;
  return with_floating("checked_weights", t.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return Kernel::parallel(rows, 1, element_ns * static_cast<double>(t.size()),
                            [=](const Buffers& b, int64_t begin, int64_t end) {
                              for (int64_t row = begin; row < end; ++row) {
                                const T* x = b.input<T>(0) + row * n;
                                const WeightRow given{logits, row, rows, n};
                                if (!are_weights(x, given)) given.check(x);
                                std::copy_n(x, n, b.output<T>(0) + row * n);
                              }
                            });
  });
}

Kernel modify_seed_kernel() {
  return [](const Buffers& b) { modify_seed_kernel(b.input<uint32_t>(1)[0])(b); };
}

}  // namespace pxl
