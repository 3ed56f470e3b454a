// The names that a function's code may find outside: the possible captures of an outlined graph.
#include <algorithm>
#include <deque>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/statement_parts.hpp"

namespace pxl {
namespace {

/// Walks code with explicit stacks, so that its nesting depth does not matter. Leaves out what a function binds itself:
/// its parameters, its locals and what its comprehensions bind, in it and in the functions within it.
class NameCollector final : private ExpressionVisitor {
 public:
  std::vector<std::string> names;

  explicit NameCollector(const ast::Function& f) {
    function(f);
    while (!functions_.empty() || !statements_.empty() || !expressions_.empty()) {
      if (!expressions_.empty()) {
        const auto [next, around] = expressions_.back();
        expressions_.pop_back();
        around_ = around;
        take(*next);
      } else if (!functions_.empty()) {
        const auto [next, around] = functions_.back();
        functions_.pop_back();
        around_ = around;
        take(*next);
      } else {
        const auto [next, around] = statements_.back();
        statements_.pop_back();
        around_ = around;
        visit_parts(*next, *this);
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

 private:
  /// What a function or a comprehension binds, and the one around it.
  struct Body {
    std::vector<std::string> bound;
    const Body* around;
  };

  void add(const std::string& name) {
    for (const Body* b = around_; b; b = b->around)
      if (std::ranges::find(b->bound, name) != b->bound.end()) return;
    names.push_back(name);
  }
  void expression(const ast::Expr* e) {
    if (e) expressions_.emplace_back(e, around_);
  }
  void enter(std::vector<std::string> bound) { around_ = &bodies_.emplace_back(Body{std::move(bound), around_}); }

  void take(const ast::Expr& e) {
    using ast::ExprKind;
    if (e.kind == ExprKind::name) return add(static_cast<const ast::NameExpr&>(e).name);
    if (e.kind == ExprKind::lambda) return function(*static_cast<const ast::LambdaExpr&>(e).function);
    std::vector<const ast::Expr*> inner;
    if (e.kind == ExprKind::comprehension || e.kind == ExprKind::dict_comprehension) {
      const auto& c = static_cast<const ast::ComprehensionExpr&>(e);
      // An iterable reads the names that the clauses before it bind.
      for (size_t i = 0; i < c.clauses.size(); ++i) {
        expression(c.clauses[i].iterable);
        std::vector<std::string> own;
        for (const ast::Expr* target : c.clauses[i].targets) bound_by(*target, own);
        enter(std::move(own));
        for (const ast::Expr* condition : c.clauses[i].conditions) expression(condition);
      }
      expression(c.key);
      return expression(c.value);
    }
    children(e, inner);
    for (const ast::Expr* part : inner) expression(part);
  }

  void take(const ast::Function& f) {
    for (const ast::Parameter& p : f.parameters) expression(p.default_value);
    std::vector<std::string> bound;
    for (const ast::Parameter& p : f.parameters) bound.push_back(p.name);
    for (const Name& name : f.own.locals) bound.emplace_back(name.text());
    enter(std::move(bound));
    for (const ast::Parameter& p : f.parameters) expression(p.annotation);
    for (const ast::Expr* r : f.results) expression(r);
    for (const ast::WithItem& w : f.contexts) expression(w.context);
    expression(f.result);
    if (f.body) block(*f.body);
  }

  // Functions cannot contain programs, tests and options.
  void read(const ast::Expr& e) override { expression(&e); }
  void block(const ast::Block& b) override {
    for (const ast::Stmt* s : b.statements) statements_.emplace_back(s, around_);
  }
  void function(const ast::Function& f) override { functions_.emplace_back(&f, around_); }
  void field(const ast::Parameter& p) override {
    expression(p.annotation);
    expression(p.default_value);
  }
  void outside(const ast::NonlocalStmt::Item& item) override { add(item.name.text()); }
  void module(const ast::ModuleStmt& m) override {
    for (const ast::Stmt* s : m.fields) statements_.emplace_back(s, around_);
    for (const ast::Function* f : m.methods) function(*f);
    if (m.build) function(*m.build);
  }

  const Body* around_ = nullptr;
  std::deque<Body> bodies_;
  std::vector<std::pair<const ast::Expr*, const Body*>> expressions_;
  std::vector<std::pair<const ast::Function*, const Body*>> functions_;
  std::vector<std::pair<const ast::Stmt*, const Body*>> statements_;
};

}  // namespace

const std::vector<std::string>& names_in(const ast::Function& f) {
  if (!f.mentioned) f.mentioned = std::make_unique<const std::vector<std::string>>(NameCollector(f).names);
  return *f.mentioned;
}

}  // namespace pxl
