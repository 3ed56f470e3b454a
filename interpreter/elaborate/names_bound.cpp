#include "interpreter/elaborate/names_bound.hpp"

namespace pxl {

using namespace ast;

namespace {

template <class T>
const T& as(const Expr& e) {
  return static_cast<const T&>(e);
}
template <class T>
const T& as(const Stmt& s) {
  return static_cast<const T&>(s);
}

using Todo = std::vector<const Expr*>;

void push(Todo& todo, const std::vector<Expr*>& list) { todo.insert(todo.end(), list.begin(), list.end()); }
void push(Todo& todo, const std::vector<Argument>& list) {
  for (const Argument& a : list) todo.push_back(a.value);
}
void push(Todo& todo, const std::vector<FPiece>& list) {
  for (const FPiece& p : list) {
    todo.push_back(p.value);
    push(todo, p.format);
  }
}

void children(const Expr& e, Todo& todo) {
  switch (e.kind) {
    case ExprKind::fstring: push(todo, as<FStringExpr>(e).pieces); break;
    case ExprKind::list: push(todo, as<ListExpr>(e).items); break;
    case ExprKind::tuple: push(todo, as<TupleExpr>(e).items); break;
    case ExprKind::dict:
      for (const auto& [k, v] : as<DictExpr>(e).items) todo.insert(todo.end(), {k, v});
      break;
    case ExprKind::comprehension:
    case ExprKind::dict_comprehension: {
      const auto& c = as<ComprehensionExpr>(e);
      todo.insert(todo.end(), {c.key, c.value});
      for (const Clause& clause : c.clauses) {
        todo.push_back(clause.iterable);
        push(todo, clause.conditions);
      }
      break;
    }
    case ExprKind::unary: todo.push_back(as<UnaryExpr>(e).operand); break;
    case ExprKind::chain:
      todo.push_back(as<ChainExpr>(e).first);
      for (const auto& step : as<ChainExpr>(e).rest) todo.push_back(step.operand);
      break;
    case ExprKind::power: todo.insert(todo.end(), {as<PowerExpr>(e).base, as<PowerExpr>(e).exponent}); break;
    case ExprKind::compare:
      todo.push_back(as<CompareExpr>(e).first);
      for (const auto& step : as<CompareExpr>(e).rest) todo.push_back(step.operand);
      break;
    case ExprKind::logical: push(todo, as<LogicalExpr>(e).operands); break;
    case ExprKind::conditional: {
      const auto& c = as<ConditionalExpr>(e);
      todo.insert(todo.end(), {c.condition, c.then_value, c.else_value});
      break;
    }
    case ExprKind::call:
      todo.push_back(as<CallExpr>(e).callee);
      push(todo, as<CallExpr>(e).arguments);
      break;
    case ExprKind::index:
      todo.push_back(as<IndexExpr>(e).base);
      push(todo, as<IndexExpr>(e).subscripts);
      break;
    case ExprKind::slice: {
      const auto& s = as<SliceExpr>(e);
      todo.insert(todo.end(), {s.start, s.stop, s.step});
      break;
    }
    case ExprKind::member: todo.push_back(as<MemberExpr>(e).base); break;
    case ExprKind::starred: todo.push_back(as<StarredExpr>(e).value); break;
    default: break;
  }
}

bool only_binds(const Expr& target) {
  return target.kind == ExprKind::name || target.kind == ExprKind::tuple || target.kind == ExprKind::list ||
         target.kind == ExprKind::starred;
}

void bind_targets(const std::vector<Expr*>& targets, std::vector<std::string>& out) {
  for (const Expr* t : targets) bound_by(*t, out);
}

void collect(const Stmt& s, BoundNames& out) {
  switch (s.kind) {
    case StmtKind::assign: bind_targets(as<AssignStmt>(s).targets, out.bound); break;
    case StmtKind::for_: bind_targets(as<ForStmt>(s).targets, out.bound); break;
    case StmtKind::with:
      for (const WithItem& w : as<WithStmt>(s).items)
        if (!w.as.empty()) out.bound.push_back(w.as);
      break;
    case StmtKind::def: out.bound.push_back(as<DefStmt>(s).function->name); break;
    case StmtKind::import: {
      const auto& i = as<ImportStmt>(s);
      out.bound.push_back(i.as.empty() ? i.path.front() : i.as);
      break;
    }
    case StmtKind::from_import:
      for (const auto& item : as<FromImportStmt>(s).items) out.bound.push_back(item.as.empty() ? item.name : item.as);
      break;
    case StmtKind::module: out.bound.push_back(as<ModuleStmt>(s).name); break;
    case StmtKind::program: out.bound.push_back(as<ProgramStmt>(s).function->name); break;
    case StmtKind::param: out.bound.push_back(as<ParamStmt>(s).name); break;
    case StmtKind::stream: out.bound.push_back(as<StreamStmt>(s).name); break;
    case StmtKind::variable:
    case StmtKind::constant: out.bound.push_back(as<VariableStmt>(s).name); break;
    case StmtKind::option: out.bound.push_back(as<OptionStmt>(s).name); break;
    case StmtKind::return_:
    case StmtKind::break_:
    case StmtKind::continue_: out.leaves = true; break;
    default: break;
  }
  NameVisitor visitor;
  visitor.name = [&](const NameExpr& n) { out.mentioned.push_back(n.name); };
  visitor.target = [](const Expr&) {};
  visitor.lambda = [&](const Function& f) { visit_names(f.result, visitor); };
  own_expressions(s, [&](const Expr* e) { visit_names(e, visitor); });
  for (const Block* b : own_blocks(s))
    for (const Stmt* inner : b->statements) collect(*inner, out);
}

}  // namespace

BoundNames names_of(const Stmt& s) {
  BoundNames out;
  collect(s, out);
  return out;
}

void bound_by(const Expr& target, std::vector<std::string>& out) {
  Todo todo{&target};
  while (!todo.empty()) {
    const Expr* e = todo.back();
    todo.pop_back();
    if (e->kind == ExprKind::name) out.push_back(as<NameExpr>(*e).name);
    if (e->kind == ExprKind::tuple) push(todo, as<TupleExpr>(*e).items);
    if (e->kind == ExprKind::list) push(todo, as<ListExpr>(*e).items);
    if (e->kind == ExprKind::starred) todo.push_back(as<StarredExpr>(*e).value);
  }
}

void visit_names(const Expr* e, const NameVisitor& visitor) {
  Todo todo{e};
  while (!todo.empty()) {
    const Expr* at = todo.back();
    todo.pop_back();
    if (!at) continue;
    if (at->kind == ExprKind::name) visitor.name(as<NameExpr>(*at));
    if (at->kind == ExprKind::lambda) visitor.lambda(*as<LambdaExpr>(*at).function);
    if (at->kind == ExprKind::comprehension || at->kind == ExprKind::dict_comprehension)
      for (const Clause& c : as<ComprehensionExpr>(*at).clauses)
        for (const Expr* t : c.targets) visitor.target(*t);
    children(*at, todo);
  }
}

void own_expressions(const Stmt& s, const std::function<void(const Expr*)>& visit) {
  auto options = [&](const std::vector<Argument>& list) {
    for (const Argument& a : list) visit(a.value);
  };
  switch (s.kind) {
    case StmtKind::expression: visit(as<ExprStmt>(s).value); break;
    case StmtKind::assign: {
      const auto& a = as<AssignStmt>(s);
      visit(a.value);
      for (const Expr* t : a.targets)
        if (a.augmented || !only_binds(*t)) visit(t);
      break;
    }
    case StmtKind::if_:
      for (const auto& arm : as<IfStmt>(s).arms) visit(arm.condition);
      break;
    case StmtKind::for_: visit(as<ForStmt>(s).iterable); break;
    case StmtKind::while_: visit(as<WhileStmt>(s).condition); break;
    case StmtKind::return_: visit(as<ReturnStmt>(s).value); break;
    case StmtKind::with:
      for (const WithItem& w : as<WithStmt>(s).items) visit(w.context);
      break;
    case StmtKind::assert_: {
      visit(as<AssertStmt>(s).condition);
      visit(as<AssertStmt>(s).message);
      break;
    }
    case StmtKind::param: {
      const auto& p = as<ParamStmt>(s);
      visit(p.spec), visit(p.init), options(p.options);
      break;
    }
    case StmtKind::stream: visit(as<StreamStmt>(s).spec), visit(as<StreamStmt>(s).value); break;
    case StmtKind::variable:
    case StmtKind::constant: {
      const auto& v = as<VariableStmt>(s);
      visit(v.spec), visit(v.init), options(v.options);
      break;
    }
    case StmtKind::option: visit(as<OptionStmt>(s).default_value); break;
    default: break;
  }
}

std::vector<const Block*> own_blocks(const Stmt& s) {
  std::vector<const Block*> out;
  switch (s.kind) {
    case StmtKind::if_:
      for (const auto& arm : as<IfStmt>(s).arms) out.push_back(arm.body);
      if (as<IfStmt>(s).else_body) out.push_back(as<IfStmt>(s).else_body);
      break;
    case StmtKind::for_: out.push_back(as<ForStmt>(s).body); break;
    case StmtKind::while_: out.push_back(as<WhileStmt>(s).body); break;
    case StmtKind::with: out.push_back(as<WithStmt>(s).body); break;
    default: break;
  }
  return out;
}

}  // namespace pxl
