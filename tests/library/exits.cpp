// `exit` in one thread while others load programs, evaluate and run. Argument: milliseconds until then.
#include <chrono>
#include <cstdlib>
#include <pxl/pxl.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

const char* const text = R"(
from nn import Linear
module Net {
  layer = Linear(32)
  build(x) { return gelu(self.layer(x)) }
}
program net {
  stream in x: float32[16, 32]
  facts, graph = Net().create_graph(x.spec)
  stream out y = graph.bind(facts.init_zero())(host_load(x))
}
)";

void load() {
  for (;;) {
    auto p = pxl::Program::from_text(text);
    if (!p.ok()) continue;  // a library that is ending may say so
    auto s = p.value().session("net");
    if (!s.ok()) continue;
    const std::vector<float> x(16 * 32, 0.5F);
    for (int i = 0; i < 20; ++i) static_cast<void>(s.value().run({{"x", {x, {16, 32}}}}));
    static_cast<void>(p.value().eval("max(3, 4)"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 20;
  for (int i = 0; i < 3; ++i) std::thread(load).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  std::exit(0);
}
