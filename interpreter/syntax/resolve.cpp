#include "interpreter/syntax/resolve.hpp"

#include <algorithm>
#include <atomic>
#include <set>

#include <fmt/format.h>

#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl::syntax {

using namespace ast;

namespace {

using Names = std::set<std::string>;

template <class T>
T& as(Stmt& s) {
  return static_cast<T&>(s);
}

/// A loop that encloses the current statement.
struct Loop {
  Names bound, read_first;
};

struct FunctionBody {
  FunctionBody* outer = nullptr;
  OwnNames* own = nullptr;  ///< null for files and modules, whose names are looked up at run time
  Names parameters, locals, nonlocals, declared;
  Names bound;   ///< may be bound at the current point
  Names read;    ///< read so far
  Names before;  ///< bound so far, without names of finished iterations
  std::vector<Loop> loops;
  Names rebinds;
  Names set_within;                    ///< locals that nested functions bind by `nonlocal`
  std::vector<const NameExpr*> early;  ///< reads of locals before this body binds them
};

bool literal(const Expr& e) {
  switch (e.kind) {
    case ExprKind::none:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::floating:
    case ExprKind::string: return true;
    case ExprKind::unary: return literal(*static_cast<const UnaryExpr&>(e).operand);
    default: return false;
  }
}

void find_nonlocals(const std::vector<Stmt*>& statements, Names& out) {
  struct Nonlocals final : ExpressionVisitor {
    Names& out;
    explicit Nonlocals(Names& o) : out(o) {}
    void outside(const NonlocalStmt::Item& item) override { out.insert(item.name.text()); }
  } nonlocals(out);
  for (const Stmt* s : statements) visit_parts(*s, nonlocals);
}

std::vector<Name> interned(const Names& names) { return {names.begin(), names.end()}; }

/// Visits bodies in the order of their first execution. Recursion is bounded by the parser's limit on nesting.
class Resolver {
 public:
  Resolver(Tree& tree, std::vector<Diagnostic>& problems) : tree_(tree), problems_(problems) {}

  void file() {
    FunctionBody b;
    block(*tree_.body, b);
  }

 private:
  void problem(std::string message, Span at, std::string note) {
    problems_.push_back(
        {Severity::error, Fault::refused, std::move(message), at, {std::move(note)}, nullptr, codes::assignment});
  }

  void block(const Block& list, FunctionBody& b) {
    for (Stmt* s : list.statements) statement(*s, b);
  }

  // ---- bodies

  /// `module`: the module whose method or build the function is; null for other functions.
  void function(Function& f, FunctionBody& outer, const ModuleStmt* module = nullptr) {
    ++made_;
    static std::atomic<uint64_t> latest = 0;
    f.serial = ++latest;
    f.qualified = module ? module->name + "." + f.name : f.name;
    f.ordinary = f.contexts.empty() && std::ranges::none_of(f.parameters, [](const Parameter& p) {
                   return p.collects() || p.by_name || p.by_ref;
                 });
    f.plain = f.ordinary && f.results.empty() &&
              std::ranges::none_of(f.parameters, [](const Parameter& p) { return p.annotation != nullptr; });
    for (const Parameter& p : f.parameters) {
      if (!p.default_value) continue;
      read(p.default_value, outer);
      f.makes_defaults = f.makes_defaults || !literal(*p.default_value);
    }
    FunctionBody b;
    for (const Parameter& p : f.parameters) {
      b.parameters.insert(p.name);
      // Free extents in a shape pattern are bound together with the parameters.
      NameVisitor pattern{[&](const NameExpr& n) { b.bound.insert(n.name); }, [](const Function&) {},
                          [](const Expr&) {}};
      visit_names(p.annotation, pattern);
    }
    Names as;
    for (const WithItem& w : f.contexts)
      if (!w.as.empty()) as.insert(w.as);
    static const auto& none = never_destroyed(std::vector<Stmt*>());
    const int before = made_;
    begin(b, f.own, outer, f.body ? f.body->statements : none, as);
    f.own.slots = slots(f, b, module != nullptr);
    if (module && b.parameters.count("self") == 0) f.self_slot = static_cast<int>(f.parameters.size());
    for (const WithItem& w : f.contexts) with_item(w, b);
    // A lambda or def reads its names when it is called.
    read(f.result, b);
    if (f.body) block(*f.body, b);
    end(b);
    f.captured = made_ != before;
  }

  // Parameters come first, in their order. The names bound at the beginning include the sizes in patterns.
  static std::vector<Name> slots(const Function& f, const FunctionBody& b, bool method) {
    std::vector<Name> out;
    const auto add = [&](const std::string& name) {
      if (std::find(out.begin(), out.end(), Name(name)) == out.end()) out.emplace_back(name);
    };
    for (const Parameter& p : f.parameters) add(p.name);
    if (method) add("self");
    for (const Names* names : {&b.bound, &b.locals, &b.declared})
      for (const std::string& name : *names) add(name);
    return out;
  }

