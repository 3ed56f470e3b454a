// The names that a function's code mentions: the possible captures of an outlined graph.
#include <algorithm>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/statement_parts.hpp"

namespace pxl {
namespace {

/// Walks code with explicit stacks, so that its nesting depth does not matter.
class NameCollector final : private ExpressionVisitor {
 public:
  std::vector<std::string> names;

  explicit NameCollector(const ast::Function& f) {
    visitor_.name = [this](const ast::NameExpr& n) { names.push_back(n.name); };
    visitor_.lambda = [this](const ast::Function& lambda) { functions_.push_back(&lambda); };
    visitor_.target = [](const ast::Expr&) {};
    functions_.push_back(&f);
    while (!functions_.empty() || !statements_.empty()) {
      if (!functions_.empty()) {
        const ast::Function* next = functions_.back();
        functions_.pop_back();
        take(*next);
      } else {
        const ast::Stmt* next = statements_.back();
        statements_.pop_back();
        visit_parts(*next, *this);
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

 private:
  void expression(const ast::Expr* e) { visit_names(e, visitor_); }

  void take(const ast::Function& f) {
    for (const ast::Parameter& p : f.parameters) field(p);
    for (const ast::Expr* r : f.results) expression(r);
    for (const ast::WithItem& w : f.contexts) expression(w.context);
    expression(f.result);
    if (f.body) block(*f.body);
  }

  // Functions cannot contain programs, tests and options.
  void read(const ast::Expr& e) override { expression(&e); }
  void block(const ast::Block& b) override {
    statements_.insert(statements_.end(), b.statements.begin(), b.statements.end());
  }
  void function(const ast::Function& f) override { functions_.push_back(&f); }
  void field(const ast::Parameter& p) override {
    expression(p.annotation);
    expression(p.default_value);
  }
  void outside(const ast::NonlocalStmt::Item& item) override { names.push_back(item.name.text()); }
  void module(const ast::ModuleStmt& m) override {
    statements_.insert(statements_.end(), m.fields.begin(), m.fields.end());
    functions_.insert(functions_.end(), m.methods.begin(), m.methods.end());
    if (m.build) functions_.push_back(m.build);
  }

  NameVisitor visitor_;
  std::vector<const ast::Function*> functions_;
  std::vector<const ast::Stmt*> statements_;
};

}  // namespace

const std::vector<std::string>& names_in(const ast::Function& f) {
  if (!f.mentioned) f.mentioned = std::make_unique<const std::vector<std::string>>(NameCollector(f).names);
  return *f.mentioned;
}

}  // namespace pxl
