// Feeds mutated programs to the parser, the formatter, the check, the language server and the interpreter, in one
// process. A program that runs for 0.3 s is interrupted, as Ctrl-C does, and must then end.
//
//   mutants [--seconds N] [--seed S] [--first I] [--findings DIR] CORPUS...   mutants of the .pxl files below CORPUS
//   mutants --replay FILE...                                                  these texts themselves
//
// Mutant number I of a seed is always the same text, so a run can be repeated; how many fit into the time is not.
// A failure ends the run with status 1, and leaves the text in DIR. Failures are a signal, an exception that is no
// answer, an internal error, and a broken promise (see judge()). More than `slowest` CPU seconds for one text, and
// memory that grows without end, are failures too.
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "interpreter/syntax/format/format.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/analysis.hpp"
#include "interpreter/tools/engine.hpp"
#include "tests/fuzz/command_line.hpp"
#include "tests/fuzz/guard.hpp"
#include "tests/mutants/client.hpp"
#include "tests/mutants/mutate.hpp"

namespace {

using namespace pxl;
using Clock = std::chrono::steady_clock;

constexpr int slowest = 10;                          ///< seconds of the processor for one text
constexpr int silent = 300;                          ///< seconds by the clock: who waits takes no processor
constexpr int server_every = 16;                     ///< one mutant in so many goes to the language server
constexpr int run_every = 8;                         ///< one mutant in so many is run
constexpr size_t growth_allowed = size_t{96} << 20;  ///< bytes on the heap beyond those after the warm-up
constexpr int warm_up = 500;                         ///< mutants

std::string findings = ".";

struct Broken {
  std::string what;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw Broken{what};
}

// The promises of every stage for any text.
void judge(const std::string& text) {
  const SourceFile source("mutant.pxl", text);
  const ParseResult parsed = parse(source);
  require((parsed.tree == nullptr) == !parsed.diagnostics.empty(), "parse: a tree or errors, not both");
  for (const Diagnostic& d : parsed.diagnostics) {
    require(d.span && d.span.begin <= d.span.end && d.span.end <= text.size(), "parse: an error without a place");
    require(!d.message.empty() && d.fault != Fault::internal, "parse: " + d.message);
    render(d);
  }
  const Completeness state = completeness(source);
  require(state != Completeness::complete || parsed.tree, "completeness: a text with errors is complete");
  if (parsed.tree) {
    std::string once;
    try {
      once = format_source(source);
    } catch (const Error& e) {
      require(false, "format: " + e.first().message);
    }
    const SourceFile formatted("mutant.pxl", once);
    require(parse(formatted).tree != nullptr, "format: the result does not parse");
    require(format_source(formatted) == once, "format: not idempotent");
  }
  const std::unique_ptr<Analysis> analysis = analyse("mutant.pxl", text);
  require(analysis->finished, "check: it did not finish");
  for (const Diagnostic& d : analysis->diagnostics) {
    require(d.fault != Fault::internal, "check: " + d.message);
    render(d);
  }
}

// Ends in a value, an error with a place, an interrupt or an exit.
void run_program(const std::string& text) {
  EngineOptions options;
  options.out = options.err = [](std::string_view) {};
  options.picture = [](const std::string&, const std::string&) {};
  Engine engine(options);
  Outcome o;
  {
    const fuzz::Interrupter interrupter;
    o = engine.submit(text);
  }
  require(o.kind != Outcome::Kind::failed || !o.diagnostics.empty(), "run: it failed without an error");
  for (const Diagnostic& d : o.diagnostics) {
    require(!d.message.empty() && d.fault != Fault::internal, "run: " + d.message);
    require(bool(d.span), "run: an error without a place: " + d.message);
    render(d);
  }
}

size_t heap_bytes() {
  malloc_trim(0);
  return mallinfo2().uordblks;
}

std::vector<std::string> corpus_of(const std::vector<std::string>& folders) {
  std::vector<std::filesystem::path> files;
  for (const std::string& folder : folders)
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
      if (e.path().extension() == ".pxl") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const auto& path : files) {
    std::string text = fuzz::read_text(path);
    if (text.size() < 20000) texts.push_back(std::move(text));
  }
  return texts;
}

bool survives(mutants::Client& client, const std::string& name, bool to_server, bool to_run) {
  return fuzz::survives((std::filesystem::path(findings) / name).string(), slowest, silent, [&]() -> std::string {
    try {
      judge(fuzz::current);
      if (to_server) client.visit(fuzz::current);
      if (to_run) run_program(fuzz::current);
    } catch (const Broken& b) {
      return b.what;
    }
    return {};
  });
}

}  // namespace

int main(int argc, char** argv) {
  const fuzz::CommandLine line = fuzz::read_command_line(argc, argv);
  findings = line.findings;
  if (line.operands.empty()) {
    std::fprintf(stderr, "mutants: which folders?\n");
    return 2;
  }
  fuzz::bound_memory();
  fuzz::guard_signals();
  const fuzz::Sandbox sandbox("mutants");
  mutants::Client client;
  if (line.replay) {
    bool fine = true;
    for (const std::string& file : line.operands) {
      fuzz::current = fuzz::read_text(file);
      fine &= survives(client, "replayed.pxl", true, true);
    }
    return fine ? 0 : 1;
  }
  const mutants::Mutator mutator(corpus_of(line.operands));
  const auto start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  size_t base = 0;
  int failures = 0;
  uint64_t number = line.first;
  double longest = 0;
  uint64_t slowest_number = line.first;
  for (; passed() < line.seconds; ++number) {
    fuzz::current = mutator.mutant(line.seed, number);
    const double before = passed();
    if (!survives(client, "mutant-" + std::to_string(line.seed) + "-" + std::to_string(number) + ".pxl",
                  number % server_every == 0, number % run_every == 1)) {
      ++failures;
      if (!line.keep_going) break;
    }
    if (passed() - before > longest) {
      longest = passed() - before;
      slowest_number = number;
    }
    if (number - line.first == warm_up) base = heap_bytes();
    if (base > 0 && (number - line.first) % warm_up == 0 && heap_bytes() > base + growth_allowed) {
      std::fprintf(stderr, "the heap grew from %zu to %zu bytes in %llu mutants\n", base, heap_bytes(),
                   static_cast<unsigned long long>(number - line.first));
      ++failures;
      break;
    }
  }
  std::printf(
      "%llu mutants of seed %llu in %.0f s, the slowest (number %llu) %.2f s, heap %zu KiB after warming up, %zu "
      "KiB "
      "at the end\n",
      static_cast<unsigned long long>(number - line.first), static_cast<unsigned long long>(line.seed), passed(),
      static_cast<unsigned long long>(slowest_number), longest, base >> 10, heap_bytes() >> 10);
  return failures ? 1 : 0;
}
