// A model is data: no text in it becomes code of the program that it is imported as.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/onnx.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"

using namespace pxl;
using namespace pxl::onnx;

namespace {

/// Finds every text in a message and in its nested messages.
class TextFinder {
 public:
  template <class T>
  void operator()(uint32_t, T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      texts.push_back(&value);
    } else if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string_view>) {
      fields(value, *this);
    }
  }
  template <class T>
  void operator()(uint32_t number, std::vector<T>& values) {
    if constexpr (std::is_class_v<T>)
      for (T& value : values) (*this)(number, value);
  }
  template <class T>
  void operator()(uint32_t number, std::shared_ptr<T>& part) {
    if (part) (*this)(number, *part);
  }
  std::vector<std::string*> texts;
};

std::vector<std::string*> texts_of(Model& model) {
  TextFinder finder;
  fields(model, finder);
  return std::move(finder.texts);
}

Attribute attribute(const std::string& name, AttributeKind kind) {
  Attribute a;
  a.name = name;
  a.kind = kind;
  return a;
}

Node node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
          std::vector<Attribute> attributes = {}, const std::string& domain = "") {
  Node n;
  n.name = "node";
  n.doc = "text";
  n.op = op;
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  n.attributes = std::move(attributes);
  n.domain = domain;
  return n;
}

ValueInfo value(const std::string& name, const std::string& axis) {
  ValueInfo v;
  v.name = name;
  v.doc = "text";
  v.type = std::make_shared<Type>();
  v.type->tensor = std::make_shared<TensorType>();
  v.type->tensor->element = 1;
  v.type->tensor->shape = std::make_shared<TensorShape>();
  v.type->tensor->shape->dims = {Dimension{{}, axis}};
  return v;
}

TensorData stored(const std::string& name, const Array& array) {
  TensorData t = from_array(name, array);
  t.external = {{"key", "value"}};
  t.strings = {"text"};
  return t;
}

Graph branch(const std::string& output, const std::string& op) {
  Graph g;
  g.name = "branch";
  g.doc = "text";
  g.nodes = {node(op, {"x"}, {output})};
  g.outputs = {value(output, "")};
  return g;
}

/// A model with each kind of message that the importer reads, which runs: y = elu(x + w, alpha) of the taken branch.
Model sample() {
  static const Array weight = Array::from<float>({2}, std::vector<float>{1, 2});
  static const Array yes = Array::scalar<bool>(true);
  static const Array many = Array::from<int64_t>({20}, std::vector<int64_t>(20, 1));
  Model m;
  m.ir_version = 8;
  m.producer = "maker";
  m.producer_version = "1";
  m.domain = "domain";
  m.doc = "text";
  m.metadata = {{"key", "value"}};
  m.opsets = {{"", 17}, {"own", 1}};
  m.graph.name = "g";
  m.graph.doc = "text";
  m.graph.initialisers = {stored("w", weight), stored("yes", yes), stored("many", many)};
  m.graph.inputs = {value("x", "n")};
  m.graph.outputs = {value("y", "n")};
  m.graph.values = {value("z", "n")};
  Attribute alpha = attribute("slope", AttributeKind::floating);
  alpha.f = 0.5;
  Attribute then_branch = attribute("then_branch", AttributeKind::graph),
            else_branch = attribute("else_branch", AttributeKind::graph);
  then_branch.graph = std::make_shared<Graph>(branch("b1", "Identity"));
  else_branch.graph = std::make_shared<Graph>(branch("b2", "Neg"));
  Attribute equation = attribute("equation", AttributeKind::string);
  equation.s = "i,i->i";
  Attribute names = attribute("other", AttributeKind::strings);
  names.strings = {"a", "b"};
  m.graph.nodes = {node("Act", {"x"}, {"a"}, {alpha, names}, "own"), node("Add", {"a", "w"}, {"s"}),
                   node("If", {"yes"}, {"c"}, {then_branch, else_branch}),
                   node("Einsum", {"s", "c"}, {"e"}, {equation}), node("Identity", {"e"}, {"y"})};
  Function f;
  f.name = "Act";
  f.domain = "own";
  f.inputs = {"p"};
  f.outputs = {"q"};
  f.attributes = {"slope", "other"};
  f.opsets = {{"", 17}};
  Attribute inner = attribute("alpha", AttributeKind::floating);
  inner.reference = "slope";
  f.nodes = {node("Elu", {"p"}, {"q"}, {inner})};
  Attribute absent = attribute("unused", AttributeKind::string);
  absent.s = "text";
  Attribute several = attribute("several", AttributeKind::strings);
  several.strings = {"text", "another"};
  f.defaults = {absent, several};
  m.functions = {f};
  return m;
}

struct Attempt {
  std::string printed, error;
  std::vector<Array> results;
};

