#include "interpreter/tools/engine.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/fixes.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/display.hpp"
#include "interpreter/tools/help/help.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {
namespace {

InterpreterPtr interpreter_for(const EngineOptions& options) {
  InterpreterOptions o;
  o.out = options.out;
  o.err = options.err;
  o.picture = options.picture;
  o.quiet = options.quiet;
  o.terminal = options.terminal;
  o.program_name = options.program_name;
  o.options = options.options;
  return make_interpreter(std::move(o));
}

/// Whether the text ends in a `;` outside comments and strings. The `;` is removed.
bool take_semicolon(std::string& text) {
  const std::vector<ClassifiedToken> tokens = Engine::highlight(text);
  size_t last = tokens.size();
  while (last > 0 &&
         (tokens[last - 1].kind == TokenClass::comment || tokens[last - 1].kind == TokenClass::documentation))
    --last;
  if (last == 0 || tokens[last - 1].kind != TokenClass::unknown || text[tokens[last - 1].begin] != ';') return false;
  text[tokens[last - 1].begin] = ' ';
  return true;
}

/// Returns the result of `body`, or an empty result if it is interrupted.
template <class Result, class F>
Result unless_interrupted(F&& body) {
  clear_interrupt();  // an earlier interrupt belongs to another request
  try {
    return body();
  } catch (const Interrupted&) {
    return {};
  }
}

Diagnostic failure(std::string message, Fault fault) {
  return Diagnostic{Severity::error, fault, std::move(message), {}, {}, nullptr, {}};
}

/// Locates an error at the last statement if it arises after the evaluation, as in the display of the result.
void located(const ast::Tree& text, const std::function<void()>& evaluate) {
  try {
    evaluate();
  } catch (Error& error) {
    if (!text.body->statements.empty()) error.locate(text.body->statements.back()->span, {});
    throw;
  }
}

}  // namespace

Engine::Engine(EngineOptions options) : options_(std::move(options)), in_(interpreter_for(options_)) {}
Engine::~Engine() = default;

std::vector<ClassifiedToken> Engine::highlight(std::string_view text) {
  return classify_tokens(SourceFile("<text>", std::string(text)));
}

Completeness Engine::status(std::string_view given) {
  std::string text(given);
  take_semicolon(text);
  clear_interrupt();  // an earlier interrupt belongs to no input
  try {
    return completeness(SourceFile("<text>", std::move(text)));
  } catch (const Interrupted&) {
    return Completeness::complete;
  }
}

std::string Engine::indentation(std::string_view text) {
  int depth = 0;
  const std::vector<ClassifiedToken> tokens = highlight(text);
  for (const ClassifiedToken& t : tokens) {
    if (t.kind != TokenClass::bracket) continue;
    const char c = text[t.begin];
    depth += c == '(' || c == '[' || c == '{' ? 1 : -1;
  }
  // An open string continues to the end of the text.
  const auto opens_string = [&](const ClassifiedToken& t) {
    const size_t quote = text.find_first_of("\"'", t.begin);
    return (t.kind == TokenClass::string || t.kind == TokenClass::unknown) && quote < t.end;
  };
  if (!tokens.empty() && tokens.back().end >= text.size() && opens_string(tokens.back())) return {};
  return std::string(static_cast<size_t>(2 * std::max(depth, 0)), ' ');
}

Completions Engine::complete(std::string_view text, size_t cursor) {
  return unless_interrupted<Completions>([&] { return pxl::complete(*in_, text, cursor); });
}
std::optional<Inspection> Engine::inspect(std::string_view text, size_t cursor) {
  return unless_interrupted<std::optional<Inspection>>([&] { return pxl::inspect(*in_, text, cursor); });
}
Inspection Engine::help(std::string_view name) {
  return unless_interrupted<Inspection>([&] { return pxl::help(*in_, name); });
}
std::string Engine::show(const Value& value) { return display(*in_, value); }

void Engine::set_last(Value v) {
  last_ = std::move(v);
  if (last_.is_none())
    evaluator_of(*in_).prelude()->erase("_");
  else
    evaluator_of(*in_).prelude()->bind("_", last_);
}

// Runs `body` and converts exceptions to an outcome.
Outcome Engine::guarded(const std::function<void(Outcome&)>& body) {
  Outcome o;
  clear_interrupt();
  const auto start = std::chrono::steady_clock::now();
  auto failed = [&](std::vector<Diagnostic> why) {
    o = Outcome();
    o.kind = Outcome::Kind::failed;
    o.diagnostics = std::move(why);
  };
  try {
    body(o);
  } catch (const Error& e) {
    failed(e.all());
  } catch (const Interrupted&) {
    o = Outcome();
    o.kind = Outcome::Kind::interrupted;
  } catch (const ExitRequest& e) {
    o = Outcome();
    o.kind = Outcome::Kind::exited;
    o.exit_status = e.code;
  } catch (const std::bad_alloc&) {
    failed({failure("out of memory", Fault::failed)});
  } catch (const std::exception& e) {
    failed({failure(fmt::format("internal error: {}", e.what()), Fault::internal)});
  }
  add_implied_fixes(o.diagnostics);
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return o;
}

