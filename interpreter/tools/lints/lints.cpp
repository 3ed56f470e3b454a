#include "interpreter/tools/lints/lints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/tools/lints/program_lints.hpp"
#include "interpreter/tools/symbols.hpp"
#include "interpreter/values/notices.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {

namespace {

using ast::ExprKind;
using ast::StmtKind;

constexpr LintKind table[] = {
    {unused_import, "an import that nothing uses"},
    {unused_variable, "a local name that is bound and never read"},
    {unused_value, "a comparison that is a statement"},
    {unreachable, "statements after `return`, `break` or `continue`"},
    {redefinition, "a function, module or program that a second one of its name replaces"},
    {unloaded_stream, "a `stream in` that no op loads"},
    {unread_param, "a `param` that no op reads"},
    {unused_result, "the result of an op or of a function of the library that nothing takes"},
    {other_meaning, "a call that means something else in another framework"},
    {softmax_twice, "a loss of logits that gets probabilities: the result of `softmax`"},
    {shadowed_builtin, "a value with the name of a function of the language, which the file calls"},
    {untrained_variable, "a variable that the loss depends on, and that nothing trains"},
    {unwritten_state, "a `state` whose name is bound again, though no `next` gives it another value"},
    {fixed_seed, "a random op of a training program whose seed is the same in each run"},
};

/// The lists of statements of a tree: of each block and each body.
class StatementLists final : public StatementVisitor {
 public:
  explicit StatementLists(std::function<void(const std::vector<ast::Stmt*>&)> visit) : visit_(std::move(visit)) {}

  void list(const std::vector<ast::Stmt*>& statements) {
    visit_(statements);
    for (const ast::Stmt* s : statements)
      if (!expects_error(*s)) visit_parts(*s, *this);
  }
  void block(const ast::Block& b) override { list(b.statements); }
  void function(const ast::Function& f) override {
    if (f.body) list(f.body->statements);
  }
  void module(const ast::ModuleStmt& m) override {
    list(m.fields);
    for (const ast::Function* f : m.methods) function(*f);
    if (m.build) function(*m.build);
  }
  void test(const ast::TestStmt& t) override { list(t.body->statements); }

 private:
  /// Code that is meant to fail.
  static bool expects_error(const ast::Stmt& s) {
    if (s.kind != StmtKind::with) return false;
    const auto& items = as<ast::WithStmt>(s).items;
    return std::any_of(items.begin(), items.end(), [](const ast::WithItem& item) {
      return item.context->span.text().starts_with("expect_error(");
    });
  }

  std::function<void(const std::vector<ast::Stmt*>&)> visit_;
};

/// The comments `# allow: KIND, ...` of a file. One after code is of the innermost statement of its line, and one on a
/// line of its own is of the next statement.
class Allowances {
 public:
  explicit Allowances(const ast::Tree& tree) : source_(*tree.source) {
    for (int line = 1; line <= source_.line_count(); ++line) read(line);
    if (all_.empty()) return;
    StatementLists([this](const auto& list) {
      for (const ast::Stmt* s : list) {
        const Lines lines{line_of(s->span.begin), line_of(s->span.end)};
        for (Allowance& a : all_) take(a, lines);
      }
    }).list(tree.body->statements);
  }
  bool permit(std::string_view kind, Span at) const {
    const int line = line_of(at.begin);
    return std::ranges::any_of(
        all_, [&](const Allowance& a) { return a.kinds.contains(kind) && a.of.first <= line && line <= a.of.last; });
  }

 private:
  struct Lines {
    int first = 0, last = 0;
  };
  struct Allowance {
    int line = 0;
    bool alone = false;  ///< on a line of its own
    std::set<std::string, std::less<>> kinds;
    Lines of;
  };

  int line_of(uint32_t place) const { return source_.position(place).line; }
  void read(int number) {
    const std::string_view line = source_.line(number);
    const size_t at = line.find("# allow: ");
    if (at == line.npos) return;
    Allowance a{number, trimmed(line.substr(0, at)).empty(), {}, {number, number}};
    for (std::string_view rest = line.substr(at + 9); !rest.empty();) {
      const size_t comma = rest.find(',');
      a.kinds.emplace(trimmed(rest.substr(0, comma)));
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    }
    all_.push_back(std::move(a));
  }
  /// Lists come with statements before those within them.
  static void take(Allowance& a, Lines s) {
    const bool none = a.of.first == a.line;
    if (a.alone ? s.first > a.line && (none || s.first < a.of.first) : s.first <= a.line && a.line <= s.last) a.of = s;
  }

