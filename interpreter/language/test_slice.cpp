#include "interpreter/language/test_slice.hpp"

#include <map>
#include <set>
#include <string>

#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/values/builtin.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

using Names = std::set<std::string, std::less<>>;

// ---- names that code reads from outside, even inside functions, modules, programs and tests

void read_by(const ast::Stmt& s, Names& out);
void read_by(const ast::Function& f, Names& out);

// Recurses only into comprehensions and lambdas, whose depth the parser limits.
void read_by(const ast::Expr* e, Names& out) {
  std::vector<const ast::Expr*> todo{e};
  while (!todo.empty()) {
    const ast::Expr* at = todo.back();
    todo.pop_back();
    if (!at) continue;
    if (at->kind == ast::ExprKind::name) out.insert(static_cast<const ast::NameExpr&>(*at).name);
    if (at->kind == ast::ExprKind::lambda) read_by(*static_cast<const ast::LambdaExpr&>(*at).function, out);
    if (at->kind != ast::ExprKind::comprehension && at->kind != ast::ExprKind::dict_comprehension) {
      children(*at, todo);
      continue;
    }
    std::vector<const ast::Expr*> parts;
    children(*at, parts);
    Names inner;
    for (const ast::Expr* part : parts) read_by(part, inner);
    std::vector<std::string> targets;
    for (const ast::Clause& c : static_cast<const ast::ComprehensionExpr&>(*at).clauses)
      for (const ast::Expr* t : c.targets) bound_by(*t, targets);
    for (const std::string& name : targets) inner.erase(name);
    out.merge(inner);
  }
}

void without(Names& names, const std::vector<Name>& locals) {
  for (const Name& name : locals) names.erase(name.text());
}

void read_by(const ast::Function& f, Names& out) {
  Names inner;
  for (const ast::Parameter& p : f.parameters) read_by(p.annotation, inner);
  for (const ast::Expr* r : f.results) read_by(r, inner);
  for (const ast::WithItem& w : f.contexts) read_by(w.context, inner);
  read_by(f.result, inner);
  if (f.body)
    for (const ast::Stmt* s : f.body->statements) read_by(*s, inner);
  without(inner, f.own.locals);
  for (const ast::Parameter& p : f.parameters) {
    inner.erase(p.name);
    read_by(p.default_value, out);
  }
  out.merge(inner);
}

void read_by(const ast::ModuleStmt& m, Names& out) {
  Names inner;
  for (const ast::Parameter& p : m.parameters) read_by(p.annotation, inner);
  for (const ast::Stmt* s : m.fields) read_by(*s, inner);
  for (const ast::Function* f : m.methods) read_by(*f, inner);
  if (m.build) read_by(*m.build, inner);
  for (const ast::Parameter& p : m.parameters) {
    inner.erase(p.name);
    read_by(p.default_value, out);
  }
  out.merge(inner);
}

class ReadNames final : public ExpressionVisitor {
 public:
  explicit ReadNames(Names& out) : out_(out) {}
  // Names that the head of a loop or a `with` binds are not free in its block.
  ~ReadNames() override {
    for (const std::string& name : heads_) in_blocks_.erase(name);
    out_.merge(in_blocks_);
  }
  void read(const ast::Expr& e) override { read_by(&e, out_); }
  void type(const ast::Expr& e) override { read_by(&e, out_); }
  void target(const ast::Expr& target, bool changes) override {
    bound_by(target, heads_);
    ExpressionVisitor::target(target, changes);
  }
  void name(const std::string& bound, const Span&) override { heads_.push_back(bound); }
  void block(const ast::Block& b) override {
    for (const ast::Stmt* s : b.statements) read_by(*s, in_blocks_);
  }
  void function(const ast::Function& f) override { read_by(f, out_); }
  void module(const ast::ModuleStmt& m) override { read_by(m, out_); }
  void field(const ast::Parameter& p) override {
    read_by(p.annotation, out_);
    read_by(p.default_value, out_);
  }
  void test(const ast::TestStmt& s) override {
    Names inner;
    for (const ast::Stmt* t : s.body->statements) read_by(*t, inner);
    without(inner, s.own.locals);
    out_.merge(inner);
  }

 private:
  Names& out_;
  Names in_blocks_;
  std::vector<std::string> heads_;
};

void read_by(const ast::Stmt& s, Names& out) {
  ReadNames names(out);
  visit_parts(s, names);
}

// ---- the slice

bool is_definition(ast::StmtKind kind) {
  using enum ast::StmtKind;
  return kind == def || kind == program || kind == module || kind == import || kind == from_import || kind == option;
}

class Slicer {
 public:
  Slicer(const ast::Tree& tree, const Scope& prelude) : tree_(tree), prelude_(prelude) {
    for (const ast::Stmt* s : tree.body->statements)
      for (const std::string& name : names_of(*s).bound) {
        bound_.insert(name);
        if (is_definition(s->kind)) definitions_[name].push_back(s);
      }
  }

