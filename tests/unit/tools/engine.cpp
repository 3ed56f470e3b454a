// Inputs of a session: what they show, what a failed, interrupted or undone one leaves.
#include "interpreter/tools/engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "interpreter/graphs/programs.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/library/sessions.hpp"
#include "runtime/base/limits/interrupt.hpp"
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

std::shared_ptr<Ir> ir_of(const Value& value) {
  if (auto* session = value.as<SessionObject>()) return session->ir;
  return value.as<IrObject>()->ir;
}

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

TEST_CASE_FIXTURE(Fixture, "an input that fails leaves values, takes graphs back, and is undone whole") {
  show("xs = [1, 2]\nd = {\"a\": 1}\na = array([1.0, 2.0])\nn = 1\nvariable w: float32[2] = 3\ny = w + 1");
  show("random_seed(3)");
  const std::string before = graph();
  const Outcome failed = engine.submit(
      "xs.append(3)\nxs[0] = 9\nd[\"b\"] = 2\na[0] = 5\nn = 2\nfresh = 1\nuniform(0, 1, [2])\nz = relu(y) * w\nimport "
      "nn\nassert false");
  CHECK(failed.diagnostics.at(0).message == "assertion failed: false");
  CHECK(failed.left ==
        "what the input added to graphs is taken back; values and sessions stay as they were when it stopped; `:undo` "
        "takes back the whole input");
  CHECK(show("xs") == "[9, 2, 3]");
  CHECK(show("n + fresh + d[\"b\"]") == "5");
  CHECK(show("a") == "float32[2]\n[5. 2.]");
  CHECK(graph() == before);
  for (int i = 0; i < 4; ++i) CHECK(engine.undo());
  CHECK(show("xs") == "[1, 2]");
  CHECK(show("d") == "{'a': 1}");
  CHECK(show("a") == "float32[2]\n[1. 2.]");
  CHECK(show("n") == "1");
  CHECK(graph() == before);
  CHECK(show("fresh") == "error: unknown name `fresh`");
  CHECK(engine.names().size() == 6);
  // The next tensors are named and numbered as if nothing had happened.
  show("z = y * w");
  Fixture other;
  other.show("xs = [1, 2]\nd = {\"a\": 1}\na = array([1.0, 2.0])\nn = 1\nvariable w: float32[2] = 3\ny = w + 1");
  other.show("random_seed(3)");
  other.show("z = y * w");
  CHECK(graph() == other.graph());
  CHECK(show("uniform(0, 1, [2])") == other.show("uniform(0, 1, [2])"));
}

TEST_CASE_FIXTURE(Fixture, "an input that fails and has changed nothing is not undone") {
  show("n = 1");
  for (const char* text : {"n +", "unknown", "1 / 0", "n.member", "assert n == 2"}) {
    const Outcome o = engine.submit(text);
    CHECK(o.kind == Outcome::Kind::failed);
    CHECK(o.left.empty());
  }
  CHECK(engine.submit("variable w: float32[2] = 1\nassert false").left.starts_with("what the input added"));
  CHECK(engine.submit("variable(1.0)\nassert false").left == "what the input added to graphs is taken back");
  engine.undo();
  CHECK(engine.undo() == "n = 1");
}

TEST_CASE_FIXTURE(Fixture, "what was taken back is refused where it is used") {
  show(
      "variable w: float32[2] = 3\ndef f(x) { return x * x }\ng = ir.create_graph(f, w)\nprogram p { variable v: "
      "float32[2] = "
      "1\n add_(v, 1) }\nq = p()");
  CHECK(show("z = w + 1\nh = ir.create_graph(f, w)\nk = q.main_graph\nstream in x: float32[2]\nstream out y = z\ns = "
             "Session(main)\nt = Session(q)\nt.run()\nassert false")
            .starts_with("error: assertion"));
  const std::string why = "was taken back with the input or the block that made it, which did not end";
  for (const char* use :
       {"z + 1", "relu(z)", "eval(z)", "g(z)", "h(w)", "host_load(x)", "host_store(y, w)", "autodiff(h)",
        "with h { w }", "concat([w, z])", "h.schedule", "h.tensors", "print(z.graph.ops)", "h.bind({})",
        "z.graph.get_tensor('x')", "stream out again = z", "repeat(h, 3, w)"})
    CHECK_MESSAGE(show(use).find(why) != std::string::npos, std::string(use), ": ", show(use));
  for (const char* use : {"s.run(x = [1, 2])", "s.get_tensor_data(w)", "s.report()", "s.save('x.safetensors')"})
    CHECK_MESSAGE(show(use).find("the session is closed") != std::string::npos, use, ": ", show(use));
  // Looking at it harms nobody, and a session of a program that the input did not change goes on.
  for (const char* look : {"z", "h", "z.shape", "z.graph", "s", "x", "y", "k", "[h, z]"}) {
    const std::string shown = show(look);
    CHECK_MESSAGE(!shown.starts_with("error"), std::string(look), ": ", shown);
  }
  show("t.run()");
  CHECK(show("t.get_tensor_data(q.v)") == "float32[2]\n[3. 3.]");
  CHECK(show("q.v").starts_with("Tensor"));
  // The names are free again.
  CHECK(show("z = w + 1\nstream in x: float32[2]\nstream out y = z * host_load(x)").empty());
  CHECK(show("Session(main).run(x = [1, 2]).y") == "float32[2]\n[4. 8.]");
}