  const SourceFile& source_;
  std::vector<Allowance> all_;
};

class Linter {
 public:
  Linter(const ast::Tree& tree, const Scope& prelude, std::set<std::string, std::less<>> off)
      : tree_(tree), prelude_(prelude), off_(std::move(off)), allowances_(tree) {}

  std::vector<Diagnostic> run(const std::vector<std::shared_ptr<Ir>>& irs, std::vector<Diagnostic> warnings) {
    for (Diagnostic& d : warnings) warn(d.code, d.span, std::move(d.message));
    names();
    StatementLists([this](const auto& list) { block(list); }).list(tree_.body->statements);
    for (const ast::Stmt* s : tree_.body->statements)
      if (s->kind == StmtKind::module && as<ast::ModuleStmt>(*s).build) states(*as<ast::ModuleStmt>(*s).build->body);
    for (const auto& ir : irs)
      for (Diagnostic& d : program_findings(*ir, tree_)) {
        if (Diagnostic* kept = warn(d.code, d.span, std::move(d.message))) kept->notes = std::move(d.notes);
      }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
    return std::move(found_);
  }

 private:
  Diagnostic* warn(std::string_view kind, Span at, std::string message, std::string note = {}) {
    if (off_.contains(kind) || !at || at.file != tree_.source || allowances_.permit(kind, at)) return nullptr;
    Diagnostic d;
    d.severity = Severity::warning;
    d.message = std::move(message);
    d.span = at;
    d.code = kind;
    if (!note.empty()) d.notes.push_back(std::move(note));
    const bool known = std::any_of(found_.begin(), found_.end(), [&](const Diagnostic& other) {
      return other.span.begin == at.begin && other.message == d.message;
    });
    if (known) return nullptr;
    found_.push_back(std::move(d));
    return &found_.back();
  }

  // ---- names
  void names() {
    const SymbolTable symbols(tree_);
    std::vector<size_t> reads(symbols.symbols().size()), calls(reads.size());
    for (const Occurrence& o : symbols.occurrences()) {
      if (o.symbol < 0 || o.use == Occurrence::Use::binding) continue;
      ++reads[static_cast<size_t>(o.symbol)];
      if (o.use == Occurrence::Use::callee) ++calls[static_cast<size_t>(o.symbol)];
    }
    for (size_t i = 0; i < reads.size(); ++i) {
      const Symbol& s = symbols.symbols()[i];
      if (s.name.starts_with('_')) continue;
      if (s.kind == Symbol::Kind::import && reads[i] == 0 && s.container < 0) import(s);
      if (s.kind == Symbol::Kind::variable && calls[i]) shadow(s, symbols, static_cast<int>(i));
      if (s.kind == Symbol::Kind::variable && reads[i] == 0) variable(s, symbols);
    }
  }

  void import(const Symbol& s) {
    // Names that another file may import from this one: a file without statements of its own.
    const bool runs =
        std::any_of(tree_.body->statements.begin(), tree_.body->statements.end(), [](const ast::Stmt* one) {
          return one->kind == StmtKind::expression || one->kind == StmtKind::for_ || one->kind == StmtKind::program;
        });
    if (runs) warn(unused_import, s.name_span, fmt::format("nothing uses the import `{}`", s.name));
  }

  /// A name that a function or a build binds by `name = value` alone: others may be there for their side.
  void variable(const Symbol& s, const SymbolTable& symbols) {
    if (s.container < 0 || s.inner || s.values.size() != 1 || !s.values[0]) return;
    const Symbol::Kind body = symbols.symbols()[static_cast<size_t>(s.container)].kind;
    if (body != Symbol::Kind::function && body != Symbol::Kind::method && body != Symbol::Kind::build) return;
    warn(unused_variable, s.name_span, fmt::format("`{}` is never read", s.name), "a name that begins with `_` may be");
  }

  /// Whether an expression has a value that no call takes: a number, a list, the result of the function `name` itself.
  static bool is_data(const ast::Expr& e, const std::string& name) {
    switch (e.kind) {
      case ExprKind::name:
      case ExprKind::conditional:
      case ExprKind::attempt:
      case ExprKind::lambda:
      case ExprKind::index:
      case ExprKind::member:
      case ExprKind::starred: return false;
      case ExprKind::call: {
        const ast::Expr& callee = *as<ast::CallExpr>(e).callee;
        return callee.kind == ExprKind::name && as<ast::NameExpr>(callee).name == name;
      }
      default: return true;
    }
  }

