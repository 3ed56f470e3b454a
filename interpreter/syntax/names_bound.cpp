#include "interpreter/syntax/names_bound.hpp"

#include <algorithm>

#include "interpreter/syntax/node_as.hpp"

namespace pxl {

namespace {

using Todo = std::vector<const ast::Expr*>;

void push(Todo& todo, const std::vector<ast::Expr*>& list) { todo.insert(todo.end(), list.begin(), list.end()); }
void push(Todo& todo, const std::vector<ast::Argument>& list) {
  for (const ast::Argument& a : list) todo.push_back(a.value);
}
void push(Todo& todo, const std::vector<ast::FPiece>& list) {
  for (const ast::FPiece& p : list) {
    todo.push_back(p.value);
    push(todo, p.format);
  }
}

}  // namespace

void children(const ast::Expr& e, Todo& todo) {
  switch (e.kind) {
    case ast::ExprKind::fstring: push(todo, as<ast::FStringExpr>(e).pieces); break;
    case ast::ExprKind::list: push(todo, as<ast::ListExpr>(e).items); break;
    case ast::ExprKind::tuple: push(todo, as<ast::TupleExpr>(e).items); break;
    case ast::ExprKind::dict:
      for (const auto& [k, v] : as<ast::DictExpr>(e).items) todo.insert(todo.end(), {k, v});
      break;
    case ast::ExprKind::comprehension:
    case ast::ExprKind::dict_comprehension: {
      const auto& c = as<ast::ComprehensionExpr>(e);
      todo.insert(todo.end(), {c.key, c.value});
      for (const ast::Clause& clause : c.clauses) {
        todo.push_back(clause.iterable);
        push(todo, clause.conditions);
      }
      break;
    }
    case ast::ExprKind::unary: todo.push_back(as<ast::UnaryExpr>(e).operand); break;
    case ast::ExprKind::chain:
      todo.push_back(as<ast::ChainExpr>(e).first);
      for (const auto& step : as<ast::ChainExpr>(e).rest) todo.push_back(step.operand);
      break;
    case ast::ExprKind::power:
      todo.insert(todo.end(), {as<ast::PowerExpr>(e).base, as<ast::PowerExpr>(e).exponent});
      break;
    case ast::ExprKind::compare:
      todo.push_back(as<ast::CompareExpr>(e).first);
      for (const auto& step : as<ast::CompareExpr>(e).rest) todo.push_back(step.operand);
      break;
    case ast::ExprKind::logical: push(todo, as<ast::LogicalExpr>(e).operands); break;
    case ast::ExprKind::conditional: {
      const auto& c = as<ast::ConditionalExpr>(e);
      todo.insert(todo.end(), {c.condition, c.then_value, c.else_value});
      break;
    }
    case ast::ExprKind::call:
      todo.push_back(as<ast::CallExpr>(e).callee);
      push(todo, as<ast::CallExpr>(e).arguments);
      break;
    case ast::ExprKind::index:
      todo.push_back(as<ast::IndexExpr>(e).base);
      push(todo, as<ast::IndexExpr>(e).subscripts);
      break;
    case ast::ExprKind::slice: {
      const auto& s = as<ast::SliceExpr>(e);
      todo.insert(todo.end(), {s.start, s.stop, s.step});
      break;
    }
    case ast::ExprKind::member: todo.push_back(as<ast::MemberExpr>(e).base); break;
    case ast::ExprKind::starred: todo.push_back(as<ast::StarredExpr>(e).value); break;
    default: break;
  }
}

namespace {

bool only_binds(const ast::Expr& target) {
  return target.kind == ast::ExprKind::name || target.kind == ast::ExprKind::tuple ||
         target.kind == ast::ExprKind::list || target.kind == ast::ExprKind::starred;
}

void bind_targets(const std::vector<ast::Expr*>& targets, std::vector<std::string>& out) {
  for (const ast::Expr* t : targets) bound_by(*t, out);
}

void collect(const ast::Stmt& s, BoundNames& out) {
  auto declare = [&](const std::string& name) {
    out.bound.push_back(name);
    out.declared.push_back(name);
  };
  switch (s.kind) {
    case ast::StmtKind::assign: bind_targets(as<ast::AssignStmt>(s).targets, out.bound); break;
    case ast::StmtKind::for_: bind_targets(as<ast::ForStmt>(s).targets, out.bound); break;
    case ast::StmtKind::with:
      for (const ast::WithItem& w : as<ast::WithStmt>(s).items)
        if (!w.as.empty()) out.bound.push_back(w.as);
      break;
    case ast::StmtKind::def: out.bound.push_back(as<ast::DefStmt>(s).function->name); break;
    case ast::StmtKind::import: {
      const auto& i = as<ast::ImportStmt>(s);
      out.bound.push_back(i.as.empty() ? i.path.front() : i.as);
      break;
    }
    case ast::StmtKind::from_import:
      for (const auto& item : as<ast::FromImportStmt>(s).items)
        out.bound.push_back(item.as.empty() ? item.name : item.as);
      break;
    case ast::StmtKind::module: out.bound.push_back(as<ast::ModuleStmt>(s).name); break;
    case ast::StmtKind::record: out.bound.push_back(as<ast::RecordStmt>(s).name); break;
    case ast::StmtKind::program: out.bound.push_back(as<ast::ProgramStmt>(s).function->name); break;
    case ast::StmtKind::param: declare(as<ast::ParamStmt>(s).name); break;
    case ast::StmtKind::stream: declare(as<ast::StreamStmt>(s).name); break;
    case ast::StmtKind::variable:
    case ast::StmtKind::constant: declare(as<ast::VariableStmt>(s).name); break;
    case ast::StmtKind::option: declare(as<ast::OptionStmt>(s).name); break;
    case ast::StmtKind::return_:
    case ast::StmtKind::break_:
    case ast::StmtKind::continue_: out.leaves = true; break;
    default: break;
  }
  NameVisitor visitor;
  visitor.name = [&](const ast::NameExpr& n) { out.mentioned.push_back(n.name); };
  visitor.target = [](const ast::Expr&) {};
  visitor.lambda = [&](const ast::Function& f) { visit_names(f.result, visitor); };
  own_expressions(s, [&](const ast::Expr* e) { visit_names(e, visitor); });
  for (const ast::Block* b : own_blocks(s))
    for (const ast::Stmt* inner : b->statements) collect(*inner, out);
}

}  // namespace

BoundNames names_of(const ast::Stmt& s) {
  BoundNames out;
  collect(s, out);
  return out;
}

void bound_by(const ast::Expr& target, std::vector<std::string>& out) {
  Todo todo{&target};
  while (!todo.empty()) {
    const ast::Expr* e = todo.back();
    todo.pop_back();
    if (e->kind == ast::ExprKind::name) out.push_back(as<ast::NameExpr>(*e).name);
    if (e->kind == ast::ExprKind::tuple) push(todo, as<ast::TupleExpr>(*e).items);
    if (e->kind == ast::ExprKind::list) push(todo, as<ast::ListExpr>(*e).items);
    if (e->kind == ast::ExprKind::starred) todo.push_back(as<ast::StarredExpr>(*e).value);
  }
}

std::vector<const ast::Expr*> alternatives_of(const ast::Expr& annotation) {
  std::vector<const ast::Expr*> out{&annotation};
  if (annotation.kind != ast::ExprKind::chain) return out;
  const auto& chain = as<ast::ChainExpr>(annotation);
  if (chain.rest.front().op != ast::BinaryOp::bit_or) return out;
  out = {chain.first};
  for (const auto& step : chain.rest) out.push_back(step.operand);
  return out;
}

std::vector<const ast::NameExpr*> extents_of_pattern(const ast::Expr& annotation) {
  std::vector<const ast::NameExpr*> out;
  if (const auto alternatives = alternatives_of(annotation); alternatives.size() > 1) {
    out = extents_of_pattern(*alternatives.front());
    for (size_t i = 1; i < alternatives.size(); ++i) {
      const auto other = extents_of_pattern(*alternatives[i]);
      std::erase_if(out, [&](const ast::NameExpr* n) {
        return std::none_of(other.begin(), other.end(), [&](const ast::NameExpr* o) { return o->name == n->name; });
      });
    }
    return out;
  }
  if (annotation.kind != ast::ExprKind::index) return out;
  const auto& pattern = as<ast::IndexExpr>(annotation);
  const std::string base = pattern.base->kind == ast::ExprKind::name ? as<ast::NameExpr>(*pattern.base).name : "";
  const bool container = base == "list" || base == "tuple" || base == "dict";
  for (const ast::Expr* e : pattern.subscripts) {
    if (container) {
      const auto inner = extents_of_pattern(*e);
      out.insert(out.end(), inner.begin(), inner.end());
      continue;
    }
    if (e->kind == ast::ExprKind::starred) e = as<ast::StarredExpr>(*e).value;
    if (e->kind == ast::ExprKind::name && as<ast::NameExpr>(*e).name != "_") out.push_back(&as<ast::NameExpr>(*e));
  }
  return out;
}

void visit_names(const ast::Expr* e, const NameVisitor& visitor) {
  Todo todo{e};
  while (!todo.empty()) {
    const ast::Expr* at = todo.back();
    todo.pop_back();
    if (!at) continue;
    if (at->kind == ast::ExprKind::name) visitor.name(as<ast::NameExpr>(*at));
    if (at->kind == ast::ExprKind::lambda) visitor.lambda(*as<ast::LambdaExpr>(*at).function);
    if (at->kind == ast::ExprKind::comprehension || at->kind == ast::ExprKind::dict_comprehension)
      for (const ast::Clause& c : as<ast::ComprehensionExpr>(*at).clauses)
        for (const ast::Expr* t : c.targets) visitor.target(*t);
    children(*at, todo);
  }
}

void own_expressions(const ast::Stmt& s, const std::function<void(const ast::Expr*)>& visit) {
  auto options = [&](const std::vector<ast::Argument>& list) {
    for (const ast::Argument& a : list) visit(a.value);
  };
  switch (s.kind) {
    case ast::StmtKind::expression: visit(as<ast::ExprStmt>(s).value); break;
    case ast::StmtKind::assign: {
      const auto& a = as<ast::AssignStmt>(s);
      visit(a.value);
      for (const ast::Expr* t : a.targets)
        if (a.augmented || !only_binds(*t)) visit(t);
      break;
    }
    case ast::StmtKind::if_:
      for (const auto& arm : as<ast::IfStmt>(s).arms) visit(arm.condition);
      break;
    case ast::StmtKind::for_: visit(as<ast::ForStmt>(s).iterable); break;
    case ast::StmtKind::while_: visit(as<ast::WhileStmt>(s).condition); break;
    case ast::StmtKind::return_: visit(as<ast::ReturnStmt>(s).value); break;
    case ast::StmtKind::with:
      for (const ast::WithItem& w : as<ast::WithStmt>(s).items) visit(w.context);
      break;
    case ast::StmtKind::assert_: {
      visit(as<ast::AssertStmt>(s).condition);
      visit(as<ast::AssertStmt>(s).message);
      break;
    }
    case ast::StmtKind::param: {
      const auto& p = as<ast::ParamStmt>(s);
      visit(p.spec), visit(p.init), options(p.options);
      break;
    }
    case ast::StmtKind::stream: visit(as<ast::StreamStmt>(s).spec), visit(as<ast::StreamStmt>(s).value); break;
    case ast::StmtKind::variable:
    case ast::StmtKind::constant: {
      const auto& v = as<ast::VariableStmt>(s);
      visit(v.spec), visit(v.init), options(v.options);
      break;
    }
    case ast::StmtKind::option: visit(as<ast::OptionStmt>(s).default_value); break;
    default: break;
  }
}

std::vector<const ast::Block*> own_blocks(const ast::Stmt& s) {
  std::vector<const ast::Block*> out;
  switch (s.kind) {
    case ast::StmtKind::if_:
      for (const auto& arm : as<ast::IfStmt>(s).arms) out.push_back(arm.body);
      if (as<ast::IfStmt>(s).else_body) out.push_back(as<ast::IfStmt>(s).else_body);
      break;
    case ast::StmtKind::for_: out.push_back(as<ast::ForStmt>(s).body); break;
    case ast::StmtKind::while_: out.push_back(as<ast::WhileStmt>(s).body); break;
    case ast::StmtKind::with: out.push_back(as<ast::WithStmt>(s).body); break;
    default: break;
  }
  return out;
}

}  // namespace pxl
