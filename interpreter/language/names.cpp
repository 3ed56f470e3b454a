// The names that a function's code mentions: the possible captures of an outlined graph.
#include <algorithm>

#include "interpreter/graphs/modules.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"

namespace pxl {
namespace {

/// Walks code with explicit stacks, so that its depth does not matter.
class NameCollector {
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
        function(*next);
      } else {
        const ast::Stmt* next = statements_.back();
        statements_.pop_back();
        statement(*next);
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

 private:
  void expression(const ast::Expr* e) { visit_names(e, visitor_); }
  void block(const ast::Block& b) { statements_.insert(statements_.end(), b.statements.begin(), b.statements.end()); }

  void function(const ast::Function& f) {
    for (const ast::Parameter& p : f.parameters) {
      expression(p.annotation);
      expression(p.default_value);
    }
    for (const ast::Expr* r : f.results) expression(r);
    for (const ast::WithItem& w : f.contexts) expression(w.context);
    expression(f.result);
    if (f.body) block(*f.body);
  }

  // Programs, tests and options are not allowed in functions.
  void statement(const ast::Stmt& s) {
    own_expressions(s, [this](const ast::Expr* e) { expression(e); });
    for (const ast::Block* b : own_blocks(s)) block(*b);
    switch (s.kind) {
      case ast::StmtKind::assign:
        // A tuple of targets may contain elements and fields as well as names.
        for (const ast::Expr* target : static_cast<const ast::AssignStmt&>(s).targets)
          if (target->kind != ast::ExprKind::name) expression(target);
        break;
      case ast::StmtKind::nonlocal:
        for (const auto& item : static_cast<const ast::NonlocalStmt&>(s).items) names.push_back(item.name.text());
        break;
      case ast::StmtKind::def: functions_.push_back(static_cast<const ast::DefStmt&>(s).function); break;
      case ast::StmtKind::record:
        for (const ast::Parameter& p : static_cast<const ast::RecordStmt&>(s).fields) {
          expression(p.annotation);
          expression(p.default_value);
        }
        break;
      case ast::StmtKind::module: {
        const auto& m = static_cast<const ast::ModuleStmt&>(s);
        statements_.insert(statements_.end(), m.fields.begin(), m.fields.end());
        functions_.insert(functions_.end(), m.methods.begin(), m.methods.end());
        if (m.build) functions_.push_back(m.build);
        break;
      }
      default: break;
    }
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
