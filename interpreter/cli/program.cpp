#include "interpreter/cli/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/fixes.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/lints.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
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

Checked check_tree(const std::string& path, const ast::TreePtr& tree, const Invocation& call) {
  std::vector<std::string> words;
  std::string given = call.value("--set");
  for (size_t at = 0; at < given.size();) {
    const size_t end = std::min(given.find(',', at), given.size());
    words.push_back("--" + given.substr(at, end - at));
    at = end + 1;
  }
  // An option that is not given has an unknown value.
  std::vector<OptionInfo> declared = scan_options(*tree);
  for (auto& o : declared) o.required = false;
  Checked out;
  const auto warnings = std::make_shared<std::vector<Diagnostic>>();
  out.interpreter = silent_interpreter(path, parse_options(path, declared, words), warnings);
  std::vector<std::string> calls;
  // A name alone needs no extra call: the file builds its program, or the check builds it with its defaults.
  if (const std::string text = call.value("--program"); text.find('(') != text.npos) calls.push_back(text);
  out.result = check_file(*out.interpreter, tree, calls);
  warnings->insert(warnings->end(), out.result.warnings.begin(), out.result.warnings.end());
  if (out.result.errors.empty()) out.warnings = lints(*tree, out.result.irs, std::move(*warnings), kinds_off(call));
  return out;
}

}  // namespace

Checked check_source(const std::string& path, const Invocation& call) {
  const SourceFile& source = read_source(path);
  Budget budget;
  const BudgetScope scope(&budget);
  try {
    ParseResult parsed = parse(source);
    Checked out;
    if (parsed.tree)
      out = check_tree(path, parsed.tree, call);
    else
      out.result.errors = std::move(parsed.diagnostics);
    add_implied_fixes(out.result.errors);
    return out;
  } catch (const OverBudget& over) {
    // The budget is exceeded before the first statement, since the text has some 400,000 tokens or more.
    Checked out;
    out.result.unchecked.push_back(beyond("the text", over));
    return out;
  }
}

std::vector<Diagnostic> errors_before_run(const std::string& path, const ast::TreePtr& tree,
                                          std::map<std::string, std::string> options) {
  BudgetLimits limits;
  limits.work_ns = limits.part_ns = limits.cpu_ns = max_check_ns;
  Budget budget(limits);
  const BudgetScope scope(&budget);
  try {
    const InterpreterPtr interpreter = silent_interpreter(path, std::move(options));
    std::vector<Diagnostic> errors = check_file(*interpreter, tree, {}).errors;
    // A script may write a file before it imports it.
    std::erase_if(errors, [](const Diagnostic& d) { return d.fault == Fault::unreadable; });
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

Programs programs_of(const CommonFlags& common, const std::string& path, const Invocation& call) {
  Programs out{check_source(path, call), {}, {}};
  CheckResult& result = out.checked.result;
  if (!result.errors.empty()) throw Error(std::move(result.errors));
  if (!call.has("--program")) {
    out.irs = result.irs;
    out.labels = program_labels(out.irs);
    if (common.quiet) return out;
    // Reports that a program needs arguments only if nothing else is shown.
    for (const std::string& what : out.irs.empty() ? result.unchecked : result.unbuilt)
      print_err("{}: {}\n", path, what);
    if (out.irs.empty())
      print_err("{}: no program is built{}\n", path,
                result.unchecked.empty() ? "" : "; --program \"NAME(ARGUMENT, ...)\" builds one with given arguments");
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
  if (out.irs.empty()) {
    const std::string hint = did_you_mean(name, names);
    throw Error(path + ": no program `" + name + "` is built" + (hint.empty() ? "" : "; " + hint), result.unchecked,
                Fault::usage);
  }
  return out;
}

}  // namespace pxl::cli
