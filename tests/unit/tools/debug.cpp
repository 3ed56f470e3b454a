// Runs looked at: NaN checks, stepping, statistics while training, gradients against differences.
#include "interpreter/tools/debug.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "interpreter/tools/engine.hpp"
#include "interpreter/tools/statistics.hpp"

using namespace pxl;

namespace {

constexpr const char* program = R"(
def inner(x) { return log(x) }
program p {
  stream in x: float32[4]
  variable w: float32[4] = 1
  g = ir.create_graph(inner, w)
  with in_sequence() {
    scaled_add_(w, host_load(x), b = 1.0)
    y = g(w)
    z = y * 2
    stream out r = z
  }
}
ir_p = p()
session = Session(ir_p)
)";

struct Fixture {
  std::string printed;
  Engine engine{{[this](std::string_view t) { printed += t; }, {}, true, false}};
  Fixture() { REQUIRE(engine.submit(program).ok()); }
  std::string show(const std::string& text) {
    const Outcome o = engine.submit(text);
    if (o.diagnostics.empty()) return o.shown;
    std::string all = o.diagnostics.front().message;
    for (const std::string& n : o.diagnostics.front().notes) all += "\n" + n;
    return all;
  }
};

}  // namespace

TEST_CASE("statistics") {
  const auto of_values = [](std::vector<float> v) {
    return text(statistics_of(Array::from<float>({static_cast<int64_t>(v.size())}, v)));
  };
  CHECK(of_values({1, 2, 3, 4}) == "from 1 to 4, mean 2.5, deviation 1.11803");
  CHECK(of_values({7}) == "7");
  CHECK(of_values({}) == "empty");
  CHECK(of_values({1, NAN, INFINITY}) == "1 of 3 elements NaN, 1 infinite, the rest from 1 to 1");
  CHECK(of_values({NAN, NAN}) == "2 of 2 elements NaN");
}

TEST_CASE_FIXTURE(Fixture, "a run ends at the op that first makes a NaN, and is taken back") {
  CHECK(show("session.run(x = [-3, -1, 0, 1]).r").find("nan") != std::string::npos);
  CHECK(show("session.get_tensor_data(ir_p.w)") == "float32[4]\n[-2.  0.  1.  2.]");
  show("nancheck()");
  const std::string why = show("session.run(x = [0, 0, 0, 0])");
  CHECK(why.starts_with("`log("));
  CHECK(why.find("` makes NaN and infinities") != std::string::npos);
  CHECK(why.find("from -2 to 2") != std::string::npos);
  CHECK(why.find("1 of 4 elements NaN, 1 infinite") != std::string::npos);
  // The message tells the origin of a NaN apart from an op that only gets it.
  CHECK(show("session.run(x = [0, nan, 0, 0])").find("gets values that are not finite") != std::string::npos);
  CHECK(show("session.get_tensor_data(ir_p.w)") == "float32[4]\n[-2.  0.  1.  2.]");
  show("nancheck(true, infinities = false)");
  CHECK(show("session.run(x = [2, 0, 0, 0]).r").find("-inf") != std::string::npos);
  show("nancheck(false)");
  CHECK(show("session.run(x = [-9, 0, 0, 0]).r").find("nan") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "stepping shows each op with its values") {
  std::string seen;
  Debugger& d = debugger_of(engine.interpreter());
  int left = 100;
  d.about_to_run = [&](const OpView& v) { seen += v.op.row->schedule; };
  d.pause = [&](const OpView& v) {
    seen += " " + std::to_string(v.outputs.front().number(0)) + "\n";
    return --left > 0 ? Debugger::Action::next : Debugger::Action::stop;
  };
  d.stepping = true;
  CHECK(show("session.run(x = [0, 0, 0, 0]).r") == "float32[4]\n[0. 0. 0. 0.]");
  CHECK(seen.find("ScaledAddLhsInplace 1.0") != std::string::npos);
  CHECK(seen.find("Log 0.0") != std::string::npos);
  CHECK(seen.find("Mul 0.0") != std::string::npos);
  // Stopped half-way: as if it had not run.
  d.stepping = true;
  left = 1;
  CHECK(engine.submit("session.run(x = [5, 5, 5, 5])").kind == Outcome::Kind::interrupted);
  CHECK(show("session.get_tensor_data(ir_p.w)") == "float32[4]\n[1. 1. 1. 1.]");
  // A breakpoint, by any of its names.
  d.stepping = false;
  for (const char* name : {"log", "Log", "Log.100", "100"}) {
    CAPTURE(name);
    d.breakpoints = {name};
    left = 100;
    seen.clear();
    d.pause = [&](const OpView& v) {
      seen += v.op.row->name;
      return Debugger::Action::go_on;
    };
    show("session.run(x = [0, 0, 0, 0])");
    CHECK(seen == "Loglog");
  }
}

TEST_CASE_FIXTURE(Fixture, "statistics of tensors while training") {
  show("watch([ir_p.w, ir_p.z], every = 2)");
  show("for i in range(3) { session.run(x = [1, 1, 1, 1]) }");
  CHECK(printed ==
        "run 2 of p\n  mul_out float32[4]: from 2.19722 to 2.19722, mean 2.19722, deviation 0\n"
        "  w float32[4]: from 3 to 3, mean 3, deviation 0\n");
  show("unwatch()");
  show("for i in range(3) { session.run(x = [1, 1, 1, 1]) }");
  CHECK(printed.size() < 200);
}

TEST_CASE_FIXTURE(Fixture, "observed runs have the same bits") {
  show(
      "program q { stream in x: float32[64, 32]\n variable w: float32[32, 16] = 0.3\n stream out y = "
      "softmax(gelu(host_load(x) @ w) * 3, axis = 1) }");
  show("s = Session(q())\nx = normal(0, 1, [64, 32])\na = s.run(x = x).y");
  show("nancheck()\nb = s.run(x = x).y");
  CHECK(show("a.tolist() == b.tolist()") == "true");
}

TEST_CASE_FIXTURE(Fixture, "gradients against differences") {
  const std::string good = show("from nn import Linear\ncheck_grad(Linear(3), float64[4, 5])");
  CHECK(good.find("'weight'") != std::string::npos);
  CHECK(show("def f(x, y) { return tanh(x) * y }\ncheck_grad(f, float32[3], float32[3])").find("'y'") !=
        std::string::npos);
  // check_grad accepts a graph that a session owns, and leaves nothing in it.
  const size_t ops = engine.ir() ? engine.ir()->main().ops().size() : 0;
  CHECK(show("program r { variable w: float64[3] = 1\n g = ir.create_graph((a) => a * a * a, w)\n stream out y = g(w) "
             "}\nir_r = r()\nt = Session(ir_r)\ncheck_grad(ir_r.g)")
            .starts_with("{"));
  CHECK((engine.ir() ? engine.ir()->main().ops().size() : 0) == ops);
  CHECK(show("t.run().y") == "float64[3]\n[1. 1. 1.]");
  // A tolerance that nothing meets.
  CHECK(show("check_grad(f, float32[3], float32[3], rtol = 1e-12)").find("differ") != std::string::npos);
  CHECK(show("check_grad(3)").find("check_grad") != std::string::npos);
}
