#include "interpreter/tools/lints/lints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>

#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/tools/lints/program_lints.hpp"
#include "interpreter/tools/lints/statement_lists.hpp"
#include "interpreter/tools/symbols/symbols.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/notices.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {

namespace {

using ast::ExprKind;
using ast::StmtKind;

constexpr std::string_view return_it = "Return it";

constexpr LintKind table[] = {
    {unused_import, "an import that nothing uses"},
    {unused_variable, "a local name that is bound and never read"},
    {unused_value, "an expression that is a statement, so that its value is lost"},
    {unreachable, "statements after `return`, `break` or `continue`"},
    {redefinition, "a function, module or program that a second one of its name replaces"},
    {unloaded_stream, "a `stream in` that no op loads"},
    {unread_param, "a `param` that no op reads"},
    {unused_result, "the result of an op or of a function of the library that nothing takes"},
    {other_meaning, "a call that means something else in another framework"},
    {softmax_twice, "a loss of logits that gets probabilities: the result of `softmax`"},
    {shadowed_builtin, "a value with the name of a function of the language, which the file calls"},
    {untrained_variable, "a variable that the loss depends on, and that nothing trains"},
    {unwritten_state, "a `state` whose name is bound again, though no `next` gives it another value"},
    {fixed_seed, "a random op of a training program whose seed is the same in each run"},
};

class Linter {
 public:
  Linter(const ast::Tree& tree, const Scope& prelude, std::set<std::string, std::less<>> off)
      : tree_(tree), prelude_(prelude), off_(std::move(off)), allowances_(tree) {}

  std::vector<Diagnostic> run(const std::vector<std::shared_ptr<Ir>>& irs, std::vector<Diagnostic> warnings) {
    for (Diagnostic& d : warnings) warn(d.code, d.span, std::move(d.message));
    names();
    StatementLists([this](const auto& list, Home home) { block(list, home); }).list(tree_.body->statements);
    for (const ast::Stmt* s : tree_.body->statements) {
      if (s->kind == StmtKind::module && as<ast::ModuleStmt>(*s).build) states(*as<ast::ModuleStmt>(*s).build->body);
      if (s->kind == StmtKind::program) variables(*as<ast::ProgramStmt>(*s).function->body);
    }
    for (const auto& ir : irs)
      for (Diagnostic& d : program_findings(*ir, tree_)) {
        if (Diagnostic* kept = warn(d.code, d.span, std::move(d.message))) kept->notes = std::move(d.notes);
      }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
    return std::move(found_);
  }

 private:
  Diagnostic* warn(std::string_view kind, Span at, std::string message, std::string note = {}) {
    if (off_.contains(kind) || !at || at.file != tree_.source || allowances_.permit(kind, at)) return nullptr;
    Diagnostic d;
    d.severity = Severity::warning;
    d.message = std::move(message);
    d.span = at;
    d.code = kind;
    if (!note.empty()) d.notes.push_back(std::move(note));
    const bool known = std::any_of(found_.begin(), found_.end(), [&](const Diagnostic& other) {
      return other.span.begin == at.begin && other.message == d.message;
    });
    if (known) return nullptr;
    found_.push_back(std::move(d));
    return &found_.back();
  }

  // ---- names
  void names() {
    const SymbolTable symbols(tree_);
    std::vector<size_t> reads(symbols.symbols().size()), calls(reads.size());
    for (const Occurrence& o : symbols.occurrences()) {
      if (o.symbol < 0 || o.use == Occurrence::Use::binding) continue;
      ++reads[static_cast<size_t>(o.symbol)];
      if (o.use == Occurrence::Use::callee) ++calls[static_cast<size_t>(o.symbol)];
    }
    for (size_t i = 0; i < reads.size(); ++i) {
      const Symbol& s = symbols.symbols()[i];
      if (s.name.starts_with('_')) continue;
      if (s.kind == Symbol::Kind::import && reads[i] == 0 && s.container < 0) import(s);
      if (s.kind == Symbol::Kind::variable && calls[i]) shadow(s, symbols, static_cast<int>(i));
      if (s.kind == Symbol::Kind::variable && reads[i] == 0) variable(s, symbols);
    }
  }

