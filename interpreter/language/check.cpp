#include "interpreter/language/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"

namespace pxl {
namespace {

std::string program_call(const ProgramObject& p) { return p.code->function->name; }

bool all_default(const ProgramObject& p, std::string& missing) {
  for (const ast::Parameter& q : p.code->function->parameters) {
    if (q.default_value || q.collects()) continue;
    missing = q.name;
    return false;
  }
  return true;
}

size_t ops_of_file(Interpreter& in) {
  const auto ir = graphs_of(in).implicit_ir();
  return ir ? ir->main().ops().size() : 0;
}

/// Sorts errors by place, and removes repeated ones. Files are in the order in which errors first name them.
std::vector<Diagnostic> in_order_of_text(std::vector<Diagnostic> errors) {
  std::unordered_map<const SourceFile*, size_t> files;
  for (const Diagnostic& d : errors) files.try_emplace(d.span.file, files.size());
  const auto place = [&](const Diagnostic& d) { return std::pair(files.at(d.span.file), d.span.begin); };
  std::stable_sort(errors.begin(), errors.end(),
                   [&](const Diagnostic& x, const Diagnostic& y) { return place(x) < place(y); });
  std::vector<Diagnostic> out;
  std::unordered_set<std::string> said;  // messages at the place of the last error
  for (Diagnostic& d : errors) {
    if (out.empty() || place(out.back()) != place(d)) said.clear();
    if (said.insert(d.message).second) out.push_back(std::move(d));
  }
  return out;
}

}  // namespace

std::string beyond(const std::string& what, const OverBudget& over) {
  return what + (over.resource == OverBudget::Resource::work ? " takes too long" : " needs too much memory");
}

void observe(const CheckState& checking, const Span& name, const Value& value) {
  if (!checking.observe || (is_unknown(value) && !unknown_spec(value))) return;
  try {
    checking.observe(name, value);
  } catch (const Unevaluated&) {
    // The value is a list or dict that holds an unknown.
  }
}

void note_unbuilt(Interpreter& in, const std::string& program, const std::string& why) {
  std::vector<std::string>& notes = in.checking->unbuilt;
  std::string note = fmt::format("program {} is not built: {} depends on the result of a run", program, why);
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

bool lacks_part_noted(Interpreter& in, const Ir& ir) {
  const auto found = in.checking->incomplete.find(&ir);
  if (found == in.checking->incomplete.end()) return false;
  const Span& at = found->second;
  note_unbuilt(in, ir.name(), at.file ? fmt::format("line {}", at.file->position(at.begin).line) : "it");
  return true;
}

CheckResult check_file(Interpreter& in, const ast::TreePtr& tree, const std::vector<std::string>& calls,
                       std::function<void(const Span&, const Value&)> observe, Effects permitted, bool with_defaults) {
  std::optional<Budget> own;
  std::optional<BudgetScope> scope;
  if (!current_budget()) scope.emplace(&own.emplace());
  Budget& budget = *current_budget();
  CheckState c;
  c.before_run = !with_defaults;
  c.observe = std::move(observe);
  CheckResult result;
  in.checking = &c;
  const EffectScope effects(permitted);
  evaluator_of(in).begin_file();
  evaluator_of(in).note_kinds(*tree);
  Activation a;
  a.scope = evaluator_of(in).file_scope();
  a.kind = Activation::Kind::file;
  bool gave_up = false, cut = false;  // skipped statements are missing in the graph of the file itself
  auto run = [&](const ast::Stmt& s) {
    const std::string line = fmt::format("line {}", s.span.file->position(s.span.begin).line);
    if (budget.spent()) {
      // One message covers everything that follows.
      if (!gave_up) result.unchecked.push_back("the file from " + line + " on takes too long");
      gave_up = true;
    } else {
      const size_t ops = ops_of_file(in);
      try {
        budget.begin_part();
        // An import has a budget of its own before a run: a module that is unknown would leave the rest unchecked.
        std::optional<Budget> of_import;
        std::optional<BudgetScope> within;
        if (c.before_run && (s.kind == ast::StmtKind::import || s.kind == ast::StmtKind::from_import))
          within.emplace(&of_import.emplace(budget.limits()));
        c.left = 0;
        look_at_statement(in, s, a);
        return;
      } catch (const OverBudget& over) {
        result.unchecked.push_back(beyond(line, over));
        cut = cut || ops_of_file(in) != ops;
      }
    }
    cut = cut || declares_tensor(s);
    forget(s, a);
  };
  try {
    check_names(*tree, *evaluator_of(in).prelude(), c);
  } catch (const OverBudget& over) {
    result.unchecked.push_back(beyond("the check of names", over));
  }
  try {
    for (const ast::Stmt* s : tree->body->statements) run(*s);
  } catch (const ExitRequest&) {
    // The script ends here, which is no error.
  }
  for (const std::string& call : calls) {
    const ast::TreePtr text = parse_or_throw(add_source("<program>", call));
    try {
      for (const ast::Stmt* s : text->body->statements) run(*s);
    } catch (const ExitRequest&) {
    }
  }
  auto built = [&](const std::string& name) {
    return std::any_of(c.irs.begin(), c.irs.end(), [&](const auto& ir) { return ir->name() == name; });
  };
  for (const std::string& name : a.scope->names()) {
    const Value* v = a.scope->find_here(name);
    auto* p = v ? v->as<ProgramObject>() : nullptr;
    if (!p || p->closure != a.scope || built(program_call(*p)) || c.expected.contains(program_call(*p))) continue;
    if (c.before_run && (gave_up || !p->code->function->parameters.empty())) continue;
    std::string missing;
    if (!all_default(*p, missing)) {
      const std::string head = fmt::format("program {} is not built: ", program_call(*p));
      if (std::any_of(c.unbuilt.begin(), c.unbuilt.end(), [&](const std::string& s) { return s.starts_with(head); }))
        continue;
      result.unchecked.push_back(
          fmt::format("program {} is not built: `{}` has no default", program_call(*p), missing));
      continue;
    }
    try {
      budget.begin_part();
      Arguments none;
      none.span = p->code->span;
      const size_t before = c.irs.size();
      p->call(in, std::move(none));
      // Programs that the file itself builds are checked when their sessions are made.
      if (c.irs.size() > before) check_inplace_order(*c.irs.back());
    } catch (const Unevaluated&) {
    } catch (const ExitRequest&) {
    } catch (const OverBudget& over) {
      result.unchecked.push_back(beyond("program " + program_call(*p), over));
    } catch (const Error& e) {
      for (const Diagnostic& d : e.all()) c.errors.push_back(d);
    }
  }
  if (auto ir = graphs_of(in).implicit_ir(); ir && cut)
    c.incomplete.try_emplace(ir.get());
  else if (ir && !ir->main().ops().empty() && !lacks_part_noted(in, *ir))
    c.irs.push_back(ir);
  result.unbuilt = c.unbuilt;
  result.unchecked.insert(result.unchecked.begin(), c.unbuilt.begin(), c.unbuilt.end());
  std::erase_if(c.sessions, [&](const auto& ir) { return c.incomplete.contains(ir.get()); });
  in.checking = nullptr;
  result.withheld = std::move(c.withheld);
  std::stable_partition(result.withheld.begin(), result.withheld.end(), [](const Withheld& w) { return w.reads; });
  result.errors = in_order_of_text(std::move(c.errors));
  result.warnings = in_order_of_text(std::move(c.warnings));
  result.irs = std::move(c.irs);
  result.sessions = std::move(c.sessions);
  for (std::string& line : c.tried)
    if (std::ranges::find(result.tried, line) == result.tried.end()) result.tried.push_back(std::move(line));
  return result;
}

}  // namespace pxl
