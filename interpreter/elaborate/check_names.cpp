// Names that nothing binds, anywhere in a file. A body is one scope, so a name is fine where its body or one around it
// binds it anywhere; whether it is bound in time only a run shows.
#include <unordered_set>

#include "interpreter/elaborate/check.hpp"
#include "interpreter/elaborate/names_bound.hpp"
#include "interpreter/elaborate/stdlib.hpp"
#include "runtime/base/codes.hpp"

namespace pxl {
namespace {

class NameChecker {
 public:
  NameChecker(const Scope& prelude, std::vector<Diagnostic>& errors) : prelude_(prelude), errors_(errors) {}

  void file(const ast::Tree& tree) { body({}, {}, tree.body->statements, nullptr); }

 private:
  struct Level {
    std::unordered_set<std::string> names;
    const Level* outer;
  };

  // Statements with the names that are bound besides theirs.
  void body(const std::vector<std::string>& more, const std::vector<const ast::Expr*>& patterns,
            const std::vector<ast::Stmt*>& statements, const Level* outer) {
    Level level{{more.begin(), more.end()}, outer};
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
    targets(s, visitor_of_targets(level));
  }

  void targets(const ast::Stmt& s, const NameVisitor& visitor) {
    own_expressions(s, [&](const ast::Expr* e) { visit_names(e, visitor); });
    for (const ast::Block* b : own_blocks(s))
      for (const ast::Stmt* inner : b->statements) targets(*inner, visitor);
  }

  void expression(const ast::Expr* e, const Level& level) {
    NameVisitor v;
    v.name = [&](const ast::NameExpr& n) { name(n, level); };
    v.lambda = [&](const ast::Function& f) { function(f, level, {}); };
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
    Level inner{{names.begin(), names.end()}, &level};
    NameVisitor binds = visitor_of_targets(inner);
    visit_names(f.result, binds);
    binds.name = [&](const ast::NameExpr& n) { inner.names.insert(n.name); };
    for (const ast::Expr* p : patterns) visit_names(p, binds);
    for (const ast::WithItem& w : f.contexts) expression(w.context, inner);
    expression(f.result, inner);
    static const std::vector<ast::Stmt*> none;
    body(names, patterns, f.body ? f.body->statements : none, &level);
  }

  // Code that is meant to fail.
  static bool expects_error(const ast::Stmt& s) {
    if (s.kind != ast::StmtKind::with) return false;
    bool found = false;
    NameVisitor v{[&](const ast::NameExpr& n) { found |= n.name == "expect_error"; }, [](const ast::Function&) {},
                  [](const ast::Expr&) {}};
    for (const ast::WithItem& w : static_cast<const ast::WithStmt&>(s).items) visit_names(w.context, v);
    return found;
  }

  void statement(const ast::Stmt& s, const Level& level) {
    if (expects_error(s)) return;
    own_expressions(s, [&](const ast::Expr* e) { expression(e, level); });
    for (const ast::Block* b : own_blocks(s))
      for (const ast::Stmt* inner : b->statements) statement(*inner, level);
    if (s.kind == ast::StmtKind::def) function(*static_cast<const ast::DefStmt&>(s).function, level, {});
    if (s.kind == ast::StmtKind::program) function(*static_cast<const ast::ProgramStmt&>(s).function, level, {});
    if (s.kind == ast::StmtKind::test) body({}, {}, static_cast<const ast::TestStmt&>(s).body->statements, &level);
    if (s.kind == ast::StmtKind::module) module(static_cast<const ast::ModuleStmt&>(s), level);
  }

  void module(const ast::ModuleStmt& m, const Level& level) {
    Level inner{{"self"}, &level};
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

  void name(const ast::NameExpr& n, const Level& level) {
    for (const Level* l = &level; l; l = l->outer)
      if (l->names.count(n.name)) return;
    if (prelude_.find(n.name)) return;
    std::vector<std::string> visible = prelude_.visible_names();
    for (const Level* l = &level; l; l = l->outer) visible.insert(visible.end(), l->names.begin(), l->names.end());
    Diagnostic d;
    d.message = "unknown name `" + n.name + "`";
    d.span = n.span;
    d.code = codes::unknown_name;
    d.notes = unknown_name_notes(n.name, visible);
    errors_.push_back(std::move(d));
  }

  const Scope& prelude_;
  std::vector<Diagnostic>& errors_;
};

}  // namespace

void check_names(const ast::Tree& tree, const Scope& prelude, std::vector<Diagnostic>& errors) {
  NameChecker(prelude, errors).file(tree);
}

}  // namespace pxl
