// Times the tile model on the training graphs of bench/layers.pxl: enumeration, search, memory and report.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "interpreter/language/check.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/interpreter.hpp"
#include "runtime/tiles/estimate.hpp"

namespace {

using namespace pxl;

void schedule_on_tiles(benchmark::State& state, bool outline) {
  std::ifstream file(PXL_SOURCE_DIR "/bench/layers.pxl");
  std::ostringstream text;
  text << file.rdbuf();
  InterpreterOptions options;
  options.out = options.err = [](std::string_view) {};
  options.quiet = true;
  options.options = {{"layers", std::to_string(state.range(0))},
                     {"network", "transformer"},
                     {"outline", outline ? "true" : "false"},
                     {"rounds", "1"}};
  Interpreter interpreter(std::move(options));
  const CheckResult looked = check_file(interpreter, parse_or_throw(add_source("layers.pxl", text.str())), {});
  if (looked.sessions.empty()) return state.SkipWithError("no session was made");
  // A schedule that fits is planned again with less memory, more often the smaller it is; here none fits.
  tiles::EstimateOptions tight;
  tight.machine.memory = tight.machine.executable = 16 << 10;
  size_t ops = 0;
  for (auto _ : state) ops = tiles::estimate(looked.sessions.front()->main(), tight).ops.size();
  state.counters["ops"] = static_cast<double>(ops);
  state.SetComplexityN(state.range(0));
}

void layers(benchmark::internal::Benchmark* b) {
  b->Arg(3)->Arg(6)->Arg(12)->Arg(24)->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
}

BENCHMARK_CAPTURE(schedule_on_tiles, unrolled, false)->Apply(layers);
BENCHMARK_CAPTURE(schedule_on_tiles, outlined, true)->Apply(layers);

}  // namespace