  void begin(FunctionBody& b, OwnNames& own, FunctionBody& outer, const std::vector<Stmt*>& statements,
             const Names& more) {
    b.outer = &outer;
    b.own = &own;
    find_nonlocals(statements, b.nonlocals);
    b.locals = more;
    for (const Stmt* s : statements) {
      const BoundNames names = names_of(*s);
      b.locals.insert(names.bound.begin(), names.bound.end());
      b.declared.insert(names.declared.begin(), names.declared.end());
    }
    for (const Names* not_local : {&b.parameters, &b.nonlocals, &b.declared})
      for (const std::string& name : *not_local) b.locals.erase(name);
    b.bound.insert(b.parameters.begin(), b.parameters.end());
    b.before = b.bound;
    own.locals = interned(b.locals);
    own.nonlocals = interned(b.nonlocals);
    b.rebinds = b.nonlocals;
  }

  void end(FunctionBody& b) {
    rebind(b.rebinds, *b.outer);
    b.own->rebinds = interned(b.rebinds);
    for (const NameExpr* n : b.early)
      if (!b.set_within.count(n->name)) tree_.read_too_early.push_back(n);
  }

  // Notes the names that nested functions and modules in `outer` bind outside their own bodies.
  static void rebind(const Names& names, FunctionBody& outer) {
    for (const std::string& name : names)
      (outer.locals.count(name) || outer.parameters.count(name) ? outer.set_within : outer.rebinds).insert(name);
  }

  void module(ModuleStmt& m, FunctionBody& outer) {
    ++made_;
    FunctionBody b;
    b.outer = &outer;
    for (const Parameter& p : m.parameters) {
      read(p.default_value, outer);
      b.parameters.insert(p.name);
    }
    b.before = b.bound = b.parameters;
    for (Stmt* s : m.fields) statement(*s, b);
    for (Function* f : m.methods) function(*f, b, &m);
    if (m.build) function(*m.build, b, &m);
    rebind(b.rebinds, outer);
  }

  // ---- names

  void bind(const std::string& name, FunctionBody& b) {
    b.bound.insert(name);
    b.before.insert(name);
    for (Loop& loop : b.loops) loop.bound.insert(name);
  }

  void bind_target(Expr& target, FunctionBody& b) {
    switch (target.kind) {
      case ExprKind::name: {
        auto& n = static_cast<NameExpr&>(target);
        n.nonlocal = b.nonlocals.count(n.name) != 0;
        bind(n.name, b);
        return;
      }
      case ExprKind::tuple:
        for (Expr* e : static_cast<TupleExpr&>(target).items) bind_target(*e, b);
        return;
      case ExprKind::list:
        for (Expr* e : static_cast<ListExpr&>(target).items) bind_target(*e, b);
        return;
      case ExprKind::starred: bind_target(*static_cast<StarredExpr&>(target).value, b); return;
      default: read(&target, b);
    }
  }

  void read_name(NameExpr& n, FunctionBody& b) {
    if (shadowed(n.name)) return;
    for (const FunctionBody* at = &b; at && !n.unsure; at = at->outer)
      n.unsure = at->own && at->locals.count(n.name) != 0;
    b.read.insert(n.name);
    for (Loop& loop : b.loops)
      if (!loop.bound.count(n.name)) loop.read_first.insert(n.name);
    if (b.own && b.locals.count(n.name) && !b.bound.count(n.name) && expected_ == 0) b.early.push_back(&n);
  }

  bool shadowed(const std::string& name) const {
    return std::any_of(shadows_.begin(), shadows_.end(), [&](const Names& s) { return s.count(name) != 0; });
  }

  void read(const Expr* e, FunctionBody& b) {
    if (!e) return;
    switch (e->kind) {
      case ExprKind::name: read_name(const_cast<NameExpr&>(static_cast<const NameExpr&>(*e)), b); return;
      case ExprKind::lambda: function(*static_cast<const LambdaExpr*>(e)->function, b); return;
      case ExprKind::comprehension:
      case ExprKind::dict_comprehension:
        comprehension(const_cast<ComprehensionExpr&>(static_cast<const ComprehensionExpr&>(*e)), b);
        return;
      default: break;
    }
    std::vector<const Expr*> parts;
    children(*e, parts);
    for (const Expr* part : parts) read(part, b);
  }

  void comprehension(ComprehensionExpr& e, FunctionBody& b) {
    read(e.clauses.front().iterable, b);
    const int before = made_;
    std::vector<std::string> targets;
    const size_t depth = shadows_.size();
    for (size_t i = 0; i < e.clauses.size(); ++i) {
      if (i > 0) read(e.clauses[i].iterable, b);
      for (const Expr* t : e.clauses[i].targets) bound_by(*t, targets);
      shadows_.resize(depth);
      shadows_.emplace_back(targets.begin(), targets.end());
      for (const Expr* c : e.clauses[i].conditions) read(c, b);
    }
    read(e.key, b);
    read(e.value, b);
    shadows_.resize(depth);
    e.captures = made_ != before;
  }

