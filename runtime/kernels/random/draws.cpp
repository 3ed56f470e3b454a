// The host's generator, based on Philox4x32-10 blocks. Single numbers come from one block at a time, arrays from many
// blocks.
#include "runtime/kernels/random/draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/threads/thread_pool.hpp"
#include "runtime/kernels/random/philox_words.hpp"
#include "runtime/tensor/uniform_range.hpp"

namespace pxl {

namespace {

// Single-core time, in ns, of one number in an array and of a single draw, on a processor of 2022. Draws are charged
// and parallelised by these times.
constexpr int64_t array_draw_ns = 5, draw_ns = 20;

}  // namespace

void Random::reseed(uint64_t seed) {
  key_ = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  counter_ = 0;
  used_ = 4;
  spare_.reset();
}

Random::State Random::state() const {
  return {seed(), counter_, static_cast<uint64_t>(used_), spare_ ? uint64_t{1} : uint64_t{0},
          std::bit_cast<uint64_t>(spare_.value_or(0))};
}

void Random::resume(const State& state) {
  const auto& [seed, counter, used, has_spare, spare] = state;
  if (used > 4 || (used < 4 && counter == 0) || has_spare > 1)
    throw Error("these numbers are not a state of the random generator");
  reseed(seed);
  counter_ = counter;
  used_ = static_cast<int>(used);
  if (used < 4) {
    const uint64_t last = counter - 1;
    block_ = philox4x32({static_cast<uint32_t>(last), static_cast<uint32_t>(last >> 32), 0, 0}, key_);
  }
  if (has_spare != 0) spare_ = std::bit_cast<double>(spare);
}

uint32_t Random::bits() {
  if (used_ == 4) {
    block_ = philox4x32({static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0}, key_);
    ++counter_;
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

double Random::uniform() {
  const uint32_t high = bits(), low = bits();
  double u;
  bulk().unit_numbers(&high, &low, 0, 1, &u, 1);
  return u;
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
  if (spare_) {
    const double value = *spare_;
    spare_.reset();
    return value;
  }
  // 1 - u is in (0, 1], so its logarithm is finite.
  const double x = 1.0 - uniform(), angle = 2.0 * std::numbers::pi * uniform();
  double pair[2];
  bulk().box_muller(&x, &angle, pair, 1);
  spare_ = pair[1];
  return pair[0];
}

void Random::uniform_pairs(uint64_t first, int64_t n, double* numbers) const {
  PhiloxWords words;
  double pair[2][philox_batch];
  for (int64_t at = 0; at < n; at += philox_batch) {
    const int64_t m = std::min(philox_batch, n - at);
    words.draw(key_, 0, first + static_cast<uint64_t>(at), m);
    for (int k = 0; k < 2; ++k) bulk().unit_numbers(words.at[2 * k], words.at[2 * k + 1], 0, 1, pair[k], m);
    for (int64_t i = 0; i < m; ++i)
      for (int k = 0; k < 2; ++k) numbers[2 * (at + i) + k] = pair[k][i];
  }
}

void Random::normal_pairs(uint64_t first, int64_t n, double* numbers) const {
  PhiloxWords words;
  double x[philox_batch], angle[philox_batch];
  for (int64_t at = 0; at < n; at += philox_batch) {
    const int64_t m = std::min(philox_batch, n - at);
    words.draw(key_, 0, first + static_cast<uint64_t>(at), m);
    bulk().unit_numbers(words.at[0], words.at[1], 1, -1, x, m);
    bulk().unit_numbers(words.at[2], words.at[3], 0, 2 * std::numbers::pi, angle, m);
    bulk().box_muller(x, angle, numbers + 2 * at, m);
  }
}

namespace {

/// The destination of drawn numbers: a new array in float32, or in float64 for all other dtypes.
class Target {
 public:
  Target(DType dtype, const Shape& shape)
      : dtype_(dtype), array_(dtype == DType::float32 ? DType::float32 : DType::float64, shape) {
    if (!array_.has_elements()) return;
    narrow_ = dtype == DType::float32 ? array_.mutable_data<float>() : nullptr;
    wide_ = narrow_ ? nullptr : array_.mutable_data<double>();
  }
  int64_t size() const { return array_.size(); }
  bool has_elements() const { return array_.has_elements(); }
  /// Writes of(numbers) to the elements from i.
  template <class Of>
  void put(int64_t i, const double* numbers, int64_t n, const Of& of) const {
    if (narrow_)
      for (int64_t k = 0; k < n; ++k) narrow_[i + k] = static_cast<float>(of(numbers[k]));
    else
      for (int64_t k = 0; k < n; ++k) wide_[i + k] = of(numbers[k]);
  }
  Array result() const { return has_elements() ? array_.cast(dtype_) : Array::unevaluated(dtype_, array_.shape()); }

 private:
  DType dtype_;
  Array array_;
  float* narrow_ = nullptr;
  double* wide_ = nullptr;
};

/// Transforms standard normal numbers.
struct NormalRange {
  double mean, std;
  double operator()(double z) const { return mean + std * z; }
};

void check_deviation(double std) {
  if (!(std >= 0)) throw Error(fmt::format("a standard deviation of {} is not a number from 0 up", std));
}

/// Calls part(begin, end) for chunks of n pairs, on all threads if there are many pairs.
void in_parts(int64_t n, const std::function<void(int64_t, int64_t)>& part) {
  constexpr int64_t min_divided = 4096;            // pairs
  constexpr int64_t max_pairs = int64_t{1} << 22;  // between two looks at Ctrl-C: some 40 ms of one core
  for (int64_t first = 0, last = 0; first < n; first = last) {
    last = std::min(n, first + max_pairs);
    charge((last - first) * 2 * array_draw_ns);
    if (last - first < min_divided) {
      part(first, last);
      continue;
    }
    thread_pool().run(
        [&](int thread, int threads) {
          const ChunkRange share = chunk_range(last - first, thread, threads);
          part(first + share.begin, first + share.end);
        },
        static_cast<double>((last - first) * 2 * array_draw_ns));
  }
}

/// Draws `pairs` pairs with make(k, n, numbers), which draws n pairs from pair k, and writes of(numbers) to the
/// elements from `done`.
template <class Of, class Make>
void put_pairs(const Target& to, int64_t done, int64_t pairs, const Of& of, Make make) {
  in_parts(pairs, [&](int64_t begin, int64_t end) {
    double numbers[2 * philox_batch];
    for (int64_t k = begin; k < end; k += philox_batch) {
      const int64_t n = std::min(philox_batch, end - k);
      make(k, n, numbers);
      to.put(done + 2 * k, numbers, 2 * n, of);
    }
  });
}

/// Minimum elements of a lazy draw. Below it, drawing takes less time than keeping the state for a later draw.
constexpr int64_t min_lazy_elements = 1 << 16;

/// Whether a draw may wait until its elements are needed. Large arrays have no elements anyway in a look. Throws, as
/// the draw would, if there is not enough memory.
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
  if (count > 0 && spare_) spare_.reset(), --count;
  counter_ += static_cast<uint64_t>(count / 2);
  if (count % 2 != 0) (void)normal();
}

Array Random::uniform(DType dtype, const Shape& shape, double low, double high) {
  (void)UniformRange(dtype, low, high);  // refuses bounds now, not when elements are drawn
  if (!may_wait(dtype, shape)) return uniform_now(dtype, shape, low, high);
  Array later =
      Array::lazy(dtype, shape, [=, now = *this]() mutable { return now.uniform_now(dtype, shape, low, high); });
  skip_bits(2 * element_count(shape));
  return later;
}

Array Random::uniform_now(DType dtype, const Shape& shape, double low, double high) {
  const UniformRange of(dtype, low, high);
  const Target to(dtype, shape);
  if (!to.has_elements()) return to.result();
  int64_t done = 0;
  const auto put_one = [&] {
    const double u = uniform();
    to.put(done++, &u, 1, of);
  };
  // Draws single numbers up to the end of a block, if a block ends between two numbers.
  while (done < to.size() && used_ != 4 && used_ % 2 == 0) put_one();
  if (used_ == 4) {
    const int64_t pairs = (to.size() - done) / 2;
    put_pairs(to, done, pairs, of, [&](int64_t k, int64_t n, double* numbers) {
      uniform_pairs(counter_ + static_cast<uint64_t>(k), n, numbers);
    });
    counter_ += static_cast<uint64_t>(pairs);
    done += 2 * pairs;
  }
  charged_chunks(to.size() - done, draw_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) put_one();
  });
  return to.result();
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
  const Target to(dtype, shape);
  const NormalRange of{mean, std};
  if (!to.has_elements()) return to.result();
  int64_t done = 0;
  const auto put_one = [&] {
    const double z = normal();
    to.put(done++, &z, 1, of);
  };
  if (spare_ && to.size() > 0) put_one();
  if (used_ == 4) {
    // Each block of the generator now yields two numbers, independent of the thread that computes it.
    const int64_t pairs = (to.size() - done) / 2;
    put_pairs(to, done, pairs, of, [&](int64_t k, int64_t n, double* numbers) {
      normal_pairs(counter_ + static_cast<uint64_t>(k), n, numbers);
    });
    counter_ += static_cast<uint64_t>(pairs);
    done += 2 * pairs;
  }
  charged_chunks(to.size() - done, draw_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) put_one();
  });
  return to.result();
}