TEST_CASE_FIXTURE(Fixture, "the first op of a session that fails leaves no program behind") {
  CHECK(show("variable w: float32[2] = 3\nassert false").starts_with("error"));
  CHECK(graph() == "none");
  CHECK(show("w * 2").find("taken back") != std::string::npos);
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

TEST_CASE_FIXTURE(Fixture, "modules keep their fields, trees their leaves, when an input is undone") {
  show("module M { n = 1\n def set(v) { self.n = v } }\nm = M()\nt = DotTree()\nt.insert(\"a.b\", 1)");
  show("m.set(2)\nt.insert(\"a.c\", 2)\nassert false");
  CHECK(show("m.n") == "2");
  engine.undo();
  engine.undo();
  CHECK(show("m.n") == "1");
  CHECK(show("t") == "{'a.b': 1}");
}

TEST_CASE_FIXTURE(Fixture, "sessions and their variables are undone") {
  show("program count {\n  variable n: float32[2] = 0\n  stream out now = add_(n, 1)\n}\ns = Session(count())");
  const auto value = [&] { return show("s.get_tensor_data(s.ir.n)[0]"); };
  const auto undo = [&](int inputs) {
    for (int i = 0; i < inputs; ++i) engine.undo();
  };
  CHECK(value() == "0.0");
  show("for i in range(3) { s.run() }");
  CHECK(value() == "3.0");
  undo(2);
  CHECK(value() == "0.0");
  // A loop that fails.
  const Outcome o = engine.submit("seen = []\nfor i in range(9) { seen.append(s.run().now)\n assert i < 4 }");
  CHECK(o.left == "values and sessions stay as they were when the input stopped; `:undo` takes back the whole input");
  CHECK(show("len(seen)") == "5");
  CHECK(value() == "5.0");
  undo(3);
  CHECK(value() == "0.0");
  CHECK(show("seen").starts_with("error"));
  // Undo covers writes to variables, and a session that took the place of another.
  show("s.write_variable_data(s.ir.n, [7.0, 7.0])");
  CHECK(value() == "7.0");
  show("s = Session(count())\ns.run()");
  CHECK(value() == "1.0");
  undo(2);
  CHECK(value() == "7.0");
  undo(3);
  CHECK(value() == "0.0");
}

TEST_CASE_FIXTURE(Fixture, "a program ends with the last input that can bring it back") {
  const std::string texts[] = {
      "s = Session(p())", "ir_of = p()",
      // A function and the scope that binds it, in the program and around it.
      "program p {\n  variable w: float32[4] = 1\n  def twice(x) { return x + x if true else twice(x) }\n  stream out "
      "y = "
      "twice(w)\n}\ns = Session(p())",
      "program p {\n  variable w: float32[4] = 1\n  module Own { build(x) { return x + w } }\n  held = [Own()]\n  "
      "stream out y "
      "= w + 1\n}\ns = Session(p())",
      "def made() {\n  def again() { return made_again }\n  made_again = again\n  q = p()\n  return q\n}\ns = "
      "Session(made())",
      "def made() {\n  q = p()\n  each = [() => [q, each]]\n  return each\n}\ns = Session(made()[0]()[0])",
      // Its streams, captured by a graph that calls share.
      "program p {\n  variable w: float32[4] = 1\n  stream out y: float32[4]\n  outlined def sent(t) { host_store(y, "
      "t)\n return t "
      "}\n  sent(w)\n}\ns = Session(p())"};
  for (const std::string& text : texts) {
    show("program p {\n  variable w: float32[4] = 1\n  stream out y = w + 1\n}");
    std::vector<std::weak_ptr<Ir>> irs;
    for (int i = 0; i < 12; ++i) {
      const std::string shown = show(text);
      CHECK_MESSAGE(shown.empty(), text, ": ", shown);
      const std::string name = text.find("ir_of") == 0 ? "ir_of" : "s";
      for (const auto& [bound, value] : engine.names())
        if (bound == name) irs.push_back(ir_of(value));
    }
    const auto alive = std::count_if(irs.begin(), irs.end(), [](const auto& ir) { return !ir.expired(); });
    CHECK_MESSAGE(alive == Engine::undo_depth + 1, text);
  }
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

TEST_CASE_FIXTURE(Fixture, "an interrupt leaves values, and takes graphs back") {
  auto interrupted = [&](const std::string& text) {
    std::thread later([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      request_interrupt();
    });
    const std::clock_t start = std::clock();
    const Outcome o = engine.submit(text);
    later.join();
    CHECK(o.kind == Outcome::Kind::interrupted);
    CHECK(std::clock() - start < CLOCKS_PER_SEC);
    return o.left;
  };
  show("n = 0\nvariable w: float32[2] = 3");
  CHECK(interrupted("while true { n = n + 1 }").starts_with("values and sessions stay"));
  CHECK(show("n > 0") == "true");
  const std::string before = graph();
  CHECK(interrupted("z = w + 1\nwhile true { n = -1 }")
            .starts_with("what the input added to graphs is taken back; values"));
  CHECK(graph() == before);
  CHECK(show("n") == "-1");
  CHECK(interrupted("while true { }").empty());
  CHECK(engine.undo() == "n");
  CHECK(engine.undo() == "z = w + 1\nwhile true { n = -1 }");
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
  CHECK(submitted.left.empty());
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

TEST_CASE("an exception of a command is an outcome") {
  Engine engine({});
  CHECK(engine.guard([] {}).ok());
  const Outcome failed = engine.guard([] { throw Error("no"); });
  CHECK(failed.kind == Outcome::Kind::failed);
  CHECK(failed.diagnostics.front().message == "no");
  engine.number_next(7);
  CHECK(engine.submit("1").number == 7);
  CHECK(engine.next_number() == 8);
}
