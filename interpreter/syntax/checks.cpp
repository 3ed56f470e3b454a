// Checks where statements are allowed. check_expressions.cpp checks names and arguments.
#include "interpreter/syntax/checks.hpp"

#include <set>

#include <fmt/format.h>

#include "interpreter/syntax/check_expressions.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl::syntax {

using namespace ast;

namespace {

enum class Body : uint8_t { file, program, module, build, function, test };

struct Place {
  Body body = Body::file;
  bool loop = false;
  bool nested = false;      ///< inside a block of `if`, `for`, `while` or `with`
  bool in_program = false;  ///< inside a program, at any depth
  bool outlined = false;
};

class Checker {
 public:
  explicit Checker(std::vector<Diagnostic>& problems) : problems_(problems), expressions_(problems) {}

  void block(const Block* b, Place p) {
    for (const Stmt* s : b->statements) statement(s, p);
  }

 private:
  void problem(std::string message, Span at, std::string note = {}) {
    Diagnostic d{Severity::error, Fault::refused, std::move(message), at, {}, nullptr, codes::misplaced};
    if (!note.empty()) d.notes.push_back(std::move(note));
    problems_.push_back(std::move(d));
  }

  /// Returns only the first word of the statement, so that the caret does not underline a whole block.
  static Span head(const Stmt* s) {
    std::string_view text = s->span.text();
    Span out = s->span;
    out.end = out.begin + static_cast<uint32_t>(std::min(text.find_first_of(" \t\r\n({["), text.size()));
    return out;
  }

  void statement(const Stmt* s, Place p) {
    switch (s->kind) {
      case StmtKind::assign: expressions_.assignment(*static_cast<const AssignStmt*>(s)); break;
      case StmtKind::for_: for_(*static_cast<const ForStmt*>(s), p); break;
      case StmtKind::while_: parts(s, inside_loop(p)); break;
      case StmtKind::break_:
      case StmtKind::continue_:
        if (!p.loop) problem(fmt::format("`{}` outside a loop", head(s).text()), s->span);
        break;
      case StmtKind::nonlocal:
        if (p.body == Body::file || p.body == Body::module)
          problem("`nonlocal` outside a function", head(s),
                  p.body == Body::module ? "fields are bound with `=`; a method changes them through `self`"
                                         : "bind a name of the file with `=`");
        break;
      case StmtKind::return_:
        if (p.body != Body::function && p.body != Body::build)
          problem("`return` outside a function", head(s),
                  p.body == Body::program ? "a program's results are its `stream out`s and the names bound in it" : "");
        parts(s, p);
        break;
      case StmtKind::def: function(*static_cast<const DefStmt*>(s)->function, Body::function, p); break;
      case StmtKind::assert_:
        parts(s, p);
        tuple_asserted(*static_cast<const AssertStmt*>(s));
        break;
      case StmtKind::record: record(*static_cast<const RecordStmt*>(s)); break;
      case StmtKind::module: module(*static_cast<const ModuleStmt*>(s), p); break;
      case StmtKind::program:
        if (p.in_program || p.body == Body::build || p.body == Body::module || p.body == Body::function)
          problem("a program is only allowed at the top level", head(s), "move it to the top level of the file");
        p.in_program = true;
        function(*static_cast<const ProgramStmt*>(s)->function, Body::program, p);
        break;
      case StmtKind::param: param(*static_cast<const ParamStmt*>(s), p); break;
      case StmtKind::next: next(*static_cast<const NextStmt*>(s), p); break;
      case StmtKind::stream: stream(*static_cast<const StreamStmt*>(s), p); break;
      case StmtKind::variable:
      case StmtKind::constant: variable(*static_cast<const VariableStmt*>(s), p); break;
      case StmtKind::option: {
        const auto& o = *static_cast<const OptionStmt*>(s);
        top_level(s, p, "an option");
        expressions_.value(o.type);
        expressions_.value(o.default_value);
        break;
      }
      case StmtKind::test: {
        top_level(s, p, "a test");
        Place inner;
        inner.body = Body::test;
        block(static_cast<const TestStmt*>(s)->body, inner);
        break;
      }
      default: parts(s, nested(p));
    }
  }

  /// Checks the expressions of a statement, and its blocks in the place `inside`.
  void parts(const Stmt* s, Place inside) {
    struct InOrder final : StatementVisitor {
      Checker& checker;
      Place inside;
      InOrder(Checker& c, Place p) : checker(c), inside(p) {}
      void read(const Expr& e) override { checker.expressions_.value(&e); }
      void block(const Block& b) override { checker.block(&b, inside); }
    } in_order(*this, inside);
    visit_parts(*s, in_order);
  }