Array Random::truncated_normal(DType dtype, const Shape& shape, double mean, double std, double bound) {
  check_deviation(std);
  if (!(bound > 0)) throw Error(fmt::format("a truncated normal needs a bound above 0, not {}", bound));
  const Target to(dtype, shape);
  const NormalRange of{mean, std};
  if (!to.has_elements()) return to.result();
  // A narrow bound would reject nearly all normal draws. Rejection sampling from a uniform proposal has the same
  // distribution and accepts nearly all draws.
  const bool narrow = bound < 0.5;
  int64_t done = 0;
  if (!narrow && used_ == 4) {
    // Draws pairs ahead of the generator. The last pairs may be used in part.
    double numbers[2 * philox_batch];
    while (done < to.size()) {
      const int64_t pairs = std::min(philox_batch, to.size() - done);
      charge(2 * pairs * array_draw_ns);
      if (spare_) {
        const double z = *spare_;
        spare_.reset();
        if (std::fabs(z) <= bound) to.put(done++, &z, 1, of);
        continue;
      }
      normal_pairs(counter_, pairs, numbers);
      int64_t k = 0;
      for (; k < 2 * pairs && done < to.size(); ++k)
        if (std::fabs(numbers[k]) <= bound) to.put(done++, numbers + k, 1, of);
      counter_ += static_cast<uint64_t>((k + 1) / 2);
      if (k % 2 != 0) spare_ = numbers[k];
    }
    return to.result();
  }
  charged_chunks(to.size(), draw_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const double z = narrow ? bound * (2 * uniform() - 1) : normal();
      const bool accepted = narrow ? uniform() < std::exp(-0.5 * z * z) : std::fabs(z) <= bound;
      if (accepted) to.put(i++, &z, 1, of);
    }
  });
  return to.result();
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
