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
#include <sstream>

#include "interpreter/tools/engine.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostic.hpp"
#include "tests/fuzz/call_generator.hpp"
#include "tests/fuzz/call_values.hpp"
#include "tests/fuzz/guard.hpp"

namespace {

using namespace pxl;
using Clock = std::chrono::steady_clock;

constexpr int slowest = 20;  ///< seconds of the processor for one call
constexpr int silent = 120;  ///< seconds of the clock: a call that waits takes no processor
constexpr uint64_t calls_per_session = 400;

std::string findings = ".";

std::unique_ptr<Engine> session() {
  EngineOptions options;
  options.out = [](std::string_view) {};
  options.err = [](std::string_view) {};
  options.picture = [](const std::string&, const std::string&) {};
  auto engine = std::make_unique<Engine>(options);
  const Outcome o = engine->submit(fuzz::prelude);
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
  const fuzz::Generator generator(*engine);
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
