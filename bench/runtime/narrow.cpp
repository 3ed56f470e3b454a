// Times products of few rows with narrow weights, beside a plain read of the same weights in the same run. The times
// are the shortest CPU times. Arguments are the format (a position in `kinds`) and the rows.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "runtime/execute/program.hpp"
#include "runtime/kernels/elementwise/quantise.hpp"
#include "runtime/kernels/gemm/product.hpp"
#include "runtime/kernels/gemm/quantised_product.hpp"
#include "runtime/tensor/array.hpp"

namespace {

using namespace pxl;

constexpr int64_t columns = 4096, weight_bytes = int64_t{1} << 27;

struct Kind {
  const char* name;
  NarrowFormat format;
  DType dtype;
  int64_t group;  ///< rows that share a scale; 0 for no scales, -1 for one in each column
};
constexpr Kind kinds[] = {
    {"float32", NarrowFormat::float32, DType::float32, 0},
    {"float16", NarrowFormat::float16, DType::float16, 0},
    {"float8_143", NarrowFormat::float8_143, DType::float8_143, 0},
    {"float8_152", NarrowFormat::float8_152, DType::float8_152, 0},
    {"int8", NarrowFormat::int8, DType::int8, 0},
    {"int8, scales of columns", NarrowFormat::int8, DType::int8, -1},
    {"int8, groups of 64", NarrowFormat::int8, DType::int8, 64},
    {"int4, groups of 64", NarrowFormat::int4, DType::uint8, 64},
    {"int4, groups of 32", NarrowFormat::int4, DType::uint8, 32},
};

/// Reads input 0 and does next to nothing with it.
Kernel read_kernel(int64_t bytes) {
  using Words = uint64_t __attribute__((vector_size(64)));
  constexpr int64_t piece = 4096;
  return Kernel::parallel(bytes / piece, 1, static_cast<double>(bytes) * 0.1,
                          [](const Buffers& b, int64_t begin, int64_t end) {
                            Words sums[4] = {};
                            for (int64_t at = begin * piece; at < end * piece; at += 256)
                              for (int i = 0; i < 4; ++i) {
                                Words words;
                                std::memcpy(&words, b.in[0] + at + i * 64, sizeof words);
                                sums[i] |= words;
                              }
                            benchmark::DoNotOptimize(sums);
                          });
}

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds(const Kernel& kernel, const Buffers& buffers) {
  const double start = processor_time();
  kernel(buffers);
  benchmark::ClobberMemory();
  return processor_time() - start;
}

/// Times a product and a read of the same weights, in turn.
void measure(benchmark::State& state, const Kind& kind, const Kernel& product, std::vector<const std::byte*> in,
             const Array& w, Array& y) {
  const Kernel read = read_kernel(weight_bytes);
  const std::byte* weights[] = {w.raw()};
  std::byte* out[] = {y.mutable_raw()};
  const WorkspaceMemory memory(workspace_bytes(product));
  const Buffers operands = Buffers{in.data(), out}.with_workspace(memory.data(), product.workspace());
  double product_time = 1e9, read_time = 1e9;
  for (auto _ : state) {
    read_time = std::min(read_time, seconds(read, Buffers{weights, out}));
    const double time = seconds(product, operands);
    product_time = std::min(product_time, time);
    state.SetIterationTime(time);
  }
  state.SetLabel(kind.name);
  state.counters["read GB/s"] = static_cast<double>(weight_bytes) / read_time * 1e-9;
  state.counters["product GB/s"] = static_cast<double>(weight_bytes) / product_time * 1e-9;
  state.counters["of read %"] = 100 * read_time / product_time;
}

void narrow(benchmark::State& state) {
  const Kind& kind = kinds[state.range(0)];
  const bool packed = kind.format == NarrowFormat::int4;
  const int64_t m = state.range(1), lines = weight_bytes / columns / static_cast<int64_t>(width_of(kind.format)),
                k = packed ? 2 * lines : lines;
  Array w(kind.dtype, {lines, columns});
  for (int64_t i = 0; i < w.bytes(); ++i)
    w.mutable_raw()[i] = static_cast<std::byte>(i * 7 / 5 % (size_of(kind.dtype) == 1 ? 120 : 60));
  const int64_t group = kind.group < 0 ? k : std::max<int64_t>(kind.group, 1);
  const Array x = Array::full(DType::float32, {m, k}, 0.5),
              scales = Array::full(DType::float32, {kind.group == 0 ? 1 : k / group, columns}, 0.25);
  Array y = Array::zeros(DType::float32, {m, columns});
  ProductOptions options;
  options.right.narrow = NarrowSource{.format = kind.format, .slot = 1};
  if (kind.group != 0) {
    options.right.narrow = *dequantise_kernel(w.spec(), scales.spec(), packed, group).narrow_source();
    options.right.narrow->slot = 1;
    options.right.narrow->scales = 2;
  }
  options.right.compute = [](const Buffers&, float*, int64_t, int64_t, std::byte*) {};
  measure(state, kind, product_kernel(gemm_shape({m, k}, false, {k, columns}, false), options),
          {x.raw(), w.raw(), scales.raw()}, w, y);
}

/// Products of whole numbers: one product for each of the last three kinds.
void quantised(benchmark::State& state) {
  const Kind& kind = kinds[state.range(0)];
  const bool packed = kind.format == NarrowFormat::int4;
  const int64_t m = state.range(1), lines = weight_bytes / columns, k = packed ? 2 * lines : lines;
  const int64_t groups = k / kind.group;
  Array w(kind.dtype, {lines, columns});
  for (int64_t i = 0; i < w.bytes(); ++i) w.mutable_raw()[i] = static_cast<std::byte>(i * 7 / 5 % 120);
  const Array x = Array::full(DType::int8, {m, k}, 5), x_scales = Array::full(DType::float32, {m, groups}, 0.5),
              scales = Array::full(DType::float32, {groups, columns}, 0.25);
  Array y = Array::zeros(DType::float32, {m, columns});
  measure(state, kind, quantised_matmul_kernel(x.spec(), w.spec(), packed, kind.group),
          {x.raw(), w.raw(), x_scales.raw(), scales.raw()}, w, y);
}

BENCHMARK(quantised)
    ->ArgsProduct({benchmark::CreateDenseRange(static_cast<int64_t>(std::size(kinds)) - 3,
                                               static_cast<int64_t>(std::size(kinds)) - 1, 1),
                   {1, 4, 8, 16}})
    ->ArgNames({"format", "rows"})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(7);

BENCHMARK(narrow)
    ->ArgsProduct({benchmark::CreateDenseRange(0, static_cast<int64_t>(std::size(kinds)) - 1, 1), {1, 4, 8, 16}})
    ->ArgNames({"format", "rows"})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(7);

}  // namespace
