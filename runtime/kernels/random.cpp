#include "runtime/kernels/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/diagnostic.hpp"
#include "runtime/kernels/axis_slices.hpp"
#include "runtime/kernels/strided.hpp"
#include "runtime/tensor/random.hpp"

namespace pxl {
namespace {

using Key = std::array<uint32_t, 2>;
Key key_of(const Buffers& b, size_t slot) { return {b.input<uint32_t>(slot)[0], b.input<uint32_t>(slot)[1]}; }

/// Fills by f(four words, element number, four results); results beyond n are dropped.
template <class C, class F>
void fill_by_four(Key key, RandomStream stream, C* out, int64_t begin, int64_t n, F&& f) {
  for (int64_t i = 0; i < n; i += 4) {
    C values[4];
    f(random_words(key, stream, static_cast<uint64_t>(begin + i) / 4), values);
    for (int64_t l = 0; l < std::min<int64_t>(4, n - i); ++l) out[i + l] = values[l];
  }
}

/// Uniform: 24 bits for float32; float64 takes 32 of its 53 bits from its own word and the rest from adjacent words.
void unit(const std::array<uint32_t, 4>& words, float* out) {
  for (size_t l = 0; l < 4; ++l) out[l] = static_cast<float>(words[l] >> 8) * 0x1p-24f;
}
void unit(const std::array<uint32_t, 4>& words, double* out) {
  for (size_t l = 0; l < 4; ++l) {
    const uint64_t bits = (static_cast<uint64_t>(words[l]) << 21) | (words[(l + 1) & 3] * 0x9e3779b1u >> 11);
    out[l] = static_cast<double>(bits) * 0x1p-53;
  }
}

/// The largest T below x.
float below(float x) { return std::nextafter(x, -INFINITY); }
double below(double x) { return std::nextafter(x, -static_cast<double>(INFINITY)); }
half below(half x) {
  half r;
  const bool negative = (x.bits & 0x8000u) != 0;
  if ((x.bits & 0x7fffu) == 0)
    r.bits = 0x8001u;
  else
    r.bits = static_cast<uint16_t>(negative ? x.bits + 1 : x.bits - 1);
  return r;
}

constexpr size_t stream_lanes = 16;

/// The words of `stream_lanes` consecutive blocks: words[w][l] is word w of block `first` + l. philox4x32 in
/// stream_lanes, so that the compiler vectorises the rounds.
void draw_lanes(Key key, RandomStream stream, uint64_t first, uint32_t (&words)[4][stream_lanes]) {
  constexpr uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57;
  constexpr uint32_t w0 = 0x9E3779B9, w1 = 0xBB67AE85;
  for (size_t l = 0; l < stream_lanes; ++l) {
    words[0][l] = static_cast<uint32_t>(first + l);
    words[1][l] = static_cast<uint32_t>((first + l) >> 32);
    words[2][l] = static_cast<uint32_t>(stream);
    words[3][l] = 0;
  }
  for (int round = 0; round < 10; ++round) {
    for (size_t l = 0; l < stream_lanes; ++l) {
      const uint64_t p0 = m0 * words[0][l], p1 = m1 * words[2][l];
      words[0][l] = static_cast<uint32_t>(p1 >> 32) ^ words[1][l] ^ key[0];
      words[1][l] = static_cast<uint32_t>(p1);
      words[2][l] = static_cast<uint32_t>(p0 >> 32) ^ words[3][l] ^ key[1];
      words[3][l] = static_cast<uint32_t>(p0);
    }
    key[0] += w0, key[1] += w1;
  }
}

/// keep[i] for elements [begin, begin + n): whether their words, as uniform numbers, are at least p.
void mask_bits(Key key, double p, bool* keep, int64_t begin, int64_t n) {
  const uint64_t threshold = static_cast<uint64_t>(p * 0x1p32);
  constexpr int64_t step = 4 * stream_lanes;
  const int64_t skipped = begin % 4;  // of the first block's words
  for (int64_t i = -skipped; i < n; i += step) {
    uint32_t words[4][stream_lanes];
    draw_lanes(key, RandomStream::mask, static_cast<uint64_t>(begin + i) / 4, words);
    const int64_t m = std::min(step, n - i);
    for (int64_t j = i < 0 ? skipped : 0; j < m; ++j) keep[i + j] = words[j & 3][j >> 2] >= threshold;
  }
}

void check_probability(double p) {
  if (!(p >= 0 && p <= 1)) throw Error("a dropout probability is between 0 and 1, not " + std::to_string(p));
}

}  // namespace

Kernel random_uniform_kernel(const TensorSpec& out, double low, double high) {
  return with_floating("random_uniform", out.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return [=, n = out.size()](const Buffers& b) {
      const Key key = key_of(b, 0);
      T* to = b.output<T>(0);
      C buffer[block_size];
      const T limit = static_cast<T>(static_cast<C>(high));
      for (int64_t i = 0; i < n; i += block_size) {
        const int64_t m = std::min(block_size, n - i);
        fill_by_four(key, RandomStream::uniform, buffer, i, m, [&](const std::array<uint32_t, 4>& words, C* values) {
          unit(words, values);
          for (int l = 0; l < 4; ++l) values[l] = static_cast<C>(low) + static_cast<C>(high - low) * values[l];
        });
        for (int64_t j = 0; j < m; ++j) {  // rounding must not reach the open end
          const T v = static_cast<T>(buffer[j]);
          to[i + j] = low < high && static_cast<C>(v) >= static_cast<C>(limit) ? below(limit) : v;
        }
      }
    };
  });
}

Kernel random_normal_kernel(const TensorSpec& out, double mean, double std) {
  return with_floating("random_normal", out.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return [=, n = out.size()](const Buffers& b) {
      const Key key = key_of(b, 0);
      T* to = b.output<T>(0);
      C buffer[block_size];
      for (int64_t i = 0; i < n; i += block_size) {
        const int64_t m = std::min(block_size, n - i);
        fill_by_four(key, RandomStream::normal, buffer, i, m, [&](const std::array<uint32_t, 4>& words, C* values) {
          for (size_t l = 0; l < 4; l += 2) {
            const double u = (static_cast<double>(words[l]) + 1.0) * 0x1p-32;
            const double angle = static_cast<double>(words[l + 1]) * (0x1p-32 * 6.283185307179586);
            const double radius = std::sqrt(-2.0 * std::log(u));
            values[l] = static_cast<C>(mean + std * radius * std::cos(angle));
            values[l + 1] = static_cast<C>(mean + std * radius * std::sin(angle));
          }
        });
        for (int64_t j = 0; j < m; ++j) to[i + j] = static_cast<T>(buffer[j]);
      }
    };
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

Kernel modify_seed_kernel() {
  return [](const Buffers& b) { modify_seed_kernel(b.input<uint32_t>(1)[0])(b); };
}

}  // namespace pxl
