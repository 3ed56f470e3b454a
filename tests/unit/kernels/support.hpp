// Helpers of the kernel tests: arrays of doubles in any dtype, and running a kernel on arrays.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/instruction_sets.hpp"
#include "runtime/kernels/kernel_variants.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline const double not_a_number = std::nan("");

inline Array make(DType dtype, Shape shape, const std::vector<double>& values) {
  Array a(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) write_number(dtype, a.mutable_raw(), static_cast<int64_t>(i), values[i]);
  return a;
}
/// Values between -2.5 and 2.5 that repeat late, exact in every floating dtype.
inline Array ramp(DType dtype, Shape shape, int seed = 0) {
  Array a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) {
    const int64_t k = (i * 37 + seed * 11 + 5) % 81 - 40;
    write_number(dtype, a.mutable_raw(), i, is_floating(dtype) ? static_cast<double>(k) / 16 : static_cast<double>(k));
  }
  return a;
}
inline std::vector<double> numbers(const Array& a) {
  std::vector<double> v;
  for (int64_t i = 0; i < a.size(); ++i) v.push_back(a.number(i));
  return v;
}
/// The variants of a family that run on this processor, ascending.
template <class Table>
std::vector<const Table*> usable_variants(std::span<const KernelVariant<Table>> variants) {
  std::vector<const Table*> usable;
  for (std::string_view set : usable_instruction_sets())
    if (const Table* table = &variant_for(set, variants); usable.empty() || usable.back() != table)
      usable.push_back(table);
  return usable;
}
/// A kernel's workspace for some threads, each of its regions between guards. Its content is no number of any dtype
/// that a kernel could rely on; the destructor checks that the guards are as they were.
class GuardedWorkspace {
 public:
  GuardedWorkspace(const Kernel& kernel, int threads) : size_(kernel.workspace()), memory_(bytes(threads)) {
    std::fill_n(memory_.data(), bytes(threads), uninitialised);
    starts_.push_back(guard);
    for (int t = 0; t < threads; ++t)
      starts_.push_back(2 * guard + size_.per_call + static_cast<size_t>(t) * (size_.per_thread + guard));
    mark();
  }
  GuardedWorkspace(const GuardedWorkspace&) = delete;
  GuardedWorkspace& operator=(const GuardedWorkspace&) = delete;
  ~GuardedWorkspace() {
    for (size_t at : guards_)
      CHECK(std::count(memory_.data() + at, memory_.data() + at + guard, guarded) ==
            static_cast<std::ptrdiff_t>(guard));
  }
  Buffers bind(const Buffers& b, int thread = 0) const {
    return {b.in, b.out, memory_.data() + starts_[0], memory_.data() + starts_[static_cast<size_t>(thread) + 1]};
  }

 private:
  static constexpr size_t guard = 256;
  static constexpr std::byte uninitialised{0xCB}, guarded{0xA7};
  size_t bytes(int threads) const {
    return size_.bytes(static_cast<size_t>(threads)) + (static_cast<size_t>(threads) + 2) * guard;
  }
  void mark() {
    guards_.push_back(0);
    for (size_t i = 0; i < starts_.size(); ++i)
      guards_.push_back(starts_[i] + (i == 0 ? size_.per_call : size_.per_thread));
    for (size_t at : guards_) std::fill_n(memory_.data() + at, guard, guarded);
  }
  WorkspaceSize size_;
  WorkspaceMemory memory_;
  std::vector<size_t> starts_, guards_;
};