/// Imports the bytes of a model and runs its module on [1, -1]. One interpreter has read the library for all attempts.
Attempt import_and_run(const std::string& bytes, const ImportOptions& options) {
  static std::string printed;
  static const auto owned = [] {
    InterpreterOptions quiet;
    quiet.out = [](std::string_view text) { printed += text; };
    return make_interpreter(std::move(quiet));
  }();
  Interpreter& in = *owned;
  Attempt attempt;
  printed.clear();
  try {
    const Model model = parse_model(bytes, "m.onnx");
    const Value module = evaluate_import(in, import_model(model, options), "[m.onnx]");
    const ScopePtr library = evaluator_of(in).import_module({"onnx"}, {});
    const Value x = Array::from<float>({2}, std::vector<float>{1, -1});
    const Value out =
        invoke(in, *library->find_here("_run"), {invoke(in, module), make_list({x}), make_list({Value(false)})});
    for (const Value& v : elements_of(in, out)) attempt.results.push_back(*v.as_array());
  } catch (const Error& e) {
    attempt.error = e.what();
    for (const std::string& note : e.first().notes) attempt.error += "\n" + note;
  }
  attempt.printed = printed;
  return attempt;
}

/// Texts that would write a file or print, if they became code in one of the places where an importer may put them.
std::vector<std::string> payloads(const std::string& file) {
  const std::string code = "write_text(\"" + file + "\", \"x\")", other = "print(7)";
  std::vector<std::string> all = {code,
                                  "a = none, p = " + code + ", q",
                                  "a\"); " + code + " #",
                                  "a\\\"); " + code + " #",
                                  "a'); " + code + " #",
                                  "{" + code + "}",
                                  "a)\n}\n" + code + "\ndef b() {",
                                  "a]\n" + code + "\n[",
                                  "\"\"\"\n" + code,
                                  std::string("a\0", 2) + "\n" + code,
                                  "\xff\n" + code,
                                  "none, " + other,
                                  "n = " + other};
  for (const char* end : {"\n", "\r", "\r\n", "\v", "\f", "\x85", "\xc2\x85", "\xe2\x80\xa8", "\x1b"})
    all.push_back("a" + std::string(end) + code + end + other + " #");
  return all;
}

}  // namespace

TEST_CASE("the sample of a model runs") {
  const Attempt attempt = import_and_run(serialise(sample()), {});
  CHECK(attempt.error.empty());
  REQUIRE(attempt.results.size() == 1);
  CHECK(attempt.results[0].number(0) == doctest::Approx(2.0));
  CHECK(attempt.results[0].number(1) == doctest::Approx(-(2 + 0.5 * (std::exp(-1.0) - 1))));
}

TEST_CASE("no text of a model becomes code") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("pxl-imported-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "written";
  int64_t tries = 0, runs = 0;
  const auto attempt = [&](const std::string& bytes, const ImportOptions& options, const std::string& payload) {
    const Attempt got = import_and_run(bytes, options);
    ++tries;
    runs += got.error.empty();
    INFO(payload);
    INFO(got.error);
    CHECK(got.printed.empty());
    CHECK_FALSE(std::filesystem::exists(file));
    std::filesystem::remove(file);
  };
  Model model = sample();
  const std::vector<std::string*> texts = texts_of(model);
  CHECK(texts.size() > 80);
  for (const std::string& payload : payloads(file.string())) {
    for (std::string* text : texts) {
      const std::string before = std::exchange(*text, payload);
      attempt(serialise(model), {}, payload);
      *text = before;
    }
    // Every text at once, so that names that belong together stay together.
    Model all = sample();
    for (std::string* text : texts_of(all))
      if (!text->empty()) *text += payload;
    attempt(serialise(all), {}, payload);
    attempt(serialise(model), {.title = payload, .weights_path = payload}, payload);
  }
  // Most fields are names and remarks: with a payload in one of them the model still runs.
  CHECK(runs > tries / 3);
  std::filesystem::remove_all(folder);
}

