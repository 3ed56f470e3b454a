// Philox4x32-10, and the host's generator based on it.
#include "runtime/tensor/random.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "runtime/base/budget.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/base/thread_pool.hpp"

namespace pxl {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  // Multipliers and Weyl increments of table 2 of the paper.
  constexpr uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57;
  constexpr uint32_t w0 = 0x9E3779B9, w1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = m0 * c[0], p1 = m1 * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += w0, k[1] += w1;
  }
  return c;
}

std::array<uint32_t, 4> random_words(std::array<uint32_t, 2> key, RandomStream stream, uint64_t block) {
  return philox4x32(
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(stream), 0}, key);
}

void Random::reseed(uint64_t seed) {
  key_ = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  counter_ = 0;
  used_ = 4;
  have_spare_ = false;
}

uint32_t Random::bits() {
  if (used_ == 4) {
    block_ = philox4x32({static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0}, key_);
    ++counter_;
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

namespace {

double uniform_of(uint32_t first, uint32_t second) {
  const uint64_t high = first >> 5, low = second >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

/// Two normal from two uniform numbers (Box-Muller).
std::array<double, 2> box_muller(double u, double v) {
  // 1 - u is in (0, 1], so its logarithm is finite.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u)), angle = 2.0 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

double Random::uniform() {
  const uint32_t first = bits();
  return uniform_of(first, bits());
}

int64_t Random::below(int64_t n) {
  if (n <= 0) throw Error(fmt::format("a random number below {} does not exist", n));
  // Rejection sampling: redraw the last, incomplete run of n values among 2^64.
  auto range = static_cast<uint64_t>(n);
  uint64_t rest = (0 - range) % range;
  for (;;) {
    uint64_t draw = uint64_t{bits()} << 32;
    draw |= bits();
    if (draw >= rest) return static_cast<int64_t>(draw % range);
  }
}

double Random::normal() {
  if (have_spare_) {
    have_spare_ = false;
    return spare_;
  }
  const double first = uniform();
  const auto [value, spare] = box_muller(first, uniform());
  spare_ = spare;
  have_spare_ = true;
  return value;
}

namespace {

constexpr int64_t draw_ns = 20;

template <class Draw>
Array drawn(DType dtype, const Shape& shape, Draw draw) {
  Array out(dtype == DType::float32 ? DType::float32 : DType::float64, shape);
  if (!out.has_elements()) return Array::unevaluated(dtype, shape);
  float* narrow = dtype == DType::float32 ? out.mutable_data<float>() : nullptr;
  double* wide = narrow ? nullptr : out.mutable_data<double>();
  charged_chunks(out.size(), draw_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (narrow)
        narrow[i] = static_cast<float>(draw());
      else
        wide[i] = draw();
    }
  });
  return out.cast(dtype);
}

void check_deviation(double std) {
  if (!(std >= 0)) throw Error(fmt::format("a standard deviation of {} is not a number from 0 up", std));
}

}  // namespace

namespace {

/// Elements from which on drawing them takes longer than keeping what is needed for drawing them later: 1 ms. Not
/// measured.
constexpr int64_t min_lazy_elements = 1 << 16;

/// Whether a draw may wait until its elements are needed. Looks leave out the elements of large arrays themselves.
/// Throws, as the draw would, if there is not memory enough.
bool may_wait(DType dtype, const Shape& shape) {
  return element_count(shape) >= min_lazy_elements && !current_budget() && Array(dtype, shape).has_elements();
}

}  // namespace

void Random::skip_bits(int64_t words) {
  const int64_t left = 4 - used_;
  if (words <= left) {
    used_ += static_cast<int>(words);
    return;
  }
  const int64_t blocks = (words - left + 3) / 4;
  counter_ += static_cast<uint64_t>(blocks) - 1;
  used_ = 4;
  (void)bits();
  used_ = static_cast<int>(words - left - 4 * (blocks - 1));
}

void Random::skip_normal(int64_t count) {
  if (count > 0 && have_spare_) have_spare_ = false, --count;
  counter_ += static_cast<uint64_t>(count / 2);
  if (count % 2 != 0) (void)normal();
}

Array Random::uniform(DType dtype, const Shape& shape, double low, double high) {
  if (!may_wait(dtype, shape)) return uniform_now(dtype, shape, low, high);
  Array later =
      Array::lazy(dtype, shape, [=, now = *this]() mutable { return now.uniform_now(dtype, shape, low, high); });
  skip_bits(2 * element_count(shape));
  return later;
}

Array Random::uniform_now(DType dtype, const Shape& shape, double low, double high) {
  return drawn(dtype, shape, [&] { return low + (high - low) * uniform(); });
}

Array Random::normal(DType dtype, const Shape& shape, double mean, double std) {
  check_deviation(std);
  if (used_ != 4 || !may_wait(dtype, shape)) return normal_now(dtype, shape, mean, std);
  Array later =
      Array::lazy(dtype, shape, [=, now = *this]() mutable { return now.normal_now(dtype, shape, mean, std); });
  skip_normal(element_count(shape));
  return later;
}

Array Random::normal_now(DType dtype, const Shape& shape, double mean, double std) {
  Array out(dtype == DType::float32 ? DType::float32 : DType::float64, shape);
  if (!out.has_elements()) return Array::unevaluated(dtype, shape);
  float* narrow = dtype == DType::float32 ? out.mutable_data<float>() : nullptr;
  double* wide = narrow ? nullptr : out.mutable_data<double>();
  const auto put = [=](int64_t i, double z) {
    const double x = mean + std * z;
    if (narrow)
      narrow[i] = static_cast<float>(x);
    else
      wide[i] = x;
  };
  int64_t done = 0;
  if (have_spare_ && out.size() > 0) put(done++, normal());
  if (used_ == 4) {
    // From here one block of the generator yields two numbers, independent of the thread that computes it.
    const int64_t pairs = (out.size() - done) / 2;
    int64_t first = 0, last = 0;
    const std::function<void(int, int)> fill = [&](int thread, int threads) {
      const ChunkRange share = chunk_range(last - first, thread, threads);
      for (int64_t k = first + share.begin; k < first + share.end; ++k) {
        const uint64_t at = counter_ + static_cast<uint64_t>(k);
        const auto block = philox4x32({static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), 0, 0}, key_);
        const auto two = box_muller(uniform_of(block[0], block[1]), uniform_of(block[2], block[3]));
        put(done + 2 * k, two[0]);
        put(done + 2 * k + 1, two[1]);
      }
    };
    constexpr int64_t max_pairs = int64_t{1} << 20;  // between two looks at Ctrl-C: some 40 ms of one core
    for (; first < pairs; first = last) {
      last = std::min(pairs, first + max_pairs);
      charge((last - first) * 2 * draw_ns);
      if (pairs < 4096)
        fill(0, 1);
      else
        thread_pool().run(fill, static_cast<double>((last - first) * 2 * draw_ns));
    }
    counter_ += static_cast<uint64_t>(pairs);
    done += 2 * pairs;
  }
  while (done < out.size()) put(done++, normal());
  return out.cast(dtype);
}

Array Random::truncated_normal(DType dtype, const Shape& shape, double mean, double std, double bound) {
  check_deviation(std);
  if (!(bound > 0)) throw Error(fmt::format("a truncated normal needs a bound above 0, not {}", bound));
  // A narrow bound would reject nearly all normal draws. Rejection sampling from a uniform proposal has the same
  // distribution and accepts nearly always.
  bool narrow = bound < 0.5;
  return drawn(dtype, shape, [&] {
    for (;;) {
      double z = narrow ? bound * (2 * uniform() - 1) : normal();
      if (narrow ? uniform() < std::exp(-0.5 * z * z) : std::fabs(z) <= bound) return mean + std * z;
    }
  });
}

Array Random::permutation(int64_t n, DType dtype) {
  if (n < 0) throw Error(fmt::format("a permutation of {} items does not exist", n));
  Array order(dtype, {n});
  if (!order.has_elements()) return order;
  const auto shuffle = [&]<class T>(T* to) {
    charged_chunks(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(i);
    });
    charged_chunks(n - 1, draw_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = n - 1 - begin; i > n - 1 - end; --i) std::swap(to[i], to[below(i + 1)]);
    });
  };
  if (dtype == DType::int32)
    shuffle(order.mutable_data<int32_t>());
  else
    shuffle(order.mutable_data<int64_t>());
  return order;
}

}  // namespace pxl
