// See show.hpp.
#include "tests/unit/syntax/show.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

// g++ 12 sees an overlap in `"a" + string` where there is none (GCC bug 105651).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wrestrict"
#endif

namespace pxl::test {

using namespace ast;

namespace {

std::string list(const std::vector<Expr*>& items) {
  std::string out;
  for (const Expr* e : items) out += " " + show(e);
  return out;
}

std::string arguments(const std::vector<Argument>& items) {
  std::string out;
  for (const Argument& a : items) {
    out += " ";
    if (a.kind == Argument::named) out += a.name + "=";
    if (a.kind == Argument::spread) out += "*";
    if (a.kind == Argument::spread_named) out += "**";
    out += show(a.value);
  }
  return out;
}

std::string parameters(const std::vector<Parameter>& items) {
  std::string out = "(";
  for (const Parameter& p : items) {
    if (out.size() > 1) out += " ";
    out += std::string(p.by_ref ? "ref " : "") + (p.rest ? "*" : "") + p.name;
    if (p.annotation) out += ":" + show(p.annotation);
    if (p.default_value) out += "=" + show(p.default_value);
  }
  return out + ")";
}

std::string pieces(const std::vector<FPiece>& items) {
  std::string out;
  for (const FPiece& p : items) {
    out += p.text;
    if (!p.value) continue;
    out += "{" + show(p.value);
    if (p.conversion) out += std::string("!") + p.conversion;
    if (!p.format.empty()) out += ":" + pieces(p.format);
    out += "}";
  }
  return out;
}

std::string contexts(const std::vector<WithItem>& items) {
  std::string out;
  for (const WithItem& w : items) out += " with " + show(w.context) + (w.as.empty() ? "" : " as " + w.as);
  return out;
}

std::string block(const Block* b) {
  std::string out;
  for (const Stmt* s : b->statements) out += (out.empty() ? "" : "; ") + show(s);
  return "{" + out + "}";
}

std::string function(const Function& f) {
  std::string doc = f.doc.empty() ? "" : "\"" + f.doc + "\" ";
  return doc + (f.outlined ? "outlined " : "") + f.name + parameters(f.parameters) + contexts(f.contexts) +
         block(f.body);
}

std::string declared(const std::string& what, const std::string& name, const Expr* spec, const Expr* init,
                     const std::vector<Argument>& options, const std::string& doc) {
  std::string out = "(" + what + " " + name;
  if (spec) out += " : " + show(spec);
  if (init) out += " = " + show(init);
  if (!options.empty()) out += " with" + arguments(options);
  if (!doc.empty()) out += " \"" + doc + "\"";
  return out + ")";
}

}  // namespace

std::string show(const Expr* e) {
  if (!e) return "_";
  switch (e->kind) {
    case ExprKind::none: return "none";
    case ExprKind::boolean: return static_cast<const BoolExpr*>(e)->value ? "true" : "false";
    case ExprKind::integer: return fmt::format("{}", static_cast<const IntExpr*>(e)->value);
    case ExprKind::floating: return fmt::format("{}f", static_cast<const FloatExpr*>(e)->value);
    case ExprKind::string: return "'" + static_cast<const StringExpr*>(e)->value + "'";
    case ExprKind::fstring: return "f'" + pieces(static_cast<const FStringExpr*>(e)->pieces) + "'";
    case ExprKind::name: return static_cast<const NameExpr*>(e)->name;
    case ExprKind::list: return "[list" + list(static_cast<const ListExpr*>(e)->items) + "]";
    case ExprKind::tuple: return "(tuple" + list(static_cast<const TupleExpr*>(e)->items) + ")";
    case ExprKind::dict: {
      std::string out = "{dict";
      for (auto [k, v] : static_cast<const DictExpr*>(e)->items)
        out += " " + (k ? show(k) + ":" : std::string("**")) + show(v);
      return out + "}";
    }
    case ExprKind::comprehension:
    case ExprKind::dict_comprehension: {
      const auto& c = *static_cast<const ComprehensionExpr*>(e);
      std::string out = "[comp " + (c.key ? show(c.key) + ":" : std::string()) + show(c.value);
      for (const Clause& k : c.clauses) {
        out += " for" + list(k.targets) + " in " + show(k.iterable);
        for (const Expr* f : k.conditions) out += " if " + show(f);
      }
      return out + "]";
    }
    case ExprKind::unary: {
      const auto& u = *static_cast<const UnaryExpr*>(e);
      static const char* names[] = {"-", "+", "~", "not"};
      return fmt::format("({} {})", names[static_cast<int>(u.op)], show(u.operand));
    }
    case ExprKind::chain: {
      const auto& c = *static_cast<const ChainExpr*>(e);
      std::string out = "(" + show(c.first);
      for (const auto& s : c.rest) out += fmt::format(" {} {}", ast::text(s.op), show(s.operand));
      return out + ")";
    }
    case ExprKind::power:
      return "(" + show(static_cast<const PowerExpr*>(e)->base) + " ** " +
             show(static_cast<const PowerExpr*>(e)->exponent) + ")";
    case ExprKind::compare: {
      const auto& c = *static_cast<const CompareExpr*>(e);
      std::string out = "(" + show(c.first);
      for (const auto& s : c.rest) out += fmt::format(" {} {}", ast::text(s.op), show(s.operand));
      return out + ")";
    }
    case ExprKind::logical: {
      const auto& l = *static_cast<const LogicalExpr*>(e);
      return "(" + std::string(l.is_and ? "and" : "or") + list(l.operands) + ")";
    }
    case ExprKind::conditional: {
      const auto& c = *static_cast<const ConditionalExpr*>(e);
      return fmt::format("(if {} {} {})", show(c.condition), show(c.then_value), show(c.else_value));
    }
    case ExprKind::attempt: {
      const auto& a = *static_cast<const AttemptExpr*>(e);
      return fmt::format("(try {} {})", show(a.value), show(a.otherwise));
    }
    case ExprKind::lambda: {
      const Function& f = *static_cast<const LambdaExpr*>(e)->function;
      return "(" + parameters(f.parameters) + " => " + show(f.result) + ")";
    }
    case ExprKind::call:
      return "(call " + show(static_cast<const CallExpr*>(e)->callee) +
             arguments(static_cast<const CallExpr*>(e)->arguments) + ")";
    case ExprKind::index: {
      const auto& i = *static_cast<const IndexExpr*>(e);
      return "(index " + show(i.base) + list(i.subscripts) + (i.trailing_comma ? " ," : "") + ")";
    }
    case ExprKind::slice: {
      const auto& s = *static_cast<const SliceExpr*>(e);
      return fmt::format("({}:{}:{})", show(s.start), show(s.stop), show(s.step));
    }
    case ExprKind::ellipsis: return "...";
    case ExprKind::member:
      return show(static_cast<const MemberExpr*>(e)->base) + "." + static_cast<const MemberExpr*>(e)->name;
    case ExprKind::starred: return "*" + show(static_cast<const StarredExpr*>(e)->value);
  }
  return "?";
}

std::string show(const Stmt* s) {
  switch (s->kind) {
    case StmtKind::expression: return show(static_cast<const ExprStmt*>(s)->value);
    case StmtKind::assign: {
      const auto& a = *static_cast<const AssignStmt*>(s);
      std::string out = std::string("(") + (a.outlined ? "outlined " : "");
      for (const Expr* t : a.targets) out += show(t) + (a.augmented ? fmt::format(" {}= ", ast::text(a.op)) : " = ");
      return out + show(a.value) + (a.doc.empty() ? "" : " \"" + a.doc + "\"") + ")";
    }
    case StmtKind::if_: {
      const auto& i = *static_cast<const IfStmt*>(s);
      std::string out = "(";
      for (const auto& arm : i.arms) out += "if " + show(arm.condition) + " " + block(arm.body) + " ";
      if (i.else_body) return out + "else " + block(i.else_body) + ")";
      out.back() = ')';
      return out;
    }
    case StmtKind::for_: {
      const auto& f = *static_cast<const ForStmt*>(s);
      return "(for" + list(f.targets) + " in " + show(f.iterable) + " " + block(f.body) + ")";
    }
    case StmtKind::while_:
      return "(while " + show(static_cast<const WhileStmt*>(s)->condition) + " " +
             block(static_cast<const WhileStmt*>(s)->body) + ")";
    case StmtKind::break_: return "break";
    case StmtKind::continue_: return "continue";
    case StmtKind::pass: return "pass";
    case StmtKind::nonlocal: {
      std::string out = "(nonlocal";
      for (const auto& item : static_cast<const NonlocalStmt*>(s)->items) out += " " + item.name.text();
      return out + ")";
    }
    case StmtKind::return_: return "(return " + show(static_cast<const ReturnStmt*>(s)->value) + ")";
    case StmtKind::with:
      return "(" + contexts(static_cast<const WithStmt*>(s)->items).substr(1) + " " +
             block(static_cast<const WithStmt*>(s)->body) + ")";
    case StmtKind::try_: {
      const auto& t = *static_cast<const TryStmt*>(s);
      std::string out = "(try " + block(t.body);
      for (const auto& c : t.catches) {
        out += " catch";
        for (const auto& kind : c.kinds) out += " " + kind.name;
        out += (c.as ? " as " + c.as->name : "") + " " + block(c.body);
      }
      return out + (t.finally_body ? " finally " + block(t.finally_body) : "") + ")";
    }
    case StmtKind::def: return "(def " + function(*static_cast<const DefStmt*>(s)->function) + ")";
    case StmtKind::import: {
      const auto& i = *static_cast<const ImportStmt*>(s);
      return fmt::format("(import {}{})", fmt::join(i.path, "."), i.as.empty() ? "" : " as " + i.as);
    }
    case StmtKind::from_import: {
      const auto& i = *static_cast<const FromImportStmt*>(s);
      std::string out =
          fmt::format("(from {} import", i.file ? "\"" + *i.file + "\"" : fmt::format("{}", fmt::join(i.path, ".")));
      for (const auto& item : i.items) out += " " + item.name + (item.as.empty() ? "" : " as " + item.as);
      return out + ")";
    }
    case StmtKind::assert_: {
      const auto& a = *static_cast<const AssertStmt*>(s);
      return "(assert " + show(a.condition) + (a.message ? " " + show(a.message) : "") + ")";
    }
    case StmtKind::module: {
      const auto& m = *static_cast<const ModuleStmt*>(s);
      std::string out = "(module " + m.name + parameters(m.parameters);
      for (const Stmt* f : m.fields) out += " " + show(f);
      for (const Function* f : m.methods) out += " (def " + function(*f) + ")";
      if (m.build) out += " (build " + function(*m.build) + ")";
      return out + (m.doc.empty() ? "" : " \"" + m.doc + "\"") + ")";
    }
    case StmtKind::record: {
      const auto& r = *static_cast<const RecordStmt*>(s);
      return "(record " + r.name + parameters(r.fields) + ")";
    }
    case StmtKind::program: return "(program " + function(*static_cast<const ProgramStmt*>(s)->function) + ")";
    case StmtKind::param: {
      const auto& p = *static_cast<const ParamStmt*>(s);
      return declared(p.by_ref     ? "param ref"
                      : p.is_state ? "state"
                                   : "param",
                      p.name, p.spec, p.init, p.options, p.doc);
    }
    case StmtKind::next: {
      const auto& n = *static_cast<const NextStmt*>(s);
      std::string out = "(next";
      for (const NameExpr* target : n.targets) out += " " + target->name;
      return out + " " + show(n.value) + ")";
    }
    case StmtKind::stream: {
      const auto& p = *static_cast<const StreamStmt*>(s);
      return declared(p.is_input ? "stream in" : "stream out", p.name, p.spec, p.value, {}, p.doc);
    }
    case StmtKind::variable:
    case StmtKind::constant: {
      const auto& p = *static_cast<const VariableStmt*>(s);
      return declared(s->kind == StmtKind::variable ? "variable" : "constant", p.name, p.spec, p.init, p.options,
                      p.doc);
    }
    case StmtKind::option: {
      const auto& p = *static_cast<const OptionStmt*>(s);
      return declared("option", p.name, p.type, p.default_value, {}, p.doc);
    }
    case StmtKind::test:
      return "(test '" + static_cast<const TestStmt*>(s)->title + "' " + block(static_cast<const TestStmt*>(s)->body) +
             ")";
  }
  return "?";
}

ParseResult parse_text(const std::string& text) { return parse(add_source("t.pxl", text)); }

std::string errors(const std::string& text) {
  std::string out;
  for (const Diagnostic& d : parse_text(text).diagnostics) {
    Position from = d.span.file->position(d.span.begin), to = d.span.file->position(d.span.end);
    std::string end = from.line == to.line ? fmt::format("{}", to.column) : fmt::format("{}:{}", to.line, to.column);
    out += fmt::format("{}{}:{}-{} {}", out.empty() ? "" : " | ", from.line, from.column, end, d.message);
  }
  return out;
}

std::string tree(const std::string& text) {
  ParseResult result = parse_text(text);
  if (!result.tree) return "error: " + errors(text);
  std::string out;
  for (const Stmt* s : result.tree->body->statements) out += (out.empty() ? "" : "; ") + show(s);
  return out;
}

}  // namespace pxl::test
