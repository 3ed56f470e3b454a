// Completions of a text, facts about a name, and help.
#include "interpreter/tools/completion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

#include "interpreter/tools/engine.hpp"
#include "interpreter/tools/help/help.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/ops/table.hpp"

using namespace pxl;

namespace {

struct Fixture {
  Engine engine{{{}, {}, true, false}};
  Fixture() {
    CHECK(engine
              .submit("from nn import Linear\n"
                      "program train {\n  stream in image: float32[2, 3]\n  stream in labels: int32[2]\n"
                      "  stream out y = gelu(host_load(image)) + 1\n  stream out l = host_load(labels)\n}\n"
                      "session = Session(train())\n"
                      "fc = Linear(4)\n"
                      "def scale(value, factor = 2, *more) { return value * factor }\n"
                      "numbers = [1, 2]\nd = {\"key\": \"text\"}\n"
                      "t = DotTree()\nt.insert(\"a.b\", 1)\n"
                      "variable weight: float32[3, 3] = 0\n"
                      "out = session.run(image = zeros([2, 3]), labels = array([1, 2], int32))")
              .ok());
  }
  std::vector<std::string> at(std::string text) {
    size_t cursor = text.find('|');
    if (cursor == text.npos)
      cursor = text.size();
    else
      text.erase(cursor, 1);
    std::vector<std::string> names;
    for (const Completion& c : engine.complete(text, cursor).items) names.push_back(c.text);
    return names;
  }
  bool offers(const std::string& text, const std::string& name) {
    const std::vector<std::string> all = at(text);
    return std::find(all.begin(), all.end(), name) != all.end();
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(Fixture, "names") {
  CHECK(at("numb") == Names{"numbers"});
  CHECK(at("x = 1 + numb| * 2") == Names{"numbers"});
  CHECK(offers("ge", "gelu"));
  CHECK(offers("pro", "program"));
  CHECK(offers("whi", "while"));
  CHECK(at("def f(argument) { return argu") == Names{"argument"});
  CHECK(at("\"numb\" + 3").empty());
  CHECK(at("# numb").empty());
  CHECK(at("12").empty());
}

TEST_CASE_FIXTURE(Fixture, "members after a dot") {
  CHECK(offers("numbers.", "append"));
  CHECK(at("numbers.app") == Names{"append"});
  CHECK(at("d[\"key\"].upp") == Names{"upper"});
  CHECK(offers("session.", "run"));
  CHECK(offers("out.", "y"));
  CHECK(offers("ops.var_", "var_updates"));
  CHECK(at("ops.var_updates.adam_u") == Names{"adam_updater"});
  CHECK(offers("weight.resh", "reshape"));
  CHECK(at("t.a.").size() > 0);
  CHECK(offers("Linear(3).cre", "create_graph"));
  CHECK(at("nothing.").empty());
}

TEST_CASE_FIXTURE(Fixture, "arguments and streams inside a call") {
  CHECK(at("scale(fac") == Names{"factor = "});
  CHECK(offers("scale(", "value = "));
  CHECK_FALSE(offers("scale(3, ", "value = "));
  CHECK(offers("scale(3, ", "factor = "));
  CHECK_FALSE(offers("scale(factor = 3, ", "factor = "));
  CHECK(at("softmax(weight, ax") == Names{"axis = "});
  CHECK(at("session.run(im") == Names{"image = "});
  CHECK(at("session.run(image = x, lab") == Names{"labels = "});
  CHECK(offers("Linear(", "out_features = "));
  CHECK(offers("Linear(numb", "numbers"));
}

TEST_CASE_FIXTURE(Fixture, "kinds of errors after `catch`") {
  CHECK(at("try { } catch not_f") == Names{"not_finite"});
  CHECK(offers("try { 1 } catch value, ", "shape"));
  CHECK(at("fail('a', kind = \"bad-row\")\ntry { } catch bad") == Names{"bad_row"});
  CHECK_FALSE(offers("try { } catch ", "numbers"));
  CHECK(offers("try { } catch { numb", "numbers"));
}

TEST_CASE_FIXTURE(Fixture, "imports") {
  CHECK(offers("import n", "nn"));
  CHECK(offers("from n", "nn"));
  CHECK(at("from nn ") == Names{"import"});
  CHECK(offers("from nn import Lin", "Linear"));
}

TEST_CASE_FIXTURE(Fixture, "completing any prefix of a program changes nothing and is quick") {
  const std::string before = print_schedule(engine.ir()->main());
  const std::string text =
      "y = weight.T @ ir.main_graph.inputs[0] + session.run(image = scale(value = 3)).y\nf\"{numbers[0].x}\"";
  const std::clock_t start = std::clock();
  for (size_t i = 0; i <= text.size(); ++i) engine.complete(text, i);
  CHECK(std::clock() - start < static_cast<std::clock_t>(text.size()) * CLOCKS_PER_SEC / 100);
  CHECK(print_schedule(engine.ir()->main()) == before);
  engine.complete("a\xff.b", 4);
  engine.complete("((((", 4);
  engine.complete("))))]", 5);
}

TEST_CASE_FIXTURE(Fixture, "inspection") {
  const auto type = [&](const std::string& text, size_t cursor) {
    const std::optional<Inspection> i = engine.inspect(text, cursor);
    return i ? i->name + ": " + i->type : std::string("nothing");
  };
  CHECK(type("weight + 1", 3) == "weight: tensor float32[3, 3]");
  CHECK(type("numbers.append(3)", 10) == "numbers.append: function");
  CHECK(type("scale(3, ", 9) == "scale: function");
  CHECK(type("gelu(weight)", 2) == "gelu: op");
  CHECK(type("while true { }", 2) == "while: keyword");
  CHECK(type("1 + 2", 1) == "nothing");
  CHECK(engine.inspect("scale(3)", 0)->signature == "scale(value, factor = 2, *more)");
  CHECK(engine.inspect("x = fc(weight)", 5)->signature == "Linear.build(x: tensor[..., d])");
}

TEST_CASE_FIXTURE(Fixture, "help on names of every kind") {
  CHECK(engine.help("softmax").text.find("axis") != std::string::npos);
  CHECK(engine.help("ops.var_updates.adam_updater").type == "op");
  CHECK(engine.help("range").signature == "range(start, stop = none, step = 1)");
  CHECK(engine.help("program").type == "keyword");
  CHECK(engine.help("nn").text.find("module Linear(out_features: int, *, bias: bool = true, init: any = none)") !=
        std::string::npos);
  CHECK(engine.help("nn.Linear").doc.starts_with("A dense layer"));
  CHECK(engine.help("numbers").type == "list of 2");
  CHECK_FALSE(engine.help("sofmax").found);
  CHECK(engine.help("sofmax").text == "no help for `sofmax`; did you mean `softmax`?\n");
  // A gradient is shown as the graph that autodiff makes.
  CHECK(engine.help("tanh").text.find("TanhGrad") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "every op and every word has its help") {
  for (const OpRow* row : op_table()) {
    if (row->path.empty()) continue;
    const std::string name(row->name);
    CAPTURE(name);
    const Inspection i = engine.help(row->path);
    CHECK(i.found);
    CHECK(i.text.find(row->doc.substr(0, row->doc.find('\n'))) != std::string::npos);
  }
  for (const std::string& word : declaring_words()) CHECK_MESSAGE(engine.help(word).found, word);
}