  void import(const Symbol& s) {
    // Names that another file may import from this one: a file without statements of its own.
    const bool runs =
        std::any_of(tree_.body->statements.begin(), tree_.body->statements.end(), [](const ast::Stmt* one) {
          return one->kind == StmtKind::expression || one->kind == StmtKind::for_ || one->kind == StmtKind::program;
        });
    if (runs) warn(unused_import, s.name_span, fmt::format("nothing uses the import `{}`", s.name));
  }

  /// A name that a function or a build binds by `name = value` alone: others may be there for their side.
  void variable(const Symbol& s, const SymbolTable& symbols) {
    if (s.container < 0 || s.inner || s.values.size() != 1 || !s.values[0]) return;
    const Symbol::Kind body = symbols.symbols()[static_cast<size_t>(s.container)].kind;
    if (body != Symbol::Kind::function && body != Symbol::Kind::method && body != Symbol::Kind::build) return;
    warn(unused_variable, s.name_span, fmt::format("`{}` is never read", s.name), "a name that begins with `_` may be");
  }

  /// Whether an expression has a value that no call takes: a number, a list, the result of the function `name` itself.
  static bool is_data(const ast::Expr& e, const std::string& name) {
    switch (e.kind) {
      case ExprKind::name:
      case ExprKind::conditional:
      case ExprKind::attempt:
      case ExprKind::lambda:
      case ExprKind::index:
      case ExprKind::member:
      case ExprKind::starred: return false;
      case ExprKind::call: {
        const ast::Expr& callee = *as<ast::CallExpr>(e).callee;
        return callee.kind == ExprKind::name && as<ast::NameExpr>(callee).name == name;
      }
      default: return true;
    }
  }

  /// A name that the file calls, and that hides a function of the language with a value that is none.
  void shadow(const Symbol& s, const SymbolTable& symbols, int number) {
    size_t data = 0, given = 0;
    for (const ast::Expr* v : s.values)
      if (v) ++given, data += is_data(*v, s.name);
    if (data == 0 || data < given || !prelude_.find(s.name)) return;
    Diagnostic* d = warn(shadowed_builtin, s.name_span, fmt::format("`{}` hides the function of this name", s.name),
                         "calls after this find the value: give it another name");
    if (!d) return;
    for (const Occurrence& o : symbols.places(number))
      if (o.use == Occurrence::Use::callee) return d->related.push_back({o.span, "a call of the name"});
  }

  // ---- statements
  void block(const std::vector<ast::Stmt*>& list, Home home) {
    std::map<std::string, Span> declared;
    for (size_t i = 0; i < list.size(); ++i) {
      const ast::Stmt& s = *list[i];
      const bool leaves = s.kind == StmtKind::return_ || s.kind == StmtKind::break_ || s.kind == StmtKind::continue_;
      if (leaves && i + 1 < list.size())
        warn(unreachable, list[i + 1]->span, "this statement is never reached",
             fmt::format("the `{}` above leaves the block", s.kind == StmtKind::return_  ? "return"
                                                            : s.kind == StmtKind::break_ ? "break"
                                                                                         : "continue"));
      if (s.kind == StmtKind::expression) {
        const bool is_last = i + 1 == list.size() && home == Home::body && !Returns().in(list);
        value(*as<ast::ExprStmt>(s).value, home, is_last);
      }
      if (const auto [name, at] = declaration(s); !name.empty()) {
        const auto [first, fresh] = declared.emplace(name, at);
        if (fresh) continue;
        Diagnostic* d = warn(redefinition, at, fmt::format("`{}` is declared a second time", name),
                             "the second declaration takes the place of the first one");
        if (d) d->related.push_back({first->second, "the first declaration"});
      }
    }
  }

  static std::pair<std::string, Span> declaration(const ast::Stmt& s) {
    switch (s.kind) {
      case StmtKind::def: return {as<ast::DefStmt>(s).function->name, as<ast::DefStmt>(s).function->span};
      case StmtKind::program: return {as<ast::ProgramStmt>(s).function->name, as<ast::ProgramStmt>(s).function->span};
      case StmtKind::module: return {as<ast::ModuleStmt>(s).name, as<ast::ModuleStmt>(s).name_span};
      case StmtKind::record: return {as<ast::RecordStmt>(s).name, as<ast::RecordStmt>(s).name_span};
      default: return {};
    }
  }