  // ---- statements

  void with_item(const WithItem& w, FunctionBody& b) {
    read(w.context, b);
    if (!w.as.empty()) bind(w.as, b);
  }

  static bool expects_error(const WithStmt& s) {
    bool found = false;
    NameVisitor v{[&](const NameExpr& n) { found |= n.name == "expect_error"; }, [](const Function&) {},
                  [](const Expr&) {}};
    for (const WithItem& w : s.items) visit_names(w.context, v);
    return found;
  }

  void if_statement(IfStmt& s, FunctionBody& b) {
    Names after = b.bound;
    const Names before = b.bound;
    for (auto& arm : s.arms) {
      b.bound = before;
      read(arm.condition, b);
      block(*arm.body, b);
      after.insert(b.bound.begin(), b.bound.end());
    }
    b.bound = before;
    if (s.else_body) block(*s.else_body, b);
    b.bound.insert(after.begin(), after.end());
  }

  void for_statement(ForStmt& s, FunctionBody& b) {
    read(s.iterable, b);
    const Names before = b.before;
    const int functions = made_;
    b.loops.emplace_back();
    std::vector<std::string> targets;
    for (Expr* t : s.targets) {
      bound_by(*t, targets);
      bind_target(*t, b);
    }
    block(*s.body, b);
    const Loop loop = std::move(b.loops.back());
    b.loops.pop_back();
    s.captures = functions != made_;
    Names round(targets.begin(), targets.end());
    for (const std::string& name : loop.bound)
      if (!loop.read_first.count(name) && !before.count(name)) round.insert(name);
    for (const std::string& name : b.nonlocals) round.erase(name);
    s.round = interned(round);
    for (const std::string& name : round)
      if (!before.count(name)) b.before.erase(name);
  }

  void nonlocal_statement(const NonlocalStmt& s, FunctionBody& b) {
    if (!b.own) return;  // refused as misplaced
    for (const auto& item : s.items) {
      const std::string& name = item.name.text();
      if (b.parameters.count(name))
        problem(fmt::format("`{}` is a parameter here: it cannot be nonlocal", name), item.span,
                "give the parameter another name");
      else if (b.declared.count(name))
        problem(fmt::format("`{}` is declared here: it cannot be nonlocal", name), item.span,
                "give one of the two another name");
      else if (b.bound.count(name) || b.read.count(name))
        problem(fmt::format("`{}` is used before `nonlocal {}`", name, name), item.span,
                "put `nonlocal` at the beginning of the body");
    }
  }

  void with_statement(WithStmt& s, FunctionBody& b) {
    const bool expected = expects_error(s);
    expected_ += expected;
    for (const WithItem& item : s.items) with_item(item, b);
    block(*s.body, b);
    expected_ -= expected;
  }

  /// A statement whose parts run in order.
  struct InOrder final : StatementVisitor {
    Resolver& resolver;
    FunctionBody& b;
    InOrder(Resolver& r, FunctionBody& body) : resolver(r), b(body) {}
    void read(const Expr& e) override { resolver.read(&e, b); }
    void target(const Expr& target, bool changes) override {
      if (changes) resolver.read(&target, b);
      if (!changes || target.kind == ExprKind::name) resolver.bind_target(const_cast<Expr&>(target), b);
    }
    void name(const std::string& bound, const Span&) override { resolver.bind(bound, b); }
    void block(const Block& inner) override { resolver.block(inner, b); }
    void function(const Function& f) override { resolver.function(const_cast<Function&>(f), b); }
    void module(const ModuleStmt& m) override { resolver.module(const_cast<ModuleStmt&>(m), b); }
    void field(const Parameter& p) override { resolver.read(p.default_value, b); }
    void test(const TestStmt& t) override {
      FunctionBody inner;
      resolver.begin(inner, const_cast<TestStmt&>(t).own, b, t.body->statements, {});
      resolver.block(*t.body, inner);
      resolver.end(inner);
    }
  };

  void statement(Stmt& s, FunctionBody& b) {
    made_ += s.kind == StmtKind::record;
    switch (s.kind) {
      case StmtKind::if_: return if_statement(as<IfStmt>(s), b);
      case StmtKind::for_: return for_statement(as<ForStmt>(s), b);
      case StmtKind::with: return with_statement(as<WithStmt>(s), b);
      case StmtKind::nonlocal: return nonlocal_statement(as<NonlocalStmt>(s), b);
      default: break;
    }
    InOrder parts(*this, b);
    visit_parts(s, parts);
  }

  Tree& tree_;
  std::vector<Diagnostic>& problems_;
  std::vector<Names> shadows_;  ///< targets of the enclosing comprehensions
  int made_ = 0;                ///< number of functions and modules so far
  int expected_ = 0;            ///< number of enclosing `with expect_error` statements
};

}  // namespace

void resolve_names(Tree& tree, std::vector<Diagnostic>& problems) { Resolver(tree, problems).file(); }

}  // namespace pxl::syntax
