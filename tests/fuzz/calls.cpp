// Calls every op, built-in function, library module and method with arguments that mostly do not fit: wrong kinds,
// sizes and dtypes, empty and zero-dimensional arrays, extremes, the wrong number of arguments.
//
//   calls [--seconds N] [--seed S] [--first I] [--findings DIR] [--keep-going]
//   calls --replay FILE...
//   calls --list                 the callable names
//
// Call number I of a seed is always the same text. A call ends in a value or in an error that has a place in the text;
// anything else is a finding, left in DIR: a signal, an internal error, an exception that is not an Error, more than
// `slowest` seconds of the processor for one call. The calls run in an empty folder.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/tools/engine.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/tensor/random.hpp"
#include "tests/fuzz/guard.hpp"

namespace {

using namespace pxl;
using Random = std::mt19937_64;
using Clock = std::chrono::steady_clock;

constexpr int slowest = 20;  ///< seconds of the processor for one call
constexpr int silent = 120;  ///< seconds of the clock: a call that waits takes no processor
constexpr uint64_t calls_per_session = 400;

std::string findings = ".";

/// Names that the arguments mention. `v_`: tensors of the top level, `a_`: host arrays.
constexpr std::string_view prelude = R"(
import nn
import optim
import losses
import init
import metrics
module Empty { }
module Layer(size: int = 3) {
  build(x) {
    param w: float32[size] = 1
    return x * w
  }
}
program tiny {
  stream in x: float32[3]
  stream out y = host_load(x) * 2
}
ir_tiny = tiny()
facts_layer, graph_layer = Layer().create_graph(float32[3])
session_tiny = Session(tiny())
v_scalar = variable(1.5)
v_row = variable([1.0, -2.0, 3.0])
v_matrix = variable(ones([2, 3]))
v_cube = variable(ones([2, 3, 4]))
v_empty = variable(zeros([0, 3]))
v_int = variable([3, -1, 2])
v_int_matrix = variable(array([[1, 2], [3, 4]], int32))
v_bool = variable([true, false, true])
v_half = variable(array([1.0, 2.0, -3.0], float16))
v_double = variable(array([[1.0, 2.0], [3.0, 4.0]], float64))
v_byte = variable(array([1, 2, 255], uint8))
v_image = variable(ones([1, 2, 5, 5]))
v_float8 = pow2scale_cast_to_fp8(v_half, 1, float8_143)
a_scalar = array(2.5)
a_row = array([0.5, -1.0, 2.0])
a_matrix = ones([3, 2])
a_empty = zeros([0])
a_empty_matrix = zeros([3, 0])
a_int = array([0, 2, -1], int32)
a_long = array([9223372036854775807, -9223372036854775808])
a_byte = array([0, 200, 255], uint8)
a_bool = array([true, false, true])
a_half = array([65504.0, 0.0, -1.0], float16)
a_strange = array([nan, inf, -inf, -0.0])
a_image = ones([2, 2, 4, 4])
f_one = (x) => x
f_two = (x, y) => x + y
f_none = () => 1
)";