// Parses and evaluates the text within guarded(), since an interrupt may arrive at any time. A failure to parse is an
// outcome.
Outcome Engine::guarded_input(const SourceFile& source, ParseResult& parsed,
                              const std::function<void(Outcome&)>& evaluate) {
  return guarded([&](Outcome& out) {
    parsed = parse(source);
    if (parsed.tree) return located(*parsed.tree, [&] { evaluate(out); });
    out.kind = Outcome::Kind::failed;
    out.diagnostics = std::move(parsed.diagnostics);
  });
}

Outcome Engine::guard(const std::function<void()>& body) {
  return guarded([&](Outcome&) { body(); });
}

namespace {

// Describes the changes that an unfinished input leaves.
std::string left_by(bool graphs, bool values) {
  if (graphs && values)
    return "what the input added to graphs is taken back; values and sessions stay as they were when it stopped; "
           "`:undo` takes back the whole input";
  if (values) return "values and sessions stay as they were when the input stopped; `:undo` takes back the whole input";
  return graphs ? "what the input added to graphs is taken back" : "";
}

}  // namespace

Outcome Engine::run(const SourceFile& source, std::string_view kept_text, bool hidden) {
  ParseResult parsed;
  auto record = std::make_unique<UndoJournal>(*in_);
  const Value before = last_;
  Outcome o = guarded_input(source, parsed, [&](Outcome& out) {
    out.value = evaluator_of(*in_).run_more(parsed.tree);
    if (!hidden) out.shown = show(out.value);
  });
  o.number = number_;
  record->stop();
  if (!o.ok()) {
    const bool graphs = record->graphs_changed(), values = record->values_changed();
    record->take_back_graphs();
    o.left = left_by(graphs, values);
    if (!values) return o;
  }
  if (o.ok() && !o.value.is_none()) set_last(o.value);
  const bool counted = o.ok() && !parsed.tree->body->statements.empty();
  if (counted) inputs_.emplace_back(kept_text);
  done_.push_back({std::move(record), before, std::string(kept_text), counted});
  if (done_.size() > undo_depth) done_.pop_front();
  parsed.tree.reset();
  evaluator_of(*in_).free_captured();
  return o;
}

Outcome Engine::submit(std::string_view given) {
  std::string text(given);
  const bool hidden = take_semicolon(text);
  ++number_;
  const SourceFile& source = add_source(fmt::format("[{}]", number_), std::move(text));
  return run(source, source.text(), hidden);
}

Outcome Engine::load(const std::string& path) {
  ++number_;
  Outcome o;
  o.number = number_;
  std::string why;
  std::optional<std::string> text;
  try {
    text = read_program(path, why);
  } catch (const Interrupted&) {
    o.kind = Outcome::Kind::interrupted;
    return o;
  }
  if (!text) {
    o.kind = Outcome::Kind::failed;
    o.diagnostics.push_back(failure(fmt::format("cannot read `{}`: {}", path, why), Fault::unreadable));
    return o;
  }
  const SourceFile& source = add_source(path, *std::move(text));
  return run(source, source.text(), false);
}

Outcome Engine::aside(std::string_view given, const std::function<void(const Value&)>& use) {
  std::string text(given);
  take_semicolon(text);
  const SourceFile& source = add_source("[aside]", std::move(text));
  ParseResult parsed;
  UndoJournal record(*in_);
  Outcome o = guarded_input(source, parsed, [&](Outcome&) { use(evaluator_of(*in_).run_more(parsed.tree)); });
  o.number = number_;
  record.take_back();
  return o;
}

std::optional<std::string> Engine::undo() {
  if (done_.empty()) return std::nullopt;
  Done done = std::move(done_.back());
  done_.pop_back();
  set_last(done.last_before);
  if (done.counted) inputs_.pop_back();
  done.record->take_back();
  return std::move(done.text);
}

void Engine::reset() {
  done_.clear();
  inputs_.clear();
  last_ = Value();
  in_ = interpreter_for(options_);
}

std::vector<std::pair<std::string, Value>> Engine::names() const {
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [name, value] : evaluator_of(*in_).file_scope()->entries()) out.emplace_back(name.text(), value);
  return out;
}

}  // namespace pxl
