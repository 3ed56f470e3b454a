// bench_runtime: `--benchmark_filter=softmax` picks, `--benchmark_format=json` and the like as google-benchmark has
// them.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
