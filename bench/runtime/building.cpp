// Times building (elaboration, backward pass, updates) and planning of networks with 1 to 24 layers. The program is
// bench/layers.pxl, parsed anew each time. The layers' ops are written out, or one graph per kind of layer is called.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/interpreter.hpp"

namespace {

using namespace pxl;

void build(benchmark::State& state, const char* network, bool outline) {
  std::ifstream file(PXL_SOURCE_DIR "/bench/layers.pxl");
  std::ostringstream text;
  text << file.rdbuf();
  const ast::TreePtr tree = parse_or_throw(add_source("layers.pxl", text.str()));
  for (auto _ : state) {
    InterpreterOptions options;
    options.out = options.err = [](std::string_view) {};
    options.quiet = true;
    options.options = {{"layers", std::to_string(state.range(0))},
                       {"network", network},
                       {"outline", outline ? "true" : "false"},
                       {"rounds", "1"}};
    Interpreter in(std::move(options));
    evaluator_of(in).run_file(tree);
  }
  state.counters["per layer"] = benchmark::Counter(static_cast<double>(state.range(0) * state.iterations()),
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetComplexityN(state.range(0));
}

void layers(benchmark::internal::Benchmark* b) {
  b->Arg(1)->Arg(3)->Arg(6)->Arg(12)->Arg(24)->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
}

BENCHMARK_CAPTURE(build, transformer, "transformer", false)->Apply(layers);
BENCHMARK_CAPTURE(build, transformer outlined, "transformer", true)->Apply(layers);
BENCHMARK_CAPTURE(build, mlp, "mlp", false)->Apply(layers);
BENCHMARK_CAPTURE(build, mlp outlined, "mlp", true)->Apply(layers);

}  // namespace
