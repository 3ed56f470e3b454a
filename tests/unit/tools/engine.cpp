// Inputs of a session: what they show, what a failed, interrupted or undone one leaves.
#include "interpreter/tools/engine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "interpreter/graphs/graph_values.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/graph/schedule.hpp"

using namespace pxl;

namespace {

struct Fixture {
  std::string printed;
  Engine engine{{[this](std::string_view t) { printed += t; }, {}, true, false}};
  std::string show(const std::string& text) {
    const Outcome o = engine.submit(text);
    if (!o.diagnostics.empty()) return "error: " + o.diagnostics.front().message;
    return o.shown;
  }
  std::string graph() { return engine.ir() ? print_schedule(engine.ir()->main()) : "none"; }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "values of inputs") {
  CHECK(show("1 + 2") == "3");
  CHECK(show("_ * 2") == "6");
  CHECK(show("x = 4").empty());
  CHECK(show("_") == "6");
  CHECK(show("x;").empty());
  CHECK(show("_") == "4");
  CHECK(show("\"a;\"") == "'a;'");
  CHECK(show("x # why;") == "4");
  CHECK(show("array([[1.0, 2.0]])") == "float32[1, 2]\n[[1. 2.]]");
  CHECK(show("none").empty());
  CHECK(show("print(5)").empty());
  CHECK(printed == "5\n");
  CHECK(show("variable w: float32[2] = 3") == "");
  CHECK(show("w + 1") == "Tensor[add_out float32 (2,)]");
}

TEST_CASE_FIXTURE(Fixture, "what fails after the evaluation fails at the last statement") {
  const Outcome o = engine.aside("1\n22", [](const Value&) { throw Error("too large to show"); });
  REQUIRE(o.diagnostics.size() == 1);
  REQUIRE(o.diagnostics[0].span);
  CHECK(render(o.diagnostics[0]).find("2 | 22") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a run shows each stream once, by its own name where that is not another's") {
  CHECK(show("program p {\n"
             "  a = d2h_stream(float32[], name = \"b\")\n"
             "  b = d2h_stream(float32[], name = \"own\")\n"
             "  later = first = d2h_stream(float32[], name = \"c\")\n"
             "  c = d2h_stream(float32[], name = \"d\")\n"
             "  for i, s in enumerate([a, b, first, c]) { host_store(s, constant(float(i))) }\n"
             "}\n"
             "Session(p()).run()") == "a: 0.0\nd: 3.0\nfirst: 2.0\nown: 1.0");
}

TEST_CASE_FIXTURE(Fixture, "a text is whole, begins something or is wrong, by the parser") {
  CHECK(Engine::status("x = 1;") == Completeness::complete);
  CHECK(Engine::status("def f() {") == Completeness::incomplete);
  CHECK(Engine::status("f(") == Completeness::incomplete);
  CHECK(Engine::status("x = = 1") == Completeness::invalid);
}

TEST_CASE_FIXTURE(Fixture, "an input that fails leaves everything as it was") {
  show("xs = [1, 2]\nd = {\"a\": 1}\na = array([1.0, 2.0])\nn = 1\nvariable w: float32[2] = 3\ny = w + 1");
  show("random_seed(3)");
  const std::string before = graph();
  const std::string why = show(
      "xs.append(3)\nxs[0] = 9\nd[\"b\"] = 2\na[0] = 5\nn = 2\nfresh = 1\nuniform(0, 1, [2])\nz = relu(y) * w\nimport "
      "nn\nassert false");
  CHECK(why == "error: assertion failed: false");
  CHECK(show("xs") == "[1, 2]");
  CHECK(show("d") == "{'a': 1}");
  CHECK(show("a") == "float32[2]\n[1. 2.]");
  CHECK(show("n") == "1");
  CHECK(graph() == before);
  CHECK(show("fresh") == "error: unknown name `fresh`");
  CHECK(engine.names().size() == 6);
  // What is made next is named and numbered as if nothing had happened.
  show("z = y * w");
  Fixture other;
  other.show("xs = [1, 2]\nd = {\"a\": 1}\na = array([1.0, 2.0])\nn = 1\nvariable w: float32[2] = 3\ny = w + 1");
  other.show("random_seed(3)");
  other.show("z = y * w");
  CHECK(graph() == other.graph());
  CHECK(show("uniform(0, 1, [2])") == other.show("uniform(0, 1, [2])"));
}

TEST_CASE_FIXTURE(Fixture, "the first op of a session that fails leaves no program behind") {
  CHECK(show("variable w: float32[2] = 3\nassert false").starts_with("error"));
  CHECK(graph() == "none");
  CHECK(show("variable w: float32[2] = 3").empty());
  CHECK(show("w") == "Tensor[w float32 (2,)]");
}

TEST_CASE_FIXTURE(Fixture, "graphs of a finished program are taken back too") {
  show(
      "def f(x) { return x * x }\nprogram p {\n variable w: float32[2] = 3\n g = ir.create_graph(f, w)\n y = "
      "g(w)\n}\nq = p()");
  const std::string before = show("q.g");
  CHECK(show("autodiff(q.g)\nassert false").starts_with("error"));
  CHECK(show("q.g") == before);
  CHECK(show("autodiff(q.g).graph").find("f_subgraph(0)_bwd\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "modules keep their fields, trees their leaves") {
  show("module M { n = 1\n def set(v) { self.n = v } }\nm = M()\nt = DotTree()\nt.insert(\"a.b\", 1)");
  show("m.set(2)\nt.insert(\"a.c\", 2)\nassert false");
  CHECK(show("m.n") == "1");
  CHECK(show("t") == "{'a.b': 1}");
}

TEST_CASE_FIXTURE(Fixture, "undo takes back one input after the other") {
  show("xs = [1]");
  show("xs.append(2)");
  show("xs.append(3)\nvariable w: float32[2] = 3");
  CHECK(engine.undo() == "xs.append(3)\nvariable w: float32[2] = 3");
  CHECK(graph() == "none");
  CHECK(show("xs") == "[1, 2]");
  engine.undo();
  engine.undo();
  CHECK(show("xs") == "[1]");
  engine.undo();
  CHECK(engine.undo() == "xs = [1]");
  CHECK_FALSE(engine.undo());
  CHECK(engine.names().empty());
}

TEST_CASE_FIXTURE(Fixture, "an interrupt keeps values, not half-built graphs") {
  auto interrupted = [&](const std::string& text) {
    std::thread later([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      request_interrupt();
    });
    const auto start = std::chrono::steady_clock::now();
    const Outcome o = engine.submit(text);
    later.join();
    CHECK(o.kind == Outcome::Kind::interrupted);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1000));
    return o.kept;
  };
  show("n = 0\nvariable w: float32[2] = 3");
  CHECK(interrupted("while true { n = n + 1 }"));
  CHECK(show("n > 0") == "true");
  const std::string before = graph();
  CHECK_FALSE(interrupted("z = w + 1\nwhile true { n = -1 }"));
  CHECK(graph() == before);
  CHECK(show("n > 0") == "true");
}

TEST_CASE_FIXTURE(Fixture, "an interrupt while a text is parsed ends its request, and nothing else") {
  std::string text = "xs = [";
  for (int i = 0; i < 200'000; ++i) text += "1 + 2, ";
  text += "0]";
  std::atomic<bool> over{false};
  std::thread hammer([&] {
    while (!over) {
      request_interrupt();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const Outcome aside = engine.aside(text, [](const Value&) {}), submitted = engine.submit(text);
  const Completions completions = engine.complete(text, text.size());
  const std::optional<Inspection> inspection = engine.inspect(text, 10);
  engine.help("gelu");
  over = true;
  hammer.join();
  CHECK(aside.kind == Outcome::Kind::interrupted);
  CHECK(submitted.kind == Outcome::Kind::interrupted);
  CHECK_FALSE(submitted.kept);
  CHECK_FALSE(engine.undo());
  request_interrupt();  // before an input: it belongs to no input
  CHECK(show("1 + 1") == "2");
}

TEST_CASE_FIXTURE(Fixture, "asides change nothing") {
  show("xs = [1]\nvariable w: float32[2] = 3");
  const std::string before = graph();
  std::string type;
  CHECK(engine.aside("xs.append(2)\nw + 1", [&](const Value& v) { type = type_text(engine.interpreter(), v); }).ok());
  CHECK(type == "tensor float32[2]");
  CHECK(graph() == before);
  CHECK(show("xs") == "[1]");
}

TEST_CASE_FIXTURE(Fixture, "exit, and a file that is not there") {
  const Outcome o = engine.submit("exit(3)");
  CHECK(o.kind == Outcome::Kind::exited);
  CHECK(o.exit_status == 3);
  CHECK(engine.load("nothing.pxl").diagnostics.front().fault == Fault::unreadable);
}

TEST_CASE_FIXTURE(Fixture, "errors show the input's number") {
  show("x = 1");
  const Outcome o = engine.submit("x + \"a\"");
  REQUIRE(o.diagnostics.size() == 1);
  CHECK(render(o.diagnostics[0]).starts_with("[2]:1:"));
}

TEST_CASE("the line after an incomplete text is indented by its open brackets") {
  CHECK(Engine::indentation("def f(x) {\n").size() == 2);
  CHECK(Engine::indentation("def f(x) {\n  y = [1,\n").size() == 4);
  CHECK(Engine::indentation("f(1)\n").empty());
  CHECK(Engine::indentation("x +\n").empty());
  CHECK(Engine::indentation("}}\n").empty());
  // A string that is open would keep the spaces.
  CHECK(Engine::indentation("s = [\"\"\"a\n").empty());
  CHECK(Engine::indentation("s = [\"\"\"a\"\"\",\n").size() == 2);
  CHECK(Engine::indentation("s = [\"(\", '{',\n").size() == 2);
}

TEST_CASE("what a command throws is an outcome") {
  Engine engine({});
  CHECK(engine.guard([] {}).ok());
  const Outcome failed = engine.guard([] { throw Error("no"); });
  CHECK(failed.kind == Outcome::Kind::failed);
  CHECK(failed.diagnostics.front().message == "no");
  engine.number_next(7);
  CHECK(engine.submit("1").number == 7);
  CHECK(engine.next_number() == 8);
}
