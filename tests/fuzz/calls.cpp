// Calls every op, built-in function, library module and method with arguments that mostly do not fit. They have wrong
// kinds, sizes, dtypes and numbers; arrays are empty or zero-dimensional, values are extremes.
//
//   calls [--seconds N] [--seed S] [--first I] [--findings DIR] [--keep-going]
//   calls --replay FILE...
//   calls --list                 the callable names
//
// Call number I of a seed is always the same text. A call ends in a value or in an error that has a place in the text;
// anything else is a finding, left in DIR. Findings are a signal, an internal error, an exception that is not an Error,
// and more than `slowest` CPU seconds for one call. The calls run in an empty folder.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "interpreter/tools/engine.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "tests/fuzz/call_generator.hpp"
#include "tests/fuzz/call_values.hpp"
#include "tests/fuzz/command_line.hpp"
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

/// Says why the outcome of `fuzz::current` is wrong; empty for nothing.
std::string problem_of(Engine& engine) {
  Outcome o;
  {
    const fuzz::Interrupter interrupter;
    o = engine.aside(fuzz::current, [&](const Value& v) { engine.show(v); });
  }
  if (o.kind != Outcome::Kind::failed) return {};
  if (o.diagnostics.empty()) return "failed without an error";
  for (const Diagnostic& d : o.diagnostics) {
    if (d.fault == Fault::internal) return "internal error: " + d.message;
    if (d.message.empty()) return "an error without a message";
    if (!d.span) return "an error without a place: " + d.message;
    render(d);
  }
  return {};
}

bool survives(Engine& engine, const std::string& name) {
  return fuzz::survives((std::filesystem::path(findings) / name).string(), slowest, silent,
                        [&] { return problem_of(engine); });
}

}  // namespace

int main(int argc, char** argv) {
  const fuzz::CommandLine line = fuzz::read_command_line(argc, argv);
  findings = line.findings;
  fuzz::bound_memory();
  const fuzz::Sandbox sandbox("calls");
  auto engine = session();
  int failures = 0;
  uint64_t number = line.first;
  if (!line.list) fuzz::guard_signals();
  const fuzz::Generator generator(*engine);
  const auto start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  if (line.list) {
    for (const std::string& name : generator.names()) std::printf("%s\n", name.c_str());
  } else if (line.replay) {
    for (const std::string& file : line.operands) {
      fuzz::current = fuzz::read_text(file);
      failures += !survives(*engine, "replayed.pxl");
    }
  } else {
    for (; passed() < line.seconds; ++number) {
      if ((number - line.first) % calls_per_session == calls_per_session - 1) engine = session();
      fuzz::current = generator.call(line.seed, number);
      if (!survives(*engine, "call-" + std::to_string(line.seed) + "-" + std::to_string(number) + ".pxl")) {
        ++failures;
        if (!line.keep_going) break;
      }
    }
    std::printf("%llu calls of %zu functions and %zu methods, seed %llu, %.0f s, %d failures\n",
                static_cast<unsigned long long>(number - line.first), generator.names().size(),
                generator.method_count(), static_cast<unsigned long long>(line.seed), passed(), failures);
  }
  return failures ? 1 : 0;
}
