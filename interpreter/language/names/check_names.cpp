// Finds unbound names anywhere in a file. A body is one scope, so a name is accepted if its body or an enclosing one
// binds it anywhere. Only a run shows whether it is bound before it is read.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/errors/errors.hpp"
#include "interpreter/language/names/name_fixes.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl {
namespace {

class NameChecker {
 public:
  NameChecker(const Scope& prelude, CheckState& to) : prelude_(prelude), to_(to) {}

  void file(const ast::Tree& tree) {
    early_.insert(tree.read_too_early.begin(), tree.read_too_early.end());
    for (const ast::Stmt* s : tree.body->statements)
      if (s->kind == ast::StmtKind::program) programs_.push_back(static_cast<const ast::ProgramStmt*>(s)->function);
    body({}, {}, tree.body->statements, nullptr);
  }

 private:
  struct Level {
    std::unordered_set<std::string> names;
    const Level* outer;
    const ast::OwnNames* own = nullptr;
    bool instance = false;
    bool of_expression = false;  ///< the level has the targets of an expression's comprehensions
  };

  // Checks statements, in which further names are bound.
  void body(const std::vector<std::string>& more, const std::vector<const ast::Expr*>& patterns,
            const std::vector<ast::Stmt*>& statements, const Level* outer, const ast::OwnNames* own = nullptr) {
    Level level{{more.begin(), more.end()}, outer, own};
    NameVisitor binds = visitor_of_targets(level);
    binds.name = [&](const ast::NameExpr& n) { level.names.insert(n.name); };
    for (const ast::Expr* p : patterns) visit_names(p, binds);
    for (const ast::Stmt* s : statements) bind(*s, level);
    for (const ast::Stmt* s : statements) statement(*s, level);
  }

  NameVisitor visitor_of_targets(Level& level) {
    NameVisitor v;
    v.name = [](const ast::NameExpr&) {};
    v.lambda = [](const ast::Function&) {};
    v.target = [&](const ast::Expr& t) {
      std::vector<std::string> names;
      bound_by(t, names);
      level.names.insert(names.begin(), names.end());
    };
    return v;
  }

  void bind(const ast::Stmt& s, Level& level) {
    for (std::string& name : names_of(s).bound) level.names.insert(std::move(name));
    struct Targets final : ExpressionVisitor {
      NameVisitor names;
      void read(const ast::Expr& e) override { visit_names(&e, names); }
    } targets;
    targets.names = visitor_of_targets(level);
    visit_parts(s, targets);
  }

  void expression(const ast::Expr* e, const Level& level) {
    Level own{{}, &level};
    own.of_expression = true;
    visit_names(e, visitor_of_targets(own));
    NameVisitor v;
    v.name = [&](const ast::NameExpr& n) { name(n, own); };
    v.lambda = [&](const ast::Function& f) { function(f, own, {}); };
    v.target = [](const ast::Expr&) {};
    visit_names(e, v);
  }

  void function(const ast::Function& f, const Level& level, std::vector<std::string> names) {
    std::vector<const ast::Expr*> patterns;
    for (const ast::Parameter& p : f.parameters) {
      names.push_back(p.name);
      patterns.push_back(p.annotation);
      expression(p.default_value, level);
    }
    Level inner{{names.begin(), names.end()}, &level, &f.own};
    NameVisitor binds = visitor_of_targets(inner);
    visit_names(f.result, binds);
    binds.name = [&](const ast::NameExpr& n) { inner.names.insert(n.name); };
    for (const ast::Expr* p : patterns) visit_names(p, binds);
    for (const ast::WithItem& w : f.contexts) expression(w.context, inner);
    expression(f.result, inner);
    static const auto& none = never_destroyed(std::vector<ast::Stmt*>());
    body(names, patterns, f.body ? f.body->statements : none, &level, &f.own);
  }

  // Whether a statement contains code that is meant to fail.
  static bool expects_error(const ast::Stmt& s) {
    if (s.kind != ast::StmtKind::with) return false;
    bool found = false;
    NameVisitor v{[&](const ast::NameExpr& n) { found |= n.name == "expect_error"; }, [](const ast::Function&) {},
                  [](const ast::Expr&) {}};
    for (const ast::WithItem& w : static_cast<const ast::WithStmt&>(s).items) visit_names(w.context, v);
    return found;
  }

  /// The statements on one level.
  struct Statements final : ExpressionVisitor {
    NameChecker& checker;
    const Level& level;
    Statements(NameChecker& c, const Level& l) : checker(c), level(l) {}
    void read(const ast::Expr& e) override { checker.expression(&e, level); }
    void block(const ast::Block& b) override {
      for (const ast::Stmt* s : b.statements) checker.statement(*s, level);
    }
    void function(const ast::Function& f) override { checker.function(f, level, {}); }
    void module(const ast::ModuleStmt& m) override { checker.module(m, level); }
    void test(const ast::TestStmt& s) override { checker.body({}, {}, s.body->statements, &level, &s.own); }
    void field(const ast::Parameter& p) override { checker.expression(p.default_value, level); }
    void outside(const ast::NonlocalStmt::Item& item) override { checker.nonlocal(item, level); }
  };