  /// `state average: SPEC = 0`, then `average = ...` without `next`: the state keeps its value.
  void states(const ast::Block& build) {
    std::set<std::string> declared, next;
    std::vector<std::pair<std::string, Span>> bound;
    StatementLists([&](const std::vector<ast::Stmt*>& list, Home) {
      for (const ast::Stmt* s : list) {
        if (s->kind == StmtKind::param && as<ast::ParamStmt>(*s).is_state) declared.insert(as<ast::ParamStmt>(*s).name);
        if (s->kind == StmtKind::next)
          for (const ast::NameExpr* t : as<ast::NextStmt>(*s).targets) next.insert(t->name);
        if (s->kind == StmtKind::assign)
          for (std::string& name : names_of(*s).bound) bound.emplace_back(std::move(name), s->span);
      }
    }).list(build.statements);
    for (const auto& [name, at] : bound)
      if (declared.contains(name) && !next.contains(name))
        warn(unwritten_state, at, fmt::format("this binds the name `{}`, and the state keeps its value", name),
             fmt::format("`next {} = ...` gives the value that the next call finds", name));
  }

  /// The change that `w -= 0.1 * g` or `w = w - 0.1 * g` was to make: its sign, and what it adds.
  struct Change {
    std::string name;
    bool minus = false;
    const ast::Expr* by = nullptr;
  };
  static Change change_of(const ast::AssignStmt& s) {
    if (s.targets.size() != 1 || s.targets[0]->kind != ExprKind::name) return {};
    const std::string& name = as<ast::NameExpr>(*s.targets[0]).name;
    const auto of = [&](ast::BinaryOp op, const ast::Expr* by) {
      const bool adds = op == ast::BinaryOp::add || op == ast::BinaryOp::sub;
      return adds ? Change{name, op == ast::BinaryOp::sub, by} : Change();
    };
    if (s.augmented) return of(s.op, s.value);
    if (s.value->kind != ExprKind::chain) return {};
    const auto& c = as<ast::ChainExpr>(*s.value);
    const bool is_own = c.first->kind == ExprKind::name && as<ast::NameExpr>(*c.first).name == name;
    return is_own && c.rest.size() == 1 ? of(c.rest[0].op, c.rest[0].operand) : Change();
  }

  /// "scaled_add_(w, g, b = -0.1)".
  static std::string update_of(const Change& change) {
    std::string_view what = change.by->span.text(), factor = "1";
    if (change.by->kind == ExprKind::chain) {
      const auto& c = as<ast::ChainExpr>(*change.by);
      const bool is_number = c.first->kind == ExprKind::floating || c.first->kind == ExprKind::integer;
      if (is_number && c.rest.size() == 1 && c.rest[0].op == ast::BinaryOp::mul)
        factor = c.first->span.text(), what = c.rest[0].operand->span.text();
    }
    return fmt::format("scaled_add_({}, {}, b = {}{})", change.name, what, change.minus ? "-" : "", factor);
  }

  /// Whether a text has the word between the end of one place and the end of the other.
  static bool occurs_after(std::string_view word, const Span& place, const Span& within) {
    const std::string_view rest = place.file->text().substr(place.end, within.end - std::min(place.end, within.end));
    const auto is_inside = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
    for (size_t at = rest.find(word); at != rest.npos; at = rest.find(word, at + 1)) {
      const size_t end = at + word.size();
      if ((at == 0 || !is_inside(rest[at - 1])) && (end == rest.size() || !is_inside(rest[end]))) return true;
    }
    return false;
  }

  /// `variable w: SPEC = 0`, then `w -= 0.1 * g`, which nothing reads: the variable keeps its value.
  void variables(const ast::Block& program) {
    std::set<std::string> declared;
    StatementLists([&](const std::vector<ast::Stmt*>& list, Home) {
      for (const ast::Stmt* s : list) {
        if (s->kind == StmtKind::variable) declared.insert(as<ast::VariableStmt>(*s).name);
        const Change change = s->kind == StmtKind::assign ? change_of(as<ast::AssignStmt>(*s)) : Change();
        if (!declared.contains(change.name) || occurs_after(change.name, s->span, program.span)) continue;
        const std::string update = update_of(change);
        Diagnostic* d = warn(unwritten_state, s->span,
                             fmt::format("this binds the name `{}`, and the variable keeps its value", change.name),
                             fmt::format("`{}` changes the variable", update));
        if (d) d->offer(s->span, update);
      }
    }).list(program.statements);
  }

