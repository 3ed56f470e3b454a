#include "interpreter/cli/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "interpreter/cli/terminal/waiting.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/fixes.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/lints/lints.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl::cli {

namespace {

InterpreterPtr silent_interpreter(const std::string& path, std::map<std::string, std::string> values,
                                  const std::shared_ptr<std::vector<Diagnostic>>& warnings = nullptr) {
  InterpreterOptions options;
  if (warnings) options.warn = [warnings](Diagnostic d) { warnings->push_back(std::move(d)); };
  options.out = options.err = [](std::string_view) {};
  options.quiet = true;
  options.program_name = path;
  options.options = std::move(values);
  return make_interpreter(std::move(options));
}

/// The kinds of --allow.
std::set<std::string, std::less<>> kinds_off(const Invocation& call) {
  std::set<std::string, std::less<>> off;
  const std::string given = call.value("--allow");
  for (size_t at = 0; at < given.size();) {
    const size_t end = std::min(given.find(',', at), given.size());
    const std::string kind = given.substr(at, end - at);
    std::vector<std::string> known;
    for (const LintKind& lint : lint_kinds()) known.emplace_back(lint.kind);
    if (std::find(known.begin(), known.end(), kind) == known.end()) {
      const std::string hint = did_you_mean(kind, known);
      throw Error(fmt::format("--allow: unknown kind of warning `{}`{}", kind, hint.empty() ? hint : "; " + hint),
                  {"kinds are " + join_texts(known, ", ")}, Fault::usage);
    }
    off.insert(kind);
    at = end + 1;
  }
  return off;
}

Checked check_tree(const Script& script, const ast::TreePtr& tree, const Invocation& call) {
  // An option that is not given has an unknown value.
  std::vector<OptionInfo> declared = scan_options(*tree);
  for (auto& o : declared) o.required = false;
  Checked out;
  out.tree = tree;
  const auto warnings = std::make_shared<std::vector<Diagnostic>>();
  out.interpreter = silent_interpreter(script.file, parse_options(script.file, declared, script.options), warnings);
  std::vector<std::string> calls;
  // A name alone needs no extra call: the file builds its program, or the check builds it with its defaults.
  if (const std::string text = call.value("--program"); text.find('(') != text.npos) calls.push_back(text);
  out.result = check_file(*out.interpreter, tree, calls, {},
                          call.has(evaluate_flag.name) ? evaluation_effects : command_effects);
  warnings->insert(warnings->end(), out.result.warnings.begin(), out.result.warnings.end());
  out.warnings =
      lints(*tree, *evaluator_of(*out.interpreter).prelude(), out.result.irs, std::move(*warnings), kinds_off(call));
  if (out.result.errors.empty()) return out;
  relate_missing_returns(out.result.errors, out.warnings);
  out.warnings.clear();
  return out;
}

/// A script that is evaluated has no bounds.
BudgetLimits limits_of(const Invocation& call) {
  if (!call.has(evaluate_flag.name)) return {};
  constexpr int64_t all = std::numeric_limits<int64_t>::max() / 4;
  return {.work_ns = all, .part_ns = all, .memory_bytes = all, .cpu_ns = all, .array_bytes = all, .kernel_ns = all};
}

}  // namespace

Checked check_source(const Script& script, const Invocation& call, bool quiet) {
  const Waiting waiting("looking at " + script.file, quiet);
  add_import_folders(call);
  const SourceFile* source = script.source || is_model(script.file) ? script.source : &read_source(script.file);
  Budget budget(limits_of(call));
  const BudgetScope scope(&budget);
  Checked out;
  try {
    ParseResult parsed;
    if (source)
      parsed = parse(*source);
    else
      parsed.tree = tree_of(script);
    if (parsed.tree)
      out = check_tree(script, parsed.tree, call);
    else
      out.result.errors = std::move(parsed.diagnostics);
    add_implied_fixes(out.result.errors);
    add_implied_fixes(out.warnings);
  } catch (const OverBudget& over) {
    // The budget is exceeded before the first statement, since the text has some 400,000 tokens or more.
    out.result.unchecked.push_back(beyond("the text", over));
  }
  return out;
}

namespace {

/// The programs that a text declares at its top level.
std::vector<const ast::ProgramStmt*> programs_in(const ast::Tree& tree) {
  std::vector<const ast::ProgramStmt*> found;
  for (const ast::Stmt* s : tree.body->statements)
    if (s->kind == ast::StmtKind::program) found.push_back(static_cast<const ast::ProgramStmt*>(s));
  return found;
}

/// "train(vocab, batch)": a call that needs values for the parameters.
std::string call_of(const ast::Function& program) {
  std::string arguments;
  for (const ast::Parameter& p : program.parameters)
    if (!p.default_value && !p.collects()) arguments += (arguments.empty() ? "" : ", ") + p.name + " = ...";
  return fmt::format("{}({})", program.name, arguments);
}

bool declares_modules(const ast::Tree& tree) {
  return std::any_of(tree.body->statements.begin(), tree.body->statements.end(),
                     [](const ast::Stmt* s) { return s->kind == ast::StmtKind::module; });
}

}  // namespace

