// Measures what this machine reaches: float32 products, and copies of memory.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "runtime/base/threads/thread_pool.hpp"
#include "runtime/execute/measurements/measurement.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/ops/op_builder.hpp"

namespace pxl {

namespace {

/// The shortest time that some calls took, in seconds.
template <class F>
double best_of(int calls, F&& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < calls; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

double product_flops() {
  constexpr int64_t n = 768;
  auto ir = std::make_shared<Ir>("roofline");
  Graph& main = ir->main();
  GraphOpBuilder builder(main);
  Tensor* a = main.add_variable(Array::full(DType::float32, {n, n}, 0.5), "a");
  Tensor* b = main.add_variable(Array::full(DType::float32, {n, n}, 0.25), "b");
  Tensor* c = builder.one("matmul", {builder.of(a), builder.of(b)}, {}).tensor();
  Stream& out = ir->add_stream(c->spec, "c", false);
  main.add_host_store(out, c);
  Session session(ir, "cpu");
  session.run({});
  return 2.0 * n * n * n / best_of(4, [&] { session.run({}); });
}

double copied_bytes() {
  constexpr int64_t bytes = int64_t{48} << 20;
  const std::unique_ptr<std::byte[]> from(new std::byte[bytes]), to(new std::byte[bytes]);
  std::memset(from.get(), 1, bytes);
  std::memset(to.get(), 2, bytes);
  const auto copy = [&](int share, int shares) {
    const ChunkRange range = chunk_range(bytes, share, shares, 4096);
    std::memcpy(to.get() + range.begin, from.get() + range.begin, static_cast<size_t>(range.end - range.begin));
  };
  return 2.0 * static_cast<double>(bytes) / best_of(4, [&] { thread_pool().run(copy, 1e7); });
}

}  // namespace

double Roofline::share(double flops_a_second, double bytes_a_second) const {
  return std::max(flops > 0 ? flops_a_second / flops : 0, bytes > 0 ? bytes_a_second / bytes : 0);
}

const Roofline& roofline() {
  static const Roofline measured = [] {
    const Session::Unprofiled own;
    return Roofline{product_flops(), copied_bytes()};
  }();
  return measured;
}

}  // namespace pxl
