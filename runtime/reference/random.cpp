// Random ops: every value follows from the seed and from the position of its element.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/kernels/random/random.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"
#include "runtime/tensor/random.hpp"
#include "runtime/tensor/uniform_range.hpp"

namespace pxl::reference {

namespace {

std::array<uint32_t, 2> seed(const ReferenceContext& c, size_t slot) {
  const Naturals words = c.natural(slot);
  return {static_cast<uint32_t>(words.data()[0]), static_cast<uint32_t>(words.data()[1])};
}

// The word of element i.
uint32_t word(std::array<uint32_t, 2> key, RandomStream stream, size_t i) {
  return random_words(key, stream, i / 4)[i % 4];
}

// Uniform on [0, 1): 24 bits, or all 53 for float64; the neighbouring word provides the last bits.
double unit(std::array<uint32_t, 2> key, size_t i, DType dtype) {
  const uint64_t own = word(key, RandomStream::uniform, i);
  if (dtype != DType::float64) return static_cast<double>(own >> 8) * 0x1p-24;
  const uint32_t beside = word(key, RandomStream::uniform, i / 4 * 4 + (i + 1) % 4);
  return static_cast<double>(own << 21 | beside * 0x9e3779b1U >> 11) * 0x1p-53;
}

// Whether the elements of a mask are kept.
Wholes kept(const ReferenceContext& c, const Shape& shape, double p) {
  Wholes keep = Wholes::from_shape(extents(shape));
  const auto threshold = static_cast<uint64_t>(p * 0x1p32);
  for (size_t i = 0; i < keep.size(); ++i) keep.data()[i] = word(seed(c, 1), RandomStream::mask, i) >= threshold;
  return keep;
}

}  // namespace

void random_uniform(ReferenceContext& c) {
  const UniformRange of(c.out_dtype(), c.number("low"), c.number("high"));
  Reals y = Reals::from_shape(extents(c.out_shape()));
  for (size_t i = 0; i < y.size(); ++i) y.data()[i] = of(unit(seed(c, 0), i, c.out_dtype()));
  c.out(0, y);
}

// Box and Muller: two words make two numbers.
void random_normal(ReferenceContext& c) {
  Reals y = Reals::from_shape(extents(c.out_shape()));
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t first = i / 2 * 2;
    const double u = (word(seed(c, 0), RandomStream::normal, first) + 1.0) * 0x1p-32;
    const double angle = word(seed(c, 0), RandomStream::normal, first + 1) * (0x1p-32 * 2 * std::numbers::pi);
    y.data()[i] = c.number("mean") +
                  c.number("std") * std::sqrt(-2 * std::log(u)) * (i == first ? std::cos(angle) : std::sin(angle));
  }
  c.out(0, y);
}

void dropout(ReferenceContext& c) {
  const double p = c.number("p");
  c.out(0, xt::where(xt::not_equal(kept(c, c.shape(0), p), 0), c.real(0) * (1 / (1 - p)), 0.0));
}
void shaped_dropout(ReferenceContext& c) {
  const double p = c.number("ratio");
  c.out(0, xt::where(xt::not_equal(kept(c, c.integers("shape"), p), 0), c.real(0) * (1 / (1 - p)), 0.0));
}

void checked_weights(ReferenceContext& c) {
  const Reals x = c.real(0);
  const int64_t n = c.shape(0).back(), rows = n == 0 ? 0 : static_cast<int64_t>(x.size()) / n;
  for (int64_t row = 0; row < rows; ++row)
    WeightRow{c.boolean("logits"), row, rows, n}.check(x.data() + static_cast<size_t>(row * n));
  c.out(0, x);
}

void modify_random_seed(ReferenceContext& c) {
  const auto words = random_words(seed(c, 0), RandomStream::seed, c.natural(1).data()[0]);
  c.out(0, Naturals{words[0], words[1]});
}

}  // namespace pxl::reference