constexpr std::string_view atoms[] = {"none",
                                      "true",
                                      "false",
                                      "0",
                                      "1",
                                      "-1",
                                      "2",
                                      "3",
                                      "7",
                                      "1000000",
                                      "2 ** 31",
                                      "-2 ** 31",
                                      "2 ** 62",
                                      "-2 ** 62",
                                      "0.0",
                                      "-0.0",
                                      "0.5",
                                      "-1.5",
                                      "1e308",
                                      "1e-320",
                                      "nan",
                                      "inf",
                                      "-inf",
                                      "\"\"",
                                      "\"a\"",
                                      "\"sum\"",
                                      "\"float32\"",
                                      "\"none\"",
                                      "\"nearest\"",
                                      "\"\\u00e9\\U0001F600\"",
                                      "\"a b\\nc\"",
                                      "\"../x\"",
                                      "\"x.npy\"",
                                      "\"{\"",
                                      "\"{:9}\"",
                                      "[]",
                                      "()",
                                      "{}",
                                      "[0]",
                                      "[1, 2]",
                                      "[2, 3]",
                                      "[-1]",
                                      "[0, 0]",
                                      "[3, 0]",
                                      "[1.5, none]",
                                      "[[1, 2], [3]]",
                                      "[[1.0, 2.0], [3.0, 4.0]]",
                                      "[\"a\", 1]",
                                      "(1,)",
                                      "(1, 2, 3)",
                                      "[[]]",
                                      "{\"a\": 1}",
                                      "{\"a\": v_row, \"b\": [1]}",
                                      "{1: 2}",
                                      "range(3)",
                                      "range(0)",
                                      "range(5, 0, -2)",
                                      "float32",
                                      "float16",
                                      "float64",
                                      "int8",
                                      "int32",
                                      "int64",
                                      "uint8",
                                      "bool",
                                      "float32[3]",
                                      "float8_143",
                                      "float8_152",
                                      "float32[2, 3]",
                                      "int32[0]",
                                      "float16[3]",
                                      "bool[2, 2]",
                                      "f_one",
                                      "f_two",
                                      "f_none",
                                      "Empty",
                                      "Empty()",
                                      "Layer",
                                      "Layer()",
                                      "Layer(0)",
                                      "tiny",
                                      "ir_tiny",
                                      "session_tiny",
                                      "graph_layer",
                                      "facts_layer",
                                      "ops",
                                      "nn",
                                      "nn.Linear(3)",
                                      "optim.Adam()",
                                      "gelu",
                                      "len",
                                      "print",
                                      "zeros",
                                      "1..2",
                                      "v_scalar",
                                      "v_row",
                                      "v_matrix",
                                      "v_cube",
                                      "v_empty",
                                      "v_int",
                                      "v_int_matrix",
                                      "v_bool",
                                      "v_half",
                                      "v_double",
                                      "v_byte",
                                      "v_image",
                                      "v_float8",
                                      "a_scalar",
                                      "a_row",
                                      "a_matrix",
                                      "a_empty",
                                      "a_empty_matrix",
                                      "a_int",
                                      "a_long",
                                      "a_byte",
                                      "a_bool",
                                      "a_half",
                                      "a_strange",
                                      "a_image",
                                      "v_row * 1",
                                      "v_matrix + 1",
                                      "v_int * 2",
                                      "zeros([])",
                                      "ones([1, 1, 1, 1, 1, 1, 1])",
                                      "enumerate([1, 2])",
                                      "zip([1], [2])"};

/// Values whose methods are called.
constexpr std::string_view receivers[] = {"\"a b\"",
                                          "\"\"",
                                          "[3, 1, 2]",
                                          "[]",
                                          "(1, 2)",
                                          "{\"a\": 1}",
                                          "{}",
                                          "range(4)",
                                          "a_scalar",
                                          "a_row",
                                          "a_matrix",
                                          "a_empty",
                                          "a_int",
                                          "a_bool",
                                          "a_half",
                                          "v_scalar",
                                          "v_row",
                                          "v_matrix",
                                          "v_empty",
                                          "v_int",
                                          "v_bool",
                                          "v_half",
                                          "v_image",
                                          "ir_tiny",
                                          "tiny",
                                          "session_tiny",
                                          "graph_layer",
                                          "facts_layer",
                                          "Layer()",
                                          "Layer",
                                          "nn.Linear(3)",
                                          "optim.Adam()",
                                          "float32",
                                          "float32[2, 3]",
                                          "1",
                                          "1.5",
                                          "true",
                                          "none",
                                          "f_one",
                                          "ops",
                                          "tiny()",
                                          "graph_layer.bind(facts_layer.init())"};

/// Functions that wait for a person, or end the process by contract.
const std::set<std::string> left_out = {"input", "exit", "quit", "sleep"};

std::vector<std::string> callable_names(Engine& engine) {
  std::vector<std::string> names;
  const std::function<void(const std::string&, const Scope&, int)> visit = [&](const std::string& path,
                                                                               const Scope& scope, int depth) {
    for (const Scope::Entry& e : scope.entries()) {
      const std::string name = path + e.name.text();
      if (left_out.count(e.name.text()) || e.name.text().empty() || e.name.text()[0] == '_') continue;
      if (auto* space = e.value.as<NamespaceObject>()) {
        if (depth < 4 && space->scope) visit(name + ".", *space->scope, depth + 1);
      } else if (e.value.is_object() && e.value.object()->callable()) {
        names.push_back(name);
      }
    }
  };
  visit("", *evaluator_of(engine.interpreter()).prelude(), 0);
  for (const auto& [name, value] : engine.names())
    if (auto* space = value.as<NamespaceObject>()) visit(name + ".", *space->scope, 1);
  // An op has a name and a path; both lead to the same row, so one is enough most of the time.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// "axis" and "keepdims" of "sum(t, axis = none, keepdims = false)".
std::vector<std::string> parameters_of(std::string_view signature) {
  std::vector<std::string> names;
  const size_t open = signature.find('(');
  if (open == signature.npos) return names;
  std::string word;
  int depth = 0;
  bool name = true;
  for (char c : signature.substr(open + 1)) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (depth == 0 && (c == ',' || c == ')' || c == '=' || c == ':')) {
      if (name && !word.empty()) names.push_back(word);
      word.clear();
      name = c == ',';
      if (c == ')') break;
      continue;
    }
    if (c == ')' || c == ']' || c == '}') --depth;
    if (name && (std::isalnum(static_cast<unsigned char>(c)) || c == '_')) word += c;
  }
  return names;
}