inline std::vector<Array> run(const Kernel& kernel, std::vector<Array> in, const std::vector<TensorSpec>& out) {
  std::vector<const std::byte*> inputs;
  for (Array& a : in) inputs.push_back(a.mutable_raw());
  std::vector<Array> results;
  std::vector<std::byte*> outputs;
  for (const TensorSpec& s : out) results.emplace_back(s.dtype, s.shape);
  for (Array& a : results) outputs.push_back(a.mutable_raw());
  kernel(GuardedWorkspace(kernel, 1).bind(Buffers{inputs.data(), outputs.data()}));
  return results;
}
inline Array run(const Kernel& kernel, std::vector<Array> in, const TensorSpec& out) {
  return run(kernel, std::move(in), std::vector<TensorSpec>{out})[0];
}
/// Runs the phases in pieces of `pieces` shares each, last share first.
inline void run_in_pieces(const Kernel& kernel, const Buffers& buffers, int pieces) {
  const GuardedWorkspace workspace(kernel, pieces);
  for (const Phase& p : kernel.phases()) {
    const int64_t grains = (p.iterations + p.grain - 1) / p.grain;
    for (int s = pieces - 1; s >= 0; --s) {
      const int64_t begin = std::min(p.iterations, grains * s / pieces * p.grain);
      const int64_t end = std::min(p.iterations, grains * (s + 1) / pieces * p.grain);
      if (begin < end) p.part(workspace.bind(buffers, s), begin, end);
    }
  }
}

/// Whether the parts of a result have their values when the kernel says that they are complete, each element once.
inline void check_parts(const Kernel& kernel, const std::vector<const std::byte*>& in, const Array& whole) {
  const ResultParts& parts = *kernel.result_parts();
  Array result = Array::zeros(whole.dtype(), whole.shape());
  std::byte* out = result.mutable_raw();
  const GuardedWorkspace workspace(kernel, 1);
  const Buffers buffers = workspace.bind({in.data(), &out});
  const Phase& last = kernel.phases().back();
  for (const Phase& p : kernel.phases())
    if (&p != &last) p.part(buffers, 0, p.iterations);
  const auto width = static_cast<int64_t>(size_of(whole.dtype()));
  std::vector<int> times(static_cast<size_t>(whole.size()));
  int64_t others = 0;
  for (int64_t i = 0, next = 0; i < last.iterations; i = next) {
    next = std::min(last.iterations, (i / parts.together + 1) * parts.together);
    last.part(buffers, i, next);
    for (int64_t u = i; u < next; ++u)
      parts.of(u, [&](int64_t first, int64_t planes, int64_t begin, int64_t end) {
        for (int64_t p = first; p < first + planes; ++p)
          for (int64_t at = p * parts.plane + begin; at < p * parts.plane + end; ++at) {
            ++times[static_cast<size_t>(at)];
            others += std::memcmp(out + at * width, whole.raw() + at * width, static_cast<size_t>(width)) != 0;
          }
      });
  }
  CHECK(others == 0);
  CHECK(std::ranges::all_of(times, [](int n) { return n == 1; }));
}

/// The results whole, after comparing them with those of the kernel in 2, 3 and 7 pieces, and in the kernel's parts.
inline std::vector<Array> check_divided(const Kernel& kernel, std::vector<Array> in,
                                        const std::vector<TensorSpec>& out) {
  REQUIRE(!kernel.phases().empty());
  const std::vector<Array> whole = run(kernel, in, out);
  std::vector<const std::byte*> inputs;
  for (const Array& a : in) inputs.push_back(a.raw());
  for (int pieces : {2, 3, 7}) {
    std::vector<Array> divided;
    std::vector<std::byte*> outputs;
    for (const TensorSpec& s : out) divided.push_back(Array::zeros(s.dtype, s.shape));
    for (Array& a : divided) outputs.push_back(a.mutable_raw());
    run_in_pieces(kernel, {inputs.data(), outputs.data()}, pieces);
    for (size_t i = 0; i < whole.size(); ++i) CHECK(identical(whole[i], divided[i]));
  }
  if (kernel.result_parts() && kernel.result_parts()->of) check_parts(kernel, inputs, whole[0]);
  return whole;
}

inline TensorSpec spec(DType dtype, Shape shape) { return {std::move(shape), dtype, {}}; }

/// Within `tolerance` relative to the larger of 1 and |expected|; NaN equals NaN.
inline bool close(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::fabs(got - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}
inline double tolerance(DType dtype) {
  return dtype == DType::float64 ? 1e-12 : dtype == DType::float32 ? 2e-6 : std::ldexp(2.0, 1 - row(dtype).digits);
}
/// Half of the distance from 1 to the next number.
inline double unit_of(DType dtype) { return std::ldexp(1.0, -row(dtype).digits); }
inline constexpr DType floats[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};

}  // namespace pxl::test
