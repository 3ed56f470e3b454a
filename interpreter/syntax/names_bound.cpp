#include "interpreter/syntax/names_bound.hpp"

#include <algorithm>

#include "interpreter/syntax/node_as.hpp"
#include "interpreter/syntax/statement_parts.hpp"

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
    case ast::ExprKind::attempt:
      todo.insert(todo.end(), {as<ast::AttemptExpr>(e).value, as<ast::AttemptExpr>(e).otherwise});
      break;
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

class BoundNamesVisitor final : public ExpressionVisitor {
 public:
  explicit BoundNamesVisitor(BoundNames& out) : out_(out) {
    names_.name = [this](const ast::NameExpr& n) { out_.mentioned.push_back(n.name); };
    names_.target = [](const ast::Expr&) {};
    names_.lambda = [this](const ast::Function& f) { visit_names(f.result, names_); };
  }
  void read(const ast::Expr& e) override { visit_names(&e, names_); }
  void target(const ast::Expr& target, bool changes) override {
    bound_by(target, out_.bound);
    ExpressionVisitor::target(target, changes);
  }
  void name(const std::string& bound, const Span&) override { out_.bound.push_back(bound); }
  void declaration(const std::string& bound, const Span& at) override {
    name(bound, at);
    out_.declared.push_back(bound);
  }
  void leaves() override { out_.leaves = true; }

 private:
  BoundNames& out_;
  NameVisitor names_;
};

}  // namespace

BoundNames names_of(const ast::Stmt& s) {
  BoundNames out;
  BoundNamesVisitor visitor(out);
  visit_parts(s, visitor);
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

}  // namespace pxl
