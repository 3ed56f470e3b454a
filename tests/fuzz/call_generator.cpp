#include "tests/fuzz/call_generator.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "tests/fuzz/call_values.hpp"

namespace fuzz {

using namespace pxl;

namespace {

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

std::string any(std::mt19937_64& random, std::span<const std::string_view> list) {
  return std::string(list[random() % list.size()]);
}

}  // namespace

Generator::Generator(Engine& engine) : names_(callable_names(engine)) {
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

size_t Generator::method_count() const {
  size_t n = 0;
  for (const auto& m : methods_) n += m.size();
  return n;
}

std::string Generator::call(uint64_t seed, uint64_t number) const {
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

std::string Generator::value(Random& random, int depth) const {
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

std::string Generator::subscript(Random& random, std::string text) const {
  constexpr std::string_view subscripts[] = {"0",     "-1",  "99",    ":",      "::2", "::-1",   "1:0",
                                             "none",  "...", "a_int", "a_bool", "[0]", "1:2",    "-5:5:3",
                                             "\"a\"", "1.5", "true",  "v_int",  "::0", "2 ** 62"};
  text += "[" + any(random, subscripts);
  while (random() % 3 == 0) text += ", " + any(random, subscripts);
  return text + "]";
}

std::string Generator::arguments(Random& random, const std::vector<std::string>& parameters, int depth) const {
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

}  // namespace fuzz