  /// A name that the file calls, and that hides a function of the language with a value that is none.
  void shadow(const Symbol& s, const SymbolTable& symbols, int number) {
    size_t data = 0, given = 0;
    for (const ast::Expr* v : s.values)
      if (v) ++given, data += is_data(*v, s.name);
    if (data == 0 || data < given || !prelude_.find(s.name)) return;
    Diagnostic* d = warn(shadowed_builtin, s.name_span, fmt::format("`{}` hides the function of this name", s.name),
                         "calls after this find the value: give it another name");
    if (!d) return;
    for (const Occurrence& o : symbols.places(number))
      if (o.use == Occurrence::Use::callee) return d->related.push_back({o.span, "a call of the name"});
  }

  // ---- statements
  void block(const std::vector<ast::Stmt*>& list) {
    std::map<std::string, Span> declared;
    for (size_t i = 0; i < list.size(); ++i) {
      const ast::Stmt& s = *list[i];
      const bool leaves = s.kind == StmtKind::return_ || s.kind == StmtKind::break_ || s.kind == StmtKind::continue_;
      if (leaves && i + 1 < list.size())
        warn(unreachable, list[i + 1]->span, "this statement is never reached",
             fmt::format("the `{}` above leaves the block", s.kind == StmtKind::return_  ? "return"
                                                            : s.kind == StmtKind::break_ ? "break"
                                                                                         : "continue"));
      if (s.kind == StmtKind::expression) value(as<ast::ExprStmt>(s));
      if (const auto [name, at] = declaration(s); !name.empty()) {
        const auto [first, fresh] = declared.emplace(name, at);
        if (fresh) continue;
        Diagnostic* d = warn(redefinition, at, fmt::format("`{}` is declared a second time", name),
                             "the second declaration takes the place of the first one");
        if (d) d->related.push_back({first->second, "the first declaration"});
      }
    }
  }

  static std::pair<std::string, Span> declaration(const ast::Stmt& s) {
    switch (s.kind) {
      case StmtKind::def: return {as<ast::DefStmt>(s).function->name, as<ast::DefStmt>(s).function->span};
      case StmtKind::program: return {as<ast::ProgramStmt>(s).function->name, as<ast::ProgramStmt>(s).function->span};
      case StmtKind::module: return {as<ast::ModuleStmt>(s).name, as<ast::ModuleStmt>(s).name_span};
      case StmtKind::record: return {as<ast::RecordStmt>(s).name, as<ast::RecordStmt>(s).name_span};
      default: return {};
    }
  }

  /// `state average: SPEC = 0`, then `average = ...` without `next`: the state keeps its value.
  void states(const ast::Block& build) {
    std::set<std::string> declared, next;
    std::vector<std::pair<std::string, Span>> bound;
    StatementLists([&](const std::vector<ast::Stmt*>& list) {
      for (const ast::Stmt* s : list) {
        if (s->kind == StmtKind::param && as<ast::ParamStmt>(*s).is_state) declared.insert(as<ast::ParamStmt>(*s).name);
        if (s->kind == StmtKind::next)
          for (const ast::NameExpr* t : as<ast::NextStmt>(*s).targets) next.insert(t->name);
        if (s->kind == StmtKind::assign)
          for (std::string& name : names_of(*s).bound) bound.emplace_back(std::move(name), s->span);
      }
    }).list(build.statements);
    for (const auto& [name, at] : bound)
      if (declared.contains(name) && !next.contains(name))
        warn(unwritten_state, at, fmt::format("this binds the name `{}`, and the state keeps its value", name),
             fmt::format("`next {} = ...` gives the value that the next call finds", name));
  }

  void value(const ast::ExprStmt& s) {
    if (s.value->kind != ExprKind::compare) return;
    const auto& c = as<ast::CompareExpr>(*s.value);
    Diagnostic* d = warn(unused_value, s.span, "nothing takes the result of this comparison",
                         "a name is bound by `=`, a condition is asserted by `assert`");
    if (d && c.rest.size() == 1 && c.rest[0].op == ast::CompareOp::eq) d->offer(c.rest[0].op_span, "=");
  }

  const ast::Tree& tree_;
  const Scope& prelude_;
  std::set<std::string, std::less<>> off_;
  Allowances allowances_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::span<const LintKind> lint_kinds() { return table; }

std::vector<Diagnostic> lints(const ast::Tree& tree, const Scope& prelude, const std::vector<std::shared_ptr<Ir>>& irs,
                              std::vector<Diagnostic> warnings, const std::set<std::string, std::less<>>& off) {
  return Linter(tree, prelude, off).run(irs, std::move(warnings));
}

}  // namespace pxl