  /// Whether an expression is there for its value alone. A call may be there for what it does.
  static bool is_value(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::call:
      case ExprKind::conditional:
      case ExprKind::attempt:
      case ExprKind::logical:
      case ExprKind::comprehension:
      case ExprKind::dict_comprehension:
      case ExprKind::none:
      case ExprKind::ellipsis: return false;
      default: return true;
    }
  }

  /// Whether some value of the language has a method of this name.
  static bool is_method_name(const std::string& name) {
    return std::ranges::any_of(member_tables(), [&](const MemberTable& table) {
      return std::ranges::any_of(
          table.rows, [&](const auto& row) { return row->name == name && row->parameters.starts_with('('); });
    });
  }

  /// A call whose result a look found to be lost.
  void call(const ast::CallExpr& e, const Span& before, bool is_last) {
    for (Diagnostic& d : found_) {
      if (d.code != unused_result || d.span.begin != e.span.begin) continue;
      if (is_last) return d.offer(before, "return ", std::string(return_it));
      const ast::Expr* changed = e.arguments.empty() ? nullptr : e.arguments[0].value;
      if (e.callee->kind == ExprKind::member) changed = as<ast::MemberExpr>(*e.callee).base;
      if (changed && changed->kind == ExprKind::name) {
        const std::string& name = as<ast::NameExpr>(*changed).name;
        d.offer(before, name + " = ", fmt::format("Bind it to `{}`", name));
      }
      return;
    }
  }

  /// A statement that is an expression. `is_last`: the last one of a function that returns nothing.
  void value(const ast::Expr& e, Home home, bool is_last) {
    const Span before{e.span.file, e.span.begin, e.span.begin}, after{e.span.file, e.span.end, e.span.end};
    if (e.kind == ExprKind::call) return call(as<ast::CallExpr>(e), before, is_last);
    if (!is_value(e) || home == Home::attempt) return;
    if (e.kind == ExprKind::compare) {
      const auto& c = as<ast::CompareExpr>(e);
      Diagnostic* d = warn(unused_value, e.span, "nothing takes the result of this comparison",
                           "a name is bound by `=`, a condition is asserted by `assert`");
      if (!d) return;
      if (is_last) return d->offer(before, "return ", std::string(return_it));
      if (c.rest.size() == 1 && c.rest[0].op == ast::CompareOp::eq) d->offer(c.rest[0].op_span, "=");
      return;
    }
    std::string note = is_last              ? "a function returns its value by `return`"
                       : home == Home::file ? "`print(...)` shows it, a name keeps it"
                                            : "a name keeps it: `y = ...`";
    if (e.kind == ExprKind::string) note = "a comment begins with `#`, a documentation with `##`";
    const bool is_method = e.kind == ExprKind::member && is_method_name(as<ast::MemberExpr>(e).name);
    if (is_method && !is_last) note = fmt::format("a method is called with parentheses: `{}()`", e.span.text());
    Diagnostic* d = warn(unused_value, e.span, "nothing takes this value", std::move(note));
    if (!d || e.kind == ExprKind::string) return;
    if (is_last) return d->offer(before, "return ", std::string(return_it));
    if (is_method) return d->offer(after, "()", "Call it");
    if (home == Home::file) d->fixes.push_back({"Print it", {{before, "print("}, {after, ")"}}});
  }

  const ast::Tree& tree_;
  const Scope& prelude_;
  std::set<std::string, std::less<>> off_;
  Allowances allowances_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::span<const LintKind> lint_kinds() { return table; }

void relate_missing_returns(std::vector<Diagnostic>& errors, const std::vector<Diagnostic>& warnings) {
  for (Diagnostic& e : errors) {
    if (!e.message.ends_with("none")) continue;
    for (const Diagnostic& w : warnings) {
      const bool is_lost = !w.fixes.empty() && w.fixes[0].title == return_it;
      if (!is_lost) continue;
      e.related.push_back({w.span, "this value is not returned: `return " + std::string(w.span.text()) + "`"});
      if (e.fixes.empty()) e.fixes = w.fixes;
    }
  }
}

std::vector<Diagnostic> lints(const ast::Tree& tree, const Scope& prelude, const std::vector<std::shared_ptr<Ir>>& irs,
                              std::vector<Diagnostic> warnings, const std::set<std::string, std::less<>>& off) {
  return Linter(tree, prelude, off).run(irs, std::move(warnings));
}

}  // namespace pxl