  /// `assert (x > 0, "why")` holds whatever x is.
  void tuple_asserted(const AssertStmt& a) {
    if (a.condition->kind != ExprKind::tuple || static_cast<const TupleExpr*>(a.condition)->items.empty()) return;
    problem("a tuple is always true, so this assertion can't fail", a.condition->span,
            "write it without the parentheses: `assert condition, \"why\"`");
    Diagnostic& d = problems_.back();
    d.code = codes::value;
    const Span at = a.condition->span;
    const std::string_view text = at.text();
    if (!text.starts_with('(') || !text.ends_with(')') || a.message) return;
    d.fixes.push_back(
        {"Remove the parentheses", {{{at.file, at.begin, at.begin + 1}, ""}, {{at.file, at.end - 1, at.end}, ""}}});
  }

  static Place nested(Place p) {
    p.nested = true;
    return p;
  }
  static Place inside_loop(Place p) {
    p.loop = p.nested = true;
    return p;
  }

  void top_level(const Stmt* s, Place p, std::string_view what) {
    if (p.body != Body::file || p.nested)
      problem(fmt::format("{} is declared at the top level of a file", what), head(s));
  }

  void for_(const ForStmt& s, Place p) {
    for (const Expr* t : s.targets) expressions_.loop_target(t);
    expressions_.value(s.iterable);
    block(s.body, inside_loop(p));
  }

  void contexts(const std::vector<WithItem>& items) {
    for (const WithItem& item : items) expressions_.value(item.context);
  }

  void function(const Function& f, Body body, Place outside) {
    expressions_.parameters(f.parameters);
    if (body == Body::program)
      for (const Parameter& p : f.parameters)
        if (p.by_ref) problem("`ref`: not allowed here: a program takes no tensors", p.span);
    contexts(f.contexts);
    Place inner;
    inner.body = body;
    inner.in_program = outside.in_program;
    inner.outlined = f.outlined;
    block(f.body, inner);
  }

  void module(const ModuleStmt& m, Place outside) {
    expressions_.parameters(m.parameters);
    for (const Parameter& p : m.parameters)
      if (p.by_ref) problem("`ref` is only allowed in the arguments of `build`, not in the configuration", p.span);
    Place inner;
    inner.body = Body::module;
    inner.in_program = outside.in_program;
    for (const Stmt* s : m.fields) statement(s, inner);
    for (const Function* f : m.methods) {
      if (f->name == "__init__")
        problem(
            "a module has no `__init__`", f->span,
            fmt::format("its parameters are its configuration: `module {}(width: int) {{ fc = Linear(width) ... }}`",
                        m.name));
      function(*f, Body::function, inner);
    }
    if (m.build) function(*m.build, Body::build, inner);
  }

  void record(const RecordStmt& s) {
    expressions_.parameters(s.fields);
    for (const Parameter& p : s.fields) {
      if (p.by_ref || p.collects()) problem("a field of a record has a name, a type and a default only", p.span);
      if (p.name == "with" || p.name == "fields")
        problem(fmt::format("`{}` is a member of each record", p.name), p.span);
    }
  }

  void param(const ParamStmt& s, Place p) {
    if (p.body != Body::build)
      problem(fmt::format("`{}` is only allowed in a module's `build`", s.is_state ? "state" : "param"), head(&s),
              p.body == Body::module     ? "fields are bound with `=`; a tensor of the module is declared in `build`"
              : p.body == Body::function ? "declare it in `build` and pass the tensor"
                                         : "a tensor of a program is declared with `variable`");
    if (p.body == Body::program && !s.is_state && s.init) problems_.back().offer(head(&s), "variable");
    expressions_.value(s.spec);
    expressions_.value(s.init);
    expressions_.options(s.options);
  }

  void next(const NextStmt& s, Place p) {
    if (p.body != Body::build)
      problem("`next` is only allowed in a module's `build`", head(&s),
              p.body == Body::function ? "return the value, and write `next` in `build`"
                                       : "a state belongs to a module: `state NAME: SPEC = INIT` in its `build`");
    expressions_.value(s.value);
  }

  void stream(const StreamStmt& s, Place p) {
    if (p.body == Body::build || p.body == Body::module || p.outlined)
      problem("`stream` is only allowed in a program", head(&s), "load there, and pass the tensor");
    expressions_.value(s.spec);
    expressions_.value(s.value);
  }

  void variable(const VariableStmt& s, Place p) {
    bool is_variable = s.kind == StmtKind::variable;
    if (is_variable && (p.body == Body::build || p.body == Body::module || p.outlined))
      problem("variables are only allowed in the main graph", head(&s), "in a `build`, declare a `param`");
    if (is_variable && p.body == Body::build) problems_.back().offer(head(&s), "param");
    expressions_.value(s.spec);
    expressions_.value(s.init);
    expressions_.options(s.options);
  }

  std::vector<Diagnostic>& problems_;
  ExpressionChecks expressions_;
};

}  // namespace

void check(const Tree& tree, std::vector<Diagnostic>& problems) { Checker(problems).block(tree.body, Place{}); }

}  // namespace pxl::syntax