  std::vector<const ast::Stmt*> slice() {
    const std::vector<ast::Stmt*>& all = tree_.body->statements;
    std::vector<bool> taken(all.size(), false);
    Names needed;
    std::vector<std::string> todo;  // needed names whose statements are not included yet
    const auto take = [&](size_t i) {
      if (taken[i]) return;
      taken[i] = true;
      Names read;
      read_by(*all[i], read);
      for (const std::string& name : read)
        if (needed.insert(name).second) todo.push_back(name);
    };
    std::map<std::string, std::vector<size_t>> affecting;  // statements by the names that they bind or may change
    std::vector<size_t> seeding;
    bool any = false;
    for (size_t i = 0; i < all.size(); ++i) {
      any |= all[i]->kind == ast::StmtKind::test;
      Names affected;
      for (const std::string& name : names_of(*all[i]).bound) affected.insert(name);
      bool seeds = false;
      if (!is_definition(all[i]->kind)) changed_by(*all[i], affected, seeds);
      for (const std::string& name : affected) affecting[name].push_back(i);
      if (seeds) seeding.push_back(i);
    }
    if (!any) return {};
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i]->kind == ast::StmtKind::test) take(i);
    for (const size_t i : seeding) take(i);
    while (!todo.empty()) {
      const std::string name = todo.back();
      todo.pop_back();
      const bool implicit_program = (name == "ir" || name == "main") && !bound_.count(name);
      for (size_t i = 0; implicit_program && i < all.size(); ++i) take(i);
      if (const auto found = affecting.find(name); found != affecting.end())
        for (const size_t i : found->second) take(i);
    }
    std::vector<const ast::Stmt*> out;
    for (size_t i = 0; i < all.size(); ++i)
      if (taken[i]) out.push_back(all[i]);
    return out;
  }

 private:
  // Collects names whose values a statement may change. A call does not change what a definition binds.
  void changed_by(const ast::Stmt& s, Names& out, bool& seeds) {
    struct Changes final : ExpressionVisitor {
      Slicer& slicer;
      Names& out;
      bool& seeds;
      Changes(Slicer& s, Names& o, bool& r) : slicer(s), out(o), seeds(r) {}
      void read(const ast::Expr& e) override { slicer.changed_by(&e, out, seeds); }
      void target(const ast::Expr& target, bool changes) override {
        slicer.add_root(&target, out);
        ExpressionVisitor::target(target, changes);
      }
    } changes(*this, out, seeds);
    visit_parts(s, changes);
  }

  void changed_by(const ast::Expr* e, Names& out, bool& seeds) {
    std::vector<const ast::Expr*> todo{e};
    while (!todo.empty()) {
      const ast::Expr* at = todo.back();
      todo.pop_back();
      if (!at) continue;
      if (at->kind == ast::ExprKind::name) add_reach(static_cast<const ast::NameExpr&>(*at).name, out);
      if (at->kind == ast::ExprKind::lambda) todo.push_back(static_cast<const ast::LambdaExpr&>(*at).function->result);
      if (at->kind == ast::ExprKind::call) changed_by_call(static_cast<const ast::CallExpr&>(*at), out, seeds);
      children(*at, todo);
    }
  }

  void changed_by_call(const ast::CallExpr& call, Names& out, bool& seeds) {
    const bool named = call.callee->kind == ast::ExprKind::name;
    const std::string name = named ? static_cast<const ast::NameExpr&>(*call.callee).name : std::string();
    if (!named) add_root(call.callee, out);
    seeds |= name == "random_seed" && !bound_.count(name);
    if (changes_nothing(name)) return;
    Names given;
    for (const ast::Argument& a : call.arguments) read_by(a.value, given);
    for (const std::string& one : given)
      if (!definitions_.count(one)) out.insert(one);
  }

  // Adds the name at the beginning of `a.b[0].c`.
  void add_root(const ast::Expr* e, Names& out) const {
    for (; e->kind != ast::ExprKind::name;) {
      switch (e->kind) {
        case ast::ExprKind::member: e = static_cast<const ast::MemberExpr&>(*e).base; break;
        case ast::ExprKind::index: e = static_cast<const ast::IndexExpr&>(*e).base; break;
        case ast::ExprKind::call: e = static_cast<const ast::CallExpr&>(*e).callee; break;
        default: return;
      }
    }
    const std::string& name = static_cast<const ast::NameExpr&>(*e).name;
    if (!definitions_.count(name)) out.insert(name);
  }

  // Adds what a call of the file's function may change: variables that the function, or a function that it uses, reads.
  void add_reach(const std::string& name, Names& out) {
    if (!definitions_.count(name)) return;
    const auto [known, fresh] = reach_.try_emplace(name);
    if (fresh) {
      Names seen{name};
      std::vector<std::string> todo{name};
      while (!todo.empty()) {
        const std::vector<const ast::Stmt*>& definitions = definitions_.at(todo.back());
        todo.pop_back();
        Names read;
        for (const ast::Stmt* s : definitions) read_by(*s, read);
        for (const std::string& one : read) {
          if (!bound_.count(one) || !seen.insert(one).second) continue;
          if (definitions_.count(one))
            todo.push_back(one);
          else
            known->second.insert(one);
        }
      }
    }
    out.insert(known->second.begin(), known->second.end());
  }

  // Whether a built-in function leaves its arguments unchanged, unlike ops that work in place.
  bool changes_nothing(const std::string& name) const {
    if (name.empty() || bound_.count(name) || name.ends_with('_')) return false;
    const OpRow* row = find_op(name);
    if (row && row->modifies) return false;
    const Value* builtin = prelude_.find_here(name);
    return row || (builtin && builtin->as<BuiltinObject>());
  }

  const ast::Tree& tree_;
  const Scope& prelude_;
  Names bound_;                                                       ///< names bound at the top level
  std::map<std::string, std::vector<const ast::Stmt*>> definitions_;  ///< definitions by name
  std::map<std::string, Names> reach_;                                ///< names that a call of each function may change
};

}  // namespace

std::vector<const ast::Stmt*> test_slice(const ast::Tree& tree, const Scope& prelude) {
  return Slicer(tree, prelude).slice();
}

}  // namespace pxl
