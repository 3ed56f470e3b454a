// Which names a function's code mentions: what an outlined graph may have captured.
#include <algorithm>
#include <unordered_map>

#include "interpreter/elaborate/modules.hpp"

namespace pxl {
namespace {

/// Walks code with an explicit stack, so that its depth does not matter.
class NameCollector {
 public:
  std::vector<std::string> names;

  void function(const ast::Function& f) {
    for (const ast::Parameter& p : f.parameters) {
      add(p.annotation);
      add(p.default_value);
    }
    for (const ast::WithItem& w : f.contexts) add(w.context);
    add(f.result);
    add(f.body);
  }
  void run() {
    while (!exprs_.empty() || !stmts_.empty()) {
      if (!exprs_.empty()) {
        const ast::Expr* e = exprs_.back();
        exprs_.pop_back();
        visit(*e);
      } else {
        const ast::Stmt* s = stmts_.back();
        stmts_.pop_back();
        visit(*s);
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

 private:
  template <class T>
  static const T& as(const ast::Expr& e) {
    return static_cast<const T&>(e);
  }
  template <class T>
  static const T& as(const ast::Stmt& s) {
    return static_cast<const T&>(s);
  }
  void add(const ast::Expr* e) {
    if (e) exprs_.push_back(e);
  }
  void add(const ast::Block* b) {
    if (b)
      for (const ast::Stmt* s : b->statements) stmts_.push_back(s);
  }
  void add(const std::vector<ast::Expr*>& list) {
    for (const ast::Expr* e : list) add(e);
  }
  void add(const std::vector<ast::Argument>& list) {
    for (const ast::Argument& a : list) add(a.value);
  }
  void pieces(const std::vector<ast::FPiece>& list) {
    for (const ast::FPiece& p : list) {
      add(p.value);
      pieces(p.format);
    }
  }

  void visit(const ast::Expr& e) {
    using K = ast::ExprKind;
    switch (e.kind) {
      case K::none:
      case K::boolean:
      case K::integer:
      case K::floating:
      case K::string:
      case K::ellipsis: break;
      case K::fstring: pieces(as<ast::FStringExpr>(e).pieces); break;
      case K::name: names.push_back(as<ast::NameExpr>(e).name); break;
      case K::list: add(as<ast::ListExpr>(e).items); break;
      case K::tuple: add(as<ast::TupleExpr>(e).items); break;
      case K::dict:
        for (const auto& [k, v] : as<ast::DictExpr>(e).items) {
          add(k);
          add(v);
        }
        break;
      case K::comprehension:
      case K::dict_comprehension: {
        const auto& c = as<ast::ComprehensionExpr>(e);
        add(c.key);
        add(c.value);
        for (const ast::Clause& clause : c.clauses) {
          add(clause.iterable);
          add(clause.conditions);
        }
        break;
      }
      case K::unary: add(as<ast::UnaryExpr>(e).operand); break;
      case K::chain:
        add(as<ast::ChainExpr>(e).first);
        for (const auto& step : as<ast::ChainExpr>(e).rest) add(step.operand);
        break;
      case K::power:
        add(as<ast::PowerExpr>(e).base);
        add(as<ast::PowerExpr>(e).exponent);
        break;
      case K::compare:
        add(as<ast::CompareExpr>(e).first);
        for (const auto& step : as<ast::CompareExpr>(e).rest) add(step.operand);
        break;
      case K::logical: add(as<ast::LogicalExpr>(e).operands); break;
      case K::conditional:
        add(as<ast::ConditionalExpr>(e).condition);
        add(as<ast::ConditionalExpr>(e).then_value);
        add(as<ast::ConditionalExpr>(e).else_value);
        break;
      case K::lambda: function(*as<ast::LambdaExpr>(e).function); break;
      case K::call:
        add(as<ast::CallExpr>(e).callee);
        add(as<ast::CallExpr>(e).arguments);
        break;
      case K::index:
        add(as<ast::IndexExpr>(e).base);
        add(as<ast::IndexExpr>(e).subscripts);
        break;
      case K::slice:
        add(as<ast::SliceExpr>(e).start);
        add(as<ast::SliceExpr>(e).stop);
        add(as<ast::SliceExpr>(e).step);
        break;
      case K::member: add(as<ast::MemberExpr>(e).base); break;
      case K::starred: add(as<ast::StarredExpr>(e).value); break;
    }
  }

  void visit(const ast::Stmt& s) {
    using K = ast::StmtKind;
    switch (s.kind) {
      case K::break_:
      case K::continue_:
      case K::pass:
      case K::import:
      case K::from_import:
      case K::program:
      case K::option: break;
      case K::expression: add(as<ast::ExprStmt>(s).value); break;
      case K::assign: {
        const auto& a = as<ast::AssignStmt>(s);
        add(a.value);
        for (const ast::Expr* t : a.targets)
          if (a.augmented || t->kind != ast::ExprKind::name) add(t);
        break;
      }
      case K::if_:
        for (const auto& arm : as<ast::IfStmt>(s).arms) {
          add(arm.condition);
          add(arm.body);
        }
        add(as<ast::IfStmt>(s).else_body);
        break;
      case K::for_:
        add(as<ast::ForStmt>(s).iterable);
        add(as<ast::ForStmt>(s).body);
        break;
      case K::while_:
        add(as<ast::WhileStmt>(s).condition);
        add(as<ast::WhileStmt>(s).body);
        break;
      case K::return_: add(as<ast::ReturnStmt>(s).value); break;
      case K::with:
        for (const ast::WithItem& w : as<ast::WithStmt>(s).items) add(w.context);
        add(as<ast::WithStmt>(s).body);
        break;
      case K::def: function(*as<ast::DefStmt>(s).function); break;
      case K::assert_:
        add(as<ast::AssertStmt>(s).condition);
        add(as<ast::AssertStmt>(s).message);
        break;
      case K::module: {
        const auto& m = as<ast::ModuleStmt>(s);
        for (const ast::Stmt* f : m.fields) stmts_.push_back(f);
        for (const ast::Function* f : m.methods) function(*f);
        if (m.build) function(*m.build);
        break;
      }
      case K::param:
        add(as<ast::ParamStmt>(s).spec);
        add(as<ast::ParamStmt>(s).init);
        add(as<ast::ParamStmt>(s).options);
        break;
      case K::stream:
        add(as<ast::StreamStmt>(s).spec);
        add(as<ast::StreamStmt>(s).value);
        break;
      case K::variable:
      case K::constant:
        add(as<ast::VariableStmt>(s).spec);
        add(as<ast::VariableStmt>(s).init);
        add(as<ast::VariableStmt>(s).options);
        break;
      case K::test: break;
    }
  }

  std::vector<const ast::Expr*> exprs_;
  std::vector<const ast::Stmt*> stmts_;
};

}  // namespace

const std::vector<std::string>& names_in(const ast::Function& f) {
  // Trees are never freed before the interpreter that runs them, and each function is walked once. The cache is
  // keyed by span too, so that a node of a later interpreter at the same address is not taken for an old one.
  struct Entry {
    Span span;
    std::vector<std::string> names;
  };
  thread_local std::unordered_map<const ast::Function*, Entry> cache;
  auto it = cache.find(&f);
  if (it != cache.end() && it->second.span.file == f.span.file && it->second.span.begin == f.span.begin)
    return it->second.names;
  NameCollector c;
  c.function(f);
  c.run();
  return (cache[&f] = Entry{f.span, std::move(c.names)}).names;
}

}  // namespace pxl