Error no_program(const Script& script, const Checked& checked) {
  const CheckResult& result = checked.result;
  Diagnostic d;
  std::vector<std::string> notes = result.unchecked;
  if (!checked.tree) {
    d.message = fmt::format("{}: no program is built", script.file);
  } else if (const auto declared = programs_in(*checked.tree); declared.empty()) {
    d.message = fmt::format("{}: no program is built: the file declares none", script.file);
    notes.push_back(declares_modules(*checked.tree) ? "`pxl graph` draws the modules of such a file"
                                                    : "declare one: `program p { ... }`");
  } else {
    d.message = "no program is built";
    d.span = declared.front()->function->span;
    if (!result.withheld.empty()) {
      d.message += ": " + result.withheld.front().what;
      d.span = result.withheld.front().at;
      for (size_t i = 1; i < result.withheld.size(); ++i) {
        const Withheld& w = result.withheld[i];
        notes.push_back(w.at.file
                            ? fmt::format("{}:{}: {}", w.at.file->name(), w.at.file->position(w.at.begin).line, w.what)
                            : w.what);
      }
      notes.push_back("--run reads files, draws numbers and computes what sessions do not");
    }
    for (const ast::ProgramStmt* p : declared)
      if (const std::string call = call_of(*p->function); !call.ends_with("()")) {
        notes.push_back(fmt::format("--program \"{}\" builds the program with given arguments", call));
        break;
      }
  }
  d.notes = std::move(notes);
  d.code = codes::program;
  return Error(std::move(d));
}

std::vector<Diagnostic> errors_before_run(const std::string& path, const ast::TreePtr& tree,
                                          std::map<std::string, std::string> options) {
  BudgetLimits limits;
  limits.work_ns = limits.cpu_ns = max_check_ns;
  limits.part_ns = max_check_part_ns;
  Budget budget(limits);
  const BudgetScope scope(&budget);
  try {
    const auto warnings = std::make_shared<std::vector<Diagnostic>>();
    const InterpreterPtr interpreter = silent_interpreter(path, std::move(options), warnings);
    // The script decides which arguments a program gets: defaults that it never uses are no reason to refuse it.
    std::vector<Diagnostic> errors = check_file(*interpreter, tree, {}, {}, look_effects, false).errors;
    // A script may write a file before it imports it.
    std::erase_if(errors, [](const Diagnostic& d) { return d.fault == Fault::unreadable; });
    if (!errors.empty())
      relate_missing_returns(errors, lints(*tree, *evaluator_of(*interpreter).prelude(), {}, std::move(*warnings)));
    add_implied_fixes(errors);
    return errors;
  } catch (const OverBudget&) {
    return {};
  }
}

std::string program_line(const Ir& ir) {
  const Span at = ir.called_at;
  return at ? fmt::format("{}:{}", ir.name(), at.file->position(at.begin).line) : ir.name();
}

std::vector<std::string> program_labels(const std::vector<std::shared_ptr<Ir>>& irs) {
  const auto several = [](const std::vector<std::string>& all, const std::string& label) {
    return std::count(all.begin(), all.end(), label) > 1;
  };
  std::vector<std::string> names, lines, labels;
  for (const auto& ir : irs) {
    names.push_back(ir->name());
    lines.push_back(program_line(*ir));
  }
  std::map<std::string, int> seen;
  for (size_t i = 0; i < irs.size(); ++i)
    labels.push_back(!several(names, names[i])   ? names[i]
                     : !several(lines, lines[i]) ? lines[i]
                                                 : fmt::format("{}#{}", lines[i], ++seen[lines[i]]));
  return labels;
}

void print_unchecked(const std::string& path, const CheckResult& result) {
  for (const std::string& what : result.unchecked) print_err("{}: not checked: {}\n", path, what);
}

Programs programs_of(const CommonFlags& common, const Script& script, const Invocation& call, bool modules_suffice) {
  Programs out{check_source(script, call, common.quiet), {}, {}};
  CheckResult& result = out.checked.result;
  if (!result.errors.empty()) throw Error(std::move(result.errors));
  if (!call.has("--program")) {
    out.irs = result.irs;
    out.labels = program_labels(out.irs);
    if (out.irs.empty()) {
      const ast::Tree* tree = out.checked.tree.get();
      if (modules_suffice && tree && programs_in(*tree).empty() && declares_modules(*tree)) return out;
      throw no_program(script, out.checked);
    }
    // A program that needs arguments is no news if others are shown.
    if (!common.quiet)
      for (const std::string& what : result.unbuilt) print_err("{}: {}\n", script.file, what);
    return out;
  }
  const std::string text = call.value("--program"), name = text.substr(0, text.find('('));
  const std::vector<std::string> labels = program_labels(result.irs);
  std::vector<std::string> names = labels;
  for (size_t i = 0; i < result.irs.size(); ++i) {
    const std::string& own = result.irs[i]->name();
    names.push_back(own);
    const bool of_line = labels[i].substr(0, labels[i].find('#')) == name;
    if (own != name && labels[i] != name && !of_line) continue;
    if (text != name) out.irs.clear(), out.labels.clear();  // the call is the last one with its name
    out.irs.push_back(result.irs[i]);
    out.labels.push_back(labels[i]);
  }
  if (!out.irs.empty()) return out;
  if (out.checked.tree)
    for (const ast::ProgramStmt* p : programs_in(*out.checked.tree))
      if (p->function->name == name) throw no_program(script, out.checked);
  const std::string hint = did_you_mean(name, names);
  throw Error(fmt::format("{}: no program `{}` is built{}", script.file, name, hint.empty() ? "" : "; " + hint),
              result.unchecked, Fault::usage);
}

}  // namespace pxl::cli
