// Times the tile model's whole schedule of the training graphs of bench/layers.pxl: plans, search, memory and report.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "interpreter/elaborate/interpreter.hpp"
#include "interpreter/syntax/parse.hpp"
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
  bool measured = false;
  options.on_session = [&](const Ir& ir) {
    if (measured) return;
    measured = true;
    size_t ops = 0;
    for (auto _ : state) ops = tiles::estimate(ir.main(), {}).ops.size();
    state.counters["ops"] = static_cast<double>(ops);
  };
  Interpreter(std::move(options)).run_file(parse_or_throw(add_source("layers.pxl", text.str())));
  if (!measured) state.SkipWithError("no session was made");
  state.SetComplexityN(state.range(0));
}

void layers(benchmark::internal::Benchmark* b) {
  b->Arg(3)->Arg(6)->Arg(12)->Arg(24)->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
}

BENCHMARK_CAPTURE(schedule_on_tiles, unrolled, false)->Apply(layers);
BENCHMARK_CAPTURE(schedule_on_tiles, outlined, true)->Apply(layers);

}  // namespace
