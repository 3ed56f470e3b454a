// Whole programs: those that the language's description shows, the golden ones, and the speed of a long one.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/unit/syntax/show.hpp"

namespace {

constexpr const char* network = R"~(from nn import Linear

## Training batch size.
option batch: int = 8
## Passes over the training set.
option epochs: int = 1
option lr: float = 0.05

module Net {
  fc1 = Linear(512)
  fc2 = Linear(512)
  fc3 = Linear(512)
  fc4 = Linear(10)

  build(x) {
    x = x.reshape([-1, 28 * 28])
    x = gelu(fc1(x))
    x = gelu(fc2(x))
    x = gelu(fc3(x))
    return fc4(x)
  }
}

program train {
  stream in image: float32[batch, 28, 28]
  stream in labels: int32[batch]

  facts, graph = Net().create_graph(image.spec)
  net = graph.bind(facts.init())

  fwd = net.call_with_info(host_load(image))
  ce, dy = cross_entropy_with_grad(fwd.output, host_load(labels))
  stream out loss = ce

  grads = fwd.backward(dy, net.vars)
  for v in net.vars.tensors { scaled_add_(v, grads[v], b = -lr) }
}

program infer(n: int) {
  stream in image: float32[n, 28, 28]
  facts, graph = Net().create_graph(image.spec)
  net = graph.bind(facts.init())
  stream out logits = net(host_load(image))
}

data = mnist()                          # real MNIST where it is found, else the built-in digits
session = Session(train(), "ipu_model")
with session {
  for epoch in range(epochs) {
    bar = progress(data.train.batches(batch, shuffle = true), f"Epoch {epoch + 1}/{epochs}")
    for image, labels in bar {
      out = session.run(image = image, labels = labels)
      bar.status(f"Loss:{out.loss:.4f}")
    }
  }
}

with Session(infer(80), "ipu_model") as evaluation {
  evaluation.load_from_session(session)
  hits = [mean(argmax(evaluation.run(image = image).logits, axis = -1) == labels)
          for image, labels in data.test.batches(80)]
  print(f"Accuracy on test set: {100 * mean(hits):.2f}%")
}
)~";

constexpr const char* linear = R"~(## A dense layer, y = x W + b.
module Linear(out_features: int, bias: bool = true) {
  build(x: tensor[..., d]) {
    param weight: x.dtype[d, out_features] = normal(0, 0.02)
    y = x @ weight
    if bias {
      param bias: x.dtype[out_features] = 0
      y = y + bias
    }
    return y
  }
}
)~";

constexpr const char* adam = R"~(module Adam {
  build(ref weight, grad, lr, beta1 = 0.9, beta2 = 0.999, eps = 1e-5, weight_decay = 0.0,
        first_order_dtype = float16, bias_correction = true) with in_sequence() {
    param ref first_order: first_order_dtype[weight.spec] = 0
    accumulate_moving_average_(first_order, grad, f = beta1)
    param ref second_order: float32[weight.spec] = 0
    accumulate_moving_average_square_(second_order, grad, f = beta2)
    step = none
    if bias_correction { param ref step: float32[] = 0 }
    dw = adam_updater(first_order, second_order, weight = weight, weight_decay = weight_decay,
                      time_step = step, beta1 = beta1, beta2 = beta2, epsilon = eps)
    scaled_add_(weight, dw, b = -lr)
  }
}
)~";

}  // namespace

TEST_CASE("the four-layer network") {
  auto result = pxl::test::parse_text(network);
  INFO(pxl::test::errors(network));
  REQUIRE(result.tree);
  using pxl::ast::StmtKind;
  std::vector<StmtKind> kinds;
  for (const auto* s : result.tree->body->statements) kinds.push_back(s->kind);
  CHECK(kinds == std::vector<StmtKind>{StmtKind::from_import, StmtKind::option, StmtKind::option, StmtKind::option,
                                       StmtKind::module, StmtKind::program, StmtKind::program, StmtKind::assign,
                                       StmtKind::assign, StmtKind::with, StmtKind::with});
  CHECK(static_cast<const pxl::ast::OptionStmt*>(result.tree->body->statements[1])->doc == "Training batch size.");
  const auto* module = static_cast<const pxl::ast::ModuleStmt*>(result.tree->body->statements[4]);
  CHECK(module->fields.size() == 4);
  REQUIRE(module->build);
  CHECK(module->build->body->statements.size() == 5);
}

TEST_CASE("a dense layer and an optimiser") {
  CHECK(pxl::test::tree(linear) ==
        "(module Linear(out_features:int bias:bool=true) (build build(x:(index tensor ... d)){"
        "(param weight : (index x.dtype d out_features) = (call normal 0 0.02f)); (y = (x @ weight)); "
        "(if bias {(param bias : (index x.dtype out_features) = 0); (y = (y + bias))}); (return y)}) "
        "\"A dense layer, y = x W + b.\")");
  CHECK(pxl::test::errors(adam) == "");
}

TEST_CASE("golden programs") {
  int seen = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(PXL_SOURCE_DIR) / "tests/golden")) {
    if (entry.path().extension() != ".pxl") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    CAPTURE(entry.path().string());
    CHECK(pxl::test::errors(text.str()) == "");
    ++seen;
  }
  CHECK(seen >= 4);
}

TEST_CASE("a thousand lines take about 20 ms") {
  std::string text;
  for (int i = 0; i < 16; ++i) text += network;
  const pxl::SourceFile& source = pxl::add_source("long.pxl", text);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto start = std::chrono::steady_clock::now();
    REQUIRE(pxl::parse(source).tree);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  MESSAGE(source.line_count() << " lines in " << best << " ms");
  // Far above what it takes, so that a loaded machine or a sanitizer does not fail it; a quadratic parser does.
  CHECK(best < 1500);
}