class Generator {
 public:
  explicit Generator(Engine& engine) : names_(callable_names(engine)) {
    for (const std::string& name : names_) {
      const Inspection help = engine.help(name);
      signatures_.push_back(help.found ? parameters_of(help.signature) : std::vector<std::string>{});
    }
    for (std::string_view receiver : receivers) {
      std::vector<std::string> members;
      engine.aside(receiver, [&](const Value& v) {
        if (v.is_object()) members = v.object()->member_names();
        if (v.as_array() || v.as_string() || !v.is_object() || members.empty()) {
          const std::string text = std::string(receiver) + ".";
          for (const Completion& c : engine.complete(text, text.size()).items) members.push_back(c.text);
        }
      });
      std::sort(members.begin(), members.end());
      members.erase(std::unique(members.begin(), members.end()), members.end());
      methods_.push_back(std::move(members));
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  size_t method_count() const {
    size_t n = 0;
    for (const auto& m : methods_) n += m.size();
    return n;
  }

  std::string call(uint64_t seed, uint64_t number) const {
    std::seed_seq seeds{seed, number, seed >> 32, number >> 32};
    Random random(seeds);
    // Every name in turn, so that none waits for luck.
    if (number % 3 != 2) {
      const size_t i = (number - number / 3) % names_.size();
      return names_[i] + arguments(random, signatures_[i], 2);
    }
    const size_t r = random() % methods_.size();
    const std::string receiver = "(" + std::string(receivers[r]) + ")";
    if (methods_[r].empty() || random() % 8 == 0) return subscript(random, receiver);
    const std::string& method = methods_[r][random() % methods_[r].size()];
    if (left_out.count(method)) return receiver;
    return receiver + "." + method + (random() % 12 ? arguments(random, {}, 2) : "");
  }

 private:
  static std::string any(Random& random, std::span<const std::string_view> list) {
    return std::string(list[random() % list.size()]);
  }

  std::string value(Random& random, int depth) const {
    const uint64_t kind = random() % 24;
    if (depth > 0 && kind == 0) {
      const size_t i = random() % names_.size();
      return names_[i] + arguments(random, signatures_[i], depth - 1);
    }
    if (depth > 0 && kind == 1) return "[" + value(random, depth - 1) + ", " + value(random, depth - 1) + "]";
    if (depth > 0 && kind == 2) {
      constexpr std::string_view operators[] = {" + ",  " * ", " - ",   " / ",  " // ", " % ",  " ** ", " @ ",
                                                " == ", " < ", " and ", " in ", " & ",  " << ", " >> "};
      return "(" + value(random, depth - 1) + any(random, operators) + value(random, depth - 1) + ")";
    }
    if (depth > 0 && kind == 3) return subscript(random, "(" + any(random, atoms) + ")");
    return any(random, atoms);
  }

  std::string subscript(Random& random, std::string text) const {
    constexpr std::string_view subscripts[] = {"0",     "-1",  "99",    ":",      "::2", "::-1",   "1:0",
                                               "none",  "...", "a_int", "a_bool", "[0]", "1:2",    "-5:5:3",
                                               "\"a\"", "1.5", "true",  "v_int",  "::0", "2 ** 62"};
    text += "[" + any(random, subscripts);
    while (random() % 3 == 0) text += ", " + any(random, subscripts);
    return text + "]";
  }

  std::string arguments(Random& random, const std::vector<std::string>& parameters, int depth) const {
    std::string text = "(";
    size_t count = parameters.empty() ? random() % 4 : std::min<size_t>(parameters.size(), random() % 5);
    if (random() % 10 == 0) count += random() % 3;
    for (size_t i = 0; i < count; ++i) {
      if (i) text += ", ";
      text += value(random, depth);
    }
    for (size_t i = count; i < parameters.size(); ++i) {
      if (random() % 3) continue;
      if (text.size() > 1) text += ", ";
      text += parameters[i] + " = " + value(random, depth);
    }
    return text + ")";
  }

  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> signatures_, methods_;
};

std::unique_ptr<Engine> session() {
  EngineOptions options;
  options.out = [](std::string_view) {};
  options.err = [](std::string_view) {};
  options.picture = [](const std::string&, const std::string&) {};
  auto engine = std::make_unique<Engine>(options);
  const Outcome o = engine->submit(prelude);
  if (!o.ok()) {
    for (const Diagnostic& d : o.diagnostics) std::fprintf(stderr, "%s\n", render(d).c_str());
    std::fprintf(stderr, "calls: the prelude failed\n");
    std::exit(2);
  }
  return engine;
}

bool survives(Engine& engine, const std::string& name) {
  const std::string path = (std::filesystem::path(findings) / name).string();
  fuzz::name_finding(path);
  std::string problem;
  fuzz::watch(slowest, silent);
  try {
    Outcome o;
    {
      const fuzz::Interrupter interrupter;
      o = engine.aside(fuzz::current, [&](const Value& v) { engine.show(v); });
    }
    if (o.kind == Outcome::Kind::failed) {
      if (o.diagnostics.empty()) problem = "failed without an error";
      for (const Diagnostic& d : o.diagnostics) {
        if (d.fault == Fault::internal) problem = "internal error: " + d.message;
        if (d.message.empty()) problem = "an error without a message";
        if (!d.span) problem = "an error without a place: " + d.message;
        render(d);
      }
    }
  } catch (const std::exception& e) {
    problem = std::string("an exception: ") + e.what();
  } catch (...) {
    problem = "an exception that is none of std";
  }
  fuzz::watch(0, 0);
  if (problem.empty()) return true;
  std::ofstream(path, std::ios::binary) << fuzz::current;
  std::fprintf(stderr, "%s: %s\n    %s\n", problem.c_str(), path.c_str(), fuzz::current.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 5;
  uint64_t seed = 1, first = 0;
  bool replay = false, keep_going = false, list = false;
  std::vector<std::string> operands;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--seconds")
      seconds = std::atof(value());
    else if (word == "--seed")
      seed = std::strtoull(value(), nullptr, 10);
    else if (word == "--first")
      first = std::strtoull(value(), nullptr, 10);
    else if (word == "--findings")
      findings = std::filesystem::absolute(value()).string();
    else if (word == "--replay")
      replay = true;
    else if (word == "--list")
      list = true;
    else if (word == "--keep-going")
      keep_going = true;
    else
      operands.push_back(std::filesystem::absolute(word).string());
  }
  findings = std::filesystem::absolute(findings).string();
  fuzz::bound_memory();
  char folder[] = "/tmp/pxl-calls-XXXXXX";
  if (!mkdtemp(folder) || chdir(folder) != 0) {
    std::perror("calls");
    return 2;
  }
  auto engine = session();
  int failures = 0;
  uint64_t number = first;
  if (!list) fuzz::guard_signals();
  const Generator generator(*engine);
  const auto start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  if (list) {
    for (const std::string& name : generator.names()) std::printf("%s\n", name.c_str());
  } else if (replay) {
    for (const std::string& file : operands) {
      std::ostringstream text;
      text << std::ifstream(file, std::ios::binary).rdbuf();
      fuzz::current = text.str();
      failures += !survives(*engine, "replayed.pxl");
    }
  } else {
    for (; passed() < seconds; ++number) {
      if ((number - first) % calls_per_session == calls_per_session - 1) engine = session();
      fuzz::current = generator.call(seed, number);
      if (!survives(*engine, "call-" + std::to_string(seed) + "-" + std::to_string(number) + ".pxl")) {
        ++failures;
        if (!keep_going) break;
      }
    }
    std::printf("%llu calls of %zu functions and %zu methods, seed %llu, %.0f s, %d failures\n",
                static_cast<unsigned long long>(number - first), generator.names().size(), generator.method_count(),
                static_cast<unsigned long long>(seed), passed(), failures);
  }
  std::error_code ignored;
  if (chdir("/") == 0) std::filesystem::remove_all(folder, ignored);
  return failures ? 1 : 0;
}