  void statement(const ast::Stmt& s, const Level& level) {
    if (expects_error(s)) return;
    Statements statements(*this, level);
    if (s.kind != ast::StmtKind::try_) return visit_parts(s, statements);
    const auto& attempt = static_cast<const ast::TryStmt&>(s);
    handlers_.push_back(&attempt);
    statements.block(*attempt.body);
    handlers_.pop_back();
    for (const auto& c : attempt.catches) statements.block(*c.body);
    if (attempt.finally_body) statements.block(*attempt.finally_body);
  }

  OuterName outer_kind(const std::string& name, const Level& level) const {
    const Level* body = &level;
    while (body->of_expression) body = body->outer;
    for (const Level* l = body->outer; l; l = l->outer) {
      // The nonlocal names of a body are bound outside it.
      if (!l->names.count(name) || (l->own && contains(l->own->nonlocals, name))) continue;
      return l->instance ? OuterName::field : OuterName::name;
    }
    return prelude_.find(name) ? OuterName::builtin : OuterName::none;
  }

  void add(Diagnostic d) {
    const bool handled =
        std::any_of(handlers_.begin(), handlers_.end(), [&](const ast::TryStmt* s) { return handler_of(*s, d); });
    if (handled) d.severity = Severity::warning;
    (handled ? to_.warnings : to_.errors).push_back(std::move(d));
  }

  void report(Error e, const Span& at) {
    Diagnostic d = e.first();
    d.span = at;
    add(std::move(d));
  }

  void nonlocal(const ast::NonlocalStmt::Item& item, const Level& level) {
    if (const OuterName outer = outer_kind(item.name.text(), level); outer != OuterName::name)
      report(no_outer_name(item.name.text(), outer == OuterName::field), item.span);
  }

  void module(const ast::ModuleStmt& m, const Level& level) {
    Level inner{{"self"}, &level, nullptr, true};
    NameVisitor binds = visitor_of_targets(inner);
    binds.name = [&](const ast::NameExpr& n) { inner.names.insert(n.name); };
    for (const ast::Parameter& p : m.parameters) {
      inner.names.insert(p.name);
      visit_names(p.annotation, binds);
      expression(p.default_value, level);
    }
    for (const ast::Stmt* s : m.fields) bind(*s, inner);
    for (const ast::Function* f : m.methods) inner.names.insert(f->name);
    for (const ast::Stmt* s : m.fields) statement(*s, inner);
    for (const ast::Function* f : m.methods) function(*f, inner, {});
    if (m.build) function(*m.build, inner, {});
  }

  /// The place where a program of the file binds the name, which is then no name of the script.
  std::string note_on_program(const std::string& name) const {
    for (const ast::Function* f : programs_)
      for (const ast::Stmt* s : f->body->statements) {
        const std::vector<std::string> bound = names_of(*s).bound;
        if (std::find(bound.begin(), bound.end(), name) == bound.end()) continue;
        const bool is_result = s->kind == ast::StmtKind::stream && !static_cast<const ast::StreamStmt*>(s)->is_input;
        return is_result ? fmt::format("program {0} has it as a result of a run: `session.run(...).{1}`", f->name, name)
                         : fmt::format("program {0} has it: `ir.{1}`, of `ir = {0}()`", f->name, name);
      }
    return {};
  }

  void name(const ast::NameExpr& n, const Level& level) {
    if (early_.erase(&n)) return report(read_too_early(n.name, outer_kind(n.name, level)), n.span);
    for (const Level* l = &level; l; l = l->outer)
      if (l->names.count(n.name)) return;
    if (prelude_.find(n.name)) return;
    Diagnostic d;
    d.message = "unknown name `" + n.name + "`";
    d.span = n.span;
    d.code = codes::unknown_name;
    if (const std::string note = note_on_program(n.name); !note.empty()) {
      d.notes.push_back(note);
    } else if (compared_ < max_compared) {
      std::vector<std::string> visible = prelude_.visible_names();
      for (const Level* l = &level; l; l = l->outer) visible.insert(visible.end(), l->names.begin(), l->names.end());
      compared_ += visible.size();
      if (++explained_ > max_explained) d.span = {};  // notes alone: an edit takes a look at the whole text
      explain_unknown_name(d, n.name, visible);
      d.span = n.span;
    }
    add(std::move(d));
  }

  static constexpr size_t max_compared = 500'000;  ///< names compared for suggestions: about 20 ms
  const Scope& prelude_;
  CheckState& to_;
  std::vector<const ast::Function*> programs_;  ///< of the file
  std::vector<const ast::TryStmt*> handlers_;   ///< around the code that is checked
  static constexpr int max_explained = 50;
  size_t compared_ = 0;
  int explained_ = 0;
  std::unordered_set<const ast::NameExpr*> early_;
};

}  // namespace

void check_names(const ast::Tree& tree, const Scope& prelude, CheckState& to) { NameChecker(prelude, to).file(tree); }

}  // namespace pxl
