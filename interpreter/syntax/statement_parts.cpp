#include "interpreter/syntax/statement_parts.hpp"

#include "interpreter/syntax/names_bound.hpp"

namespace pxl {
namespace {

/// Lists each statement kind's parts.
class Parts {
 public:
  explicit Parts(StatementVisitor& v) : v_(v) {}

  void operator()(const ast::ExprStmt& s) { read(s.value); }
  void operator()(const ast::AssignStmt& s) {
    read(s.value);
    targets(s.targets, s.augmented);
  }
  void operator()(const ast::IfStmt& s) {
    for (const auto& arm : s.arms) {
      read(arm.condition);
      v_.block(*arm.body);
    }
    if (s.else_body) v_.block(*s.else_body);
  }
  void operator()(const ast::ForStmt& s) {
    read(s.iterable);
    targets(s.targets, false);
    v_.block(*s.body);
  }
  void operator()(const ast::WhileStmt& s) {
    read(s.condition);
    v_.block(*s.body);
  }
  void operator()(const ast::BreakStmt&) { v_.leaves(); }
  void operator()(const ast::ContinueStmt&) { v_.leaves(); }
  void operator()(const ast::PassStmt&) {}
  void operator()(const ast::ReturnStmt& s) {
    read(s.value);
    v_.leaves();
  }
  void operator()(const ast::WithStmt& s) {
    for (const ast::WithItem& item : s.items) {
      read(item.context);
      if (!item.as.empty()) v_.name(item.as, item.as_span);
    }
    v_.block(*s.body);
  }
  void operator()(const ast::TryStmt& s) {
    v_.block(*s.body);
    for (const auto& c : s.catches) {
      if (c.as) v_.target(*c.as, false);
      v_.block(*c.body);
    }
    if (s.finally_body) v_.block(*s.finally_body);
  }
  void operator()(const ast::DefStmt& s) { function(*s.function); }
  void operator()(const ast::ProgramStmt& s) { function(*s.function); }
  void operator()(const ast::ImportStmt& s) { v_.name(s.as.empty() ? s.path.front() : s.as, {}); }
  void operator()(const ast::FromImportStmt& s) {
    for (const auto& item : s.items) v_.name(item.as.empty() ? item.name : item.as, {});
  }
  void operator()(const ast::AssertStmt& s) {
    read(s.condition);
    read(s.message);
  }
  void operator()(const ast::ModuleStmt& s) {
    v_.module(s);
    v_.name(s.name, s.name_span);
  }
  void operator()(const ast::RecordStmt& s) {
    for (const ast::Parameter& p : s.fields) v_.field(p);
    v_.name(s.name, s.name_span);
  }
  void operator()(const ast::ParamStmt& s) { declaration(s, s.init, s.options); }
  void operator()(const ast::NextStmt& s) {
    for (const ast::NameExpr* target : s.targets) read(target);
    read(s.value);
  }
  void operator()(const ast::VariableStmt& s) { declaration(s, s.init, s.options); }
  void operator()(const ast::StreamStmt& s) { declaration(s, s.value, {}); }
  void operator()(const ast::OptionStmt& s) {
    v_.type(*s.type);
    read(s.default_value);
    v_.declaration(s.name, s.name_span);
  }
  void operator()(const ast::TestStmt& s) { v_.test(s); }
  void operator()(const ast::NonlocalStmt& s) {
    for (const auto& item : s.items) v_.outside(item);
  }

 private:
  void read(const ast::Expr* e) {
    if (e) v_.read(*e);
  }
  void targets(const std::vector<ast::Expr*>& list, bool changes) {
    for (const ast::Expr* t : list) v_.target(*t, changes);
  }
  void function(const ast::Function& f) {
    v_.function(f);
    v_.name(f.name, {});
  }
  template <class T>
  void declaration(const T& s, const ast::Expr* value, const std::vector<ast::Argument>& options) {
    read(s.spec);
    read(value);
    for (const ast::Argument& a : options) read(a.value);
    v_.declaration(s.name, s.name_span);
  }

  StatementVisitor& v_;
};

}  // namespace

void visit_parts(const ast::Stmt& s, StatementVisitor& visitor) {
  Parts parts(visitor);
  switch (s.kind) {
#define PXL_STATEMENT(kind, node) \
  case ast::StmtKind::kind:       \
    return parts(static_cast<const ast::node&>(s));
#include "interpreter/syntax/statements.inc"
#undef PXL_STATEMENT
  }
}

void ExpressionVisitor::target(const ast::Expr& target, bool changes) {
  using enum ast::ExprKind;
  if (changes) return read(target);
  std::vector<const ast::Expr*> todo{&target};
  while (!todo.empty()) {
    const ast::Expr& part = *todo.back();
    todo.pop_back();
    if (part.kind == tuple || part.kind == list || part.kind == starred)
      children(part, todo);
    else if (part.kind != name)
      read(part);
  }
}

}  // namespace pxl
