// The interactive introduction. Each step prints an explanation and an input. Enter runs the input; if the user types
// another text, that text runs.
#include <fmt/format.h>

#include "interpreter/commands/commands.hpp"
#include "interpreter/tools/theme.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {
namespace {

struct Stop {
  std::string_view about, input;
};

constexpr Stop stops[] = {
    {"Host values are computed immediately: numbers, strings, lists, and arrays with a dtype and a shape.",
     "a = array([[1.0, 2.0], [3.0, 4.0]])\na @ a + 1"},
    {"A spec is a dtype indexed by a shape. A variable is a tensor: it belongs to the graph that is being built.",
     "variable w: float32[2, 2] = 0.5"},
    {"An op on a tensor computes nothing yet. It is added to the graph and returns a tensor with a known shape.",
     "y = gelu(a @ w)"},
    {"Print the graph of the top level. Each line is an op.", "print(ir.main_graph)"},
    {"`eval` computes a tensor whose inputs are known, in a temporary session.", "eval(y)"},
    {"A module has named parameters. In `build`, tensors become inputs of a graph.",
     "module Dense(out: int) {\n  build(x) {\n    param weight: x.dtype[x.shape[1], out] = normal(0, 0.1)\n    return "
     "x @ weight\n  }\n}"},
    {"`create_graph` builds the graph once for a spec, and returns factories for its variables.",
     "facts, graph = Dense(3).create_graph(float32[4, 2])\ngraph"},
    {"Gradients are graphs as well.", "autodiff(graph).graph"},
    {"A program declares an ir with streams between host and device: here one training step.",
     "program train {\n  stream in x: float32[4, 2]\n  stream in labels: int32[4]\n  facts, graph = "
     "Dense(3).create_graph(x.spec)\n"
     "  net = graph.bind(facts.init())\n  fwd = net.call_with_info(host_load(x))\n"
     "  ce, dy = cross_entropy_with_grad(fwd.output, host_load(labels))\n  stream out loss = ce\n"
     "  grads = fwd.backward(dy, net.vars)\n  for v in net.vars.tensors { scaled_add_(v, grads[v], b = -0.5) }\n}"},
    {"A session runs it any number of times. The variables are its state.",
     "session = Session(train())\nx = normal(0, 1, [4, 2])\nlabels = array([0, 1, 2, 0], int32)\n"
     "[float(session.run(x = x, labels = labels).loss) for i in range(5)]"},
};

}  // namespace

void command_tour(Console& console, std::string_view) {
  EngineOptions options;
  options.out = [&](std::string_view text) { write_out_as_is(text); };
  Engine engine(std::move(options));
  console.print(
      fmt::format("{} steps, in a separate session. Enter runs the input shown; other input is run instead; q exits.",
                  std::size(stops)));
  size_t number = 0;
  for (const Stop& stop : stops) {
    const std::string input(stop.input);
    console.print(fmt::format("\n{}/{}  {}\n", ++number, std::size(stops), stop.about));
    std::string shown = console.colour() ? colour_source(input) : input;
    for (size_t at = 0; (at = shown.find('\n', at)) != shown.npos; at += 5) shown.replace(at, 1, "\n    ");
    console.print("    " + shown);
    while (true) {
      std::string line;
      const Console::Read got = console.read("tour> ", line);
      if (got == Console::Read::interrupted) {
        clear_interrupt();
        console.print("^C");
        continue;
      }
      if (got == Console::Read::end || line == "q" || line == ":quit" || line == ":q")
        return console.print("tour ended");
      const bool own = line.find_first_not_of(" \t") != line.npos;
      console.report(engine.submit(own ? line : input));
      if (console.done) return;
      if (!own) break;
    }
  }
  console.print("\nEnd of the tour. `:help` lists the ops and commands; docs/language.md has the rest.");
}

}  // namespace pxl