namespace {

Attribute number(const std::string& name, float f) {
  Attribute a = attribute(name, AttributeKind::floating);
  a.f = f;
  return a;
}

Attribute passed_on(const std::string& name, const std::string& reference) {
  Attribute a = attribute(name, AttributeKind::floating);
  a.reference = reference;
  return a;
}

Function function(const std::string& name, std::vector<Node> nodes, std::vector<std::string> attributes = {}) {
  Function f;
  f.name = name;
  f.domain = "own";
  f.inputs = {"p"};
  f.outputs = {"q"};
  f.attributes = std::move(attributes);
  f.opsets = {{"", 17}, {"own", 1}};
  f.nodes = std::move(nodes);
  return f;
}

/// A model of one input x whose nodes compute y.
Model model_of(std::vector<Node> nodes, std::vector<Function> functions) {
  Model m = sample();
  m.graph.nodes = std::move(nodes);
  m.functions = std::move(functions);
  return m;
}

std::string refusal(const Model& m) {
  return import_and_run(serialise(m), {.title = "m.onnx", .weights_path = {}}).error;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Leaky adds a slope that it gets; Twice calls it by the slope that it gets itself, and by 0.25.
const std::vector<Function> leaky = {
    function("Twice",
             {node("Leaky", {"p"}, {"t"}, {passed_on("a", "b")}, "own"),
              node("Leaky", {"t"}, {"q"}, {number("a", 0.25)}, "own")},
             {"b"}),
    function("Leaky", {node("LeakyRelu", {"p"}, {"q"}, {passed_on("alpha", "a")})}, {"a"})};

}  // namespace

TEST_CASE("functions of a model are called by functions, in branches and in bodies of loops") {
  const auto result = [](const Model& m) {
    const Attempt attempt = import_and_run(serialise(m), {});
    CHECK(attempt.error.empty());
    return attempt.results.empty() ? 0 : attempt.results[0].number(1);
  };
  const Node call = node("Twice", {"x"}, {"y"}, {number("b", 0.5)}, "own");
  CHECK(result(model_of({call}, leaky)) == -0.125);

  Attribute then_branch = attribute("then_branch", AttributeKind::graph),
            else_branch = attribute("else_branch", AttributeKind::graph);
  then_branch.graph = std::make_shared<Graph>(branch("z", "Neg"));
  then_branch.graph->nodes = {node("Twice", {"x"}, {"z"}, {number("b", 0.5)}, "own")};
  else_branch.graph = std::make_shared<Graph>(branch("b2", "Neg"));
  CHECK(result(model_of({node("If", {"yes"}, {"y"}, {then_branch, else_branch})}, leaky)) == -0.125);

  static const Array twice = Array::scalar<int64_t>(2);
  Attribute body = attribute("body", AttributeKind::graph);
  body.graph = std::make_shared<Graph>();
  body.graph->inputs = {value("i", ""), value("go", ""), value("v", "")};
  body.graph->nodes = {node("Identity", {"go"}, {"on"}), node("Leaky", {"v"}, {"w2"}, {number("a", 0.5)}, "own")};
  body.graph->outputs = {value("on", ""), value("w2", "")};
  Model loop = model_of({node("Loop", {"times", "yes", "x"}, {"y"}, {body})}, leaky);
  loop.graph.initialisers.push_back(from_array("times", twice));
  CHECK(result(loop) == -0.25);

  // An attribute that the call lacks is absent: LeakyRelu has 0.01 then. A default of the function is used.
  std::vector<Function> with_default = leaky;
  CHECK(result(model_of({node("Leaky", {"x"}, {"y"}, {}, "own")}, with_default)) == doctest::Approx(-0.01));
  with_default[1].defaults = {number("a", 0.75)};
  CHECK(result(model_of({node("Leaky", {"x"}, {"y"}, {}, "own")}, with_default)) == -0.75);
}

TEST_CASE("a definition that a model makes twice, or by itself, is refused") {
  const Node relu = node("Relu", {"x"}, {"y"});
  CHECK(refusal(model_of({relu}, {})).empty());
  CHECK(has(refusal(model_of({relu, node("Neg", {"x"}, {"y"})}, {})), "`y` is defined twice"));
  CHECK(has(refusal(model_of({node("Neg", {"x"}, {"x"}), relu}, {})), "`x` is defined twice"));
  CHECK(has(refusal(model_of({node("Split", {"x"}, {"y", "y"})}, {})), "`y` is defined twice"));
  Model stored_twice = model_of({relu}, {});
  stored_twice.graph.initialisers.push_back(stored_twice.graph.initialisers[0]);
  CHECK(has(refusal(stored_twice), "`w` is defined twice"));
  Model given_twice = model_of({relu}, {});
  given_twice.graph.inputs.push_back(value("x", "n"));
  CHECK(has(refusal(given_twice), "`x` is defined twice"));
  CHECK(has(refusal(model_of({node("Elu", {"x"}, {"y"}, {number("alpha", 1), number("alpha", 2)})}, {})),
            "it has the attribute `alpha` twice"));
  CHECK(has(refusal(model_of({relu}, {leaky[0], leaky[0], leaky[1]})), "function `Twice` is defined twice"));
  const Function endless = function("Endless", {node("Endless", {"p"}, {"q"}, {}, "own")});
  CHECK(has(refusal(model_of({node("Endless", {"x"}, {"y"}, {}, "own")}, {endless})), "calls itself"));
  Function shadow = function("Shadow", {node("Neg", {"p"}, {"p"}), node("Relu", {"p"}, {"q"})});
  CHECK(has(refusal(model_of({node("Shadow", {"x"}, {"y"}, {}, "own")}, {shadow})), "`p` is defined twice"));
  CHECK(has(refusal(model_of({node("Relu", {"x"}, {"y"}, {}, "foreign")}, {})), "of the domain `foreign`"));
  CHECK(has(refusal(model_of({node("Elu", {"x"}, {"y"}, {passed_on("alpha", "a")})}, {})), "no function is around it"));
}
