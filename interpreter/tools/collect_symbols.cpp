// Walks a tree for its names.
#include "interpreter/tools/collect_symbols.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

namespace pxl {

namespace {

using namespace ast;
using Kind = Symbol::Kind;

bool is_word_byte(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || c == '_' || std::isalnum(static_cast<unsigned char>(c));
}

// The place of a word inside a larger span; the span itself where it is not there.
Span find_word(Span in, std::string_view word) {
  const std::string_view text = in.text();
  for (size_t at = text.find(word); !word.empty() && at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool before = at > 0 && is_word_byte(text[at - 1]);
    const size_t end = at + word.size();
    if (!before && (end >= text.size() || !is_word_byte(text[end])))
      return {in.file, in.begin + static_cast<uint32_t>(at), in.begin + static_cast<uint32_t>(end)};
  }
  return in;
}

std::string parameter_list(const std::vector<Parameter>& parameters) {
  std::string out = "(";
  for (const Parameter& p : parameters) {
    if (out.size() > 1) out += ", ";
    Span whole = p.span;
    if (p.annotation) whole = join(whole, p.annotation->span);
    if (p.default_value) whole = join(whole, p.default_value->span);
    out += whole.text();
  }
  return out + ")";
}

// The tree is walked body by body. What functions do is looked at after the body around them, since they run later.
class Collector {
 public:
  Collector(std::vector<Symbol>& symbols, std::vector<Occurrence>& occurrences)
      : symbols_(symbols), occurrences_(occurrences) {}

  void run(const Tree& tree) {
    scopes_.push_back({-1, -1, {}});
    block(tree.body, 0);
    for (size_t i = 0; i < later_.size(); ++i) later_[i]();
    std::stable_sort(occurrences_.begin(), occurrences_.end(), [](const Occurrence& a, const Occurrence& b) {
      return std::pair(a.span.begin, a.span.end) < std::pair(b.span.begin, b.span.end);
    });
    // A declaration and its first writing are one place.
    occurrences_.erase(std::unique(occurrences_.begin(), occurrences_.end(),
                                   [](const Occurrence& a, const Occurrence& b) {
                                     return a.span.begin == b.span.begin && a.span.end == b.span.end;
                                   }),
                       occurrences_.end());
  }

 private:
  struct Scope {
    int outer;
    int owner;  ///< symbol
    std::map<std::string, int, std::less<>> names;
  };

  int find(int scope, std::string_view name) const {
    for (int s = scope; s >= 0; s = scopes_[s].outer)
      if (auto it = scopes_[s].names.find(name); it != scopes_[s].names.end()) return it->second;
    return -1;
  }
  int open(int outer, int owner) {
    scopes_.push_back({outer, owner, {}});
    return static_cast<int>(scopes_.size()) - 1;
  }
  int declare(int scope, Kind kind, const std::string& name, Span name_span, Span span, std::string detail = {},
              std::string doc = {}) {
    auto [it, fresh] = scopes_[scope].names.try_emplace(name, static_cast<int>(symbols_.size()));
    if (fresh) {
      Symbol s;
      s.kind = kind;
      s.name = name;
      s.name_span = name_span;
      s.span = span;
      s.detail = std::move(detail);
      s.doc = std::move(doc);
      s.container = scopes_[scope].owner;
      symbols_.push_back(std::move(s));
    }
    occurrences_.push_back({name_span, it->second, true});
    return it->second;
  }
  void read(int scope, std::string_view name, Span span) {
    if (int s = find(scope, name); s >= 0)
      occurrences_.push_back({span, s, false});
    else
      unresolved_.push_back({scope, std::string(name), span});
  }

  void block(const Block* b, int scope) {
    if (!b) return;
    const size_t before = unresolved_.size();
    for (const Stmt* s : b->statements) statement(*s, scope);
    settle(before);
  }
  // Names that were read before their body bound them, as loops do.
  void settle(size_t from) {
    std::vector<Unresolved> open;
    for (size_t i = from; i < unresolved_.size(); ++i) {
      Unresolved& u = unresolved_[i];
      if (int s = find(u.scope, u.name); s >= 0)
        occurrences_.push_back({u.span, s, false});
      else
        open.push_back(u);
    }
    unresolved_.resize(from);
    unresolved_.insert(unresolved_.end(), open.begin(), open.end());
  }

  void bind(const Expr* target, int scope, Kind kind, Span span, const std::string& doc = {}) {
    switch (target->kind) {
      case ExprKind::name: {
        const auto& n = static_cast<const NameExpr&>(*target);
        declare(scope, kind, n.name, n.span, span, {}, doc);
        break;
      }
      case ExprKind::tuple:
        for (const Expr* e : static_cast<const TupleExpr&>(*target).items) bind(e, scope, kind, span);
        break;
      case ExprKind::list:
        for (const Expr* e : static_cast<const ListExpr&>(*target).items) bind(e, scope, kind, span);
        break;
      case ExprKind::starred: bind(static_cast<const StarredExpr&>(*target).value, scope, kind, span); break;
      default: expression(target, scope);
    }
  }

  void parameters(const std::vector<Parameter>& list, int scope, int reads) {
    for (const Parameter& p : list) {
      expression(p.annotation, reads);
      expression(p.default_value, reads);
    }
    for (const Parameter& p : list) {
      Span span = p.span;
      if (p.annotation) span = join(span, p.annotation->span);
      if (p.default_value) span = join(span, p.default_value->span);
      declare(scope, Kind::parameter, p.name, find_word(p.span, p.name), span,
              std::string(p.annotation ? p.annotation->span.text() : ""));
    }
  }

  void function_body(const Function& f, int outer, int owner) {
    later_.push_back([this, &f, outer, owner] {
      const size_t before = unresolved_.size();
      const int scope = open(outer, owner);
      shape_names(f, scope);
      parameters(f.parameters, scope, scope);
      for (const WithItem& item : f.contexts) with_item(item, scope);
      block(f.body, scope);
      expression(f.result, scope);
      settle(before);
    });
  }
  // A shape pattern `x: tensor[..., d]` binds the names of extents that nothing outside has bound.
  void shape_names(const Function& f, int scope) {
    for (const Parameter& p : f.parameters) {
      if (!p.annotation || p.annotation->kind != ExprKind::index) continue;
      for (const Expr* e : static_cast<const IndexExpr&>(*p.annotation).subscripts) {
        if (e->kind == ExprKind::starred) e = static_cast<const StarredExpr&>(*e).value;
        if (e->kind != ExprKind::name) continue;
        const auto& n = static_cast<const NameExpr&>(*e);
        if (find(scope, n.name) < 0) declare(scope, Kind::variable, n.name, n.span, p.span);
      }
    }
  }

  Span whole(const Function& f) const { return f.body ? join(f.span, f.body->span) : f.span; }

  void declare_function(const Function& f, int scope, Kind kind) {
    const int owner =
        declare(scope, kind, f.name, find_word(f.span, f.name), whole(f), parameter_list(f.parameters), f.doc);
    function_body(f, scope, owner);
  }

  void module(const ModuleStmt& m, int scope) {
    const int owner = declare(scope, Kind::module, m.name, m.name_span, m.span, parameter_list(m.parameters), m.doc);
    const int instance = open(scope, owner);
    const size_t before = unresolved_.size();
    parameters(m.parameters, instance, instance);
    in_module_ = instance;
    for (const Stmt* s : m.fields) statement(*s, instance);
    for (const Function* f : m.methods) declare_function(*f, instance, Kind::method);
    if (m.build) {
      const int build = declare(instance, Kind::build, "build", find_word(m.build->span, "build"), whole(*m.build),
                                parameter_list(m.build->parameters), m.build->doc);
      function_body(*m.build, instance, build);
    }
    in_module_ = -1;
    settle(before);
  }

  void with_item(const WithItem& item, int scope) {
    expression(item.context, scope);
    if (!item.as.empty()) declare(scope, Kind::variable, item.as, item.as_span, item.as_span);
  }

  void import(const ImportStmt& s, int scope) {
    const std::string& name = s.as.empty() ? s.path.front() : s.as;
    const int i = declare(scope, Kind::import, name, find_word(s.span, name), s.span);
    symbols_[i].import_path = s.path;
  }
  void from_import(const FromImportStmt& s, int scope) {
    for (const auto& item : s.items) {
      const std::string& name = item.as.empty() ? item.name : item.as;
      const int i = declare(scope, Kind::import, name, find_word(item.span, name), s.span);
      symbols_[i].import_path = s.path;
      symbols_[i].imported = item.name;
    }
  }

  void statement(const Stmt& statement, int scope) {
    switch (statement.kind) {
      case StmtKind::expression: expression(static_cast<const ExprStmt&>(statement).value, scope); break;
      case StmtKind::assign: {
        const auto& s = static_cast<const AssignStmt&>(statement);
        expression(s.value, scope);
        for (const Expr* t : s.targets) {
          if (s.augmented && t->kind == ExprKind::name) read(scope, static_cast<const NameExpr&>(*t).name, t->span);
          if (!s.augmented || t->kind != ExprKind::name || find(scope, static_cast<const NameExpr&>(*t).name) < 0)
            bind(t, scope, scope == in_module_ ? Kind::field : Kind::variable, s.span, s.doc);
        }
        break;
      }
      case StmtKind::if_: {
        const auto& s = static_cast<const IfStmt&>(statement);
        for (const auto& arm : s.arms) {
          expression(arm.condition, scope);
          block(arm.body, scope);
        }
        block(s.else_body, scope);
        break;
      }
      case StmtKind::for_: {
        const auto& s = static_cast<const ForStmt&>(statement);
        expression(s.iterable, scope);
        for (const Expr* t : s.targets) bind(t, scope, Kind::variable, t->span);
        block(s.body, scope);
        break;
      }
      case StmtKind::while_: {
        const auto& s = static_cast<const WhileStmt&>(statement);
        expression(s.condition, scope);
        block(s.body, scope);
        break;
      }
      case StmtKind::break_:
      case StmtKind::continue_:
      case StmtKind::pass: break;
      case StmtKind::return_: expression(static_cast<const ReturnStmt&>(statement).value, scope); break;
      case StmtKind::with: {
        const auto& s = static_cast<const WithStmt&>(statement);
        for (const WithItem& item : s.items) with_item(item, scope);
        block(s.body, scope);
        break;
      }
      case StmtKind::def:
        declare_function(*static_cast<const DefStmt&>(statement).function, scope, Kind::function);
        break;
      case StmtKind::program:
        declare_function(*static_cast<const ProgramStmt&>(statement).function, scope, Kind::program);
        break;
      case StmtKind::import: import(static_cast<const ImportStmt&>(statement), scope); break;
      case StmtKind::from_import: from_import(static_cast<const FromImportStmt&>(statement), scope); break;
      case StmtKind::assert_: {
        const auto& s = static_cast<const AssertStmt&>(statement);
        expression(s.condition, scope);
        expression(s.message, scope);
        break;
      }
      case StmtKind::module: module(static_cast<const ModuleStmt&>(statement), scope); break;
      case StmtKind::param: {
        const auto& s = static_cast<const ParamStmt&>(statement);
        declaration(scope, Kind::param, s.name, s.name_span, s.span, s.spec, s.init, s.doc);
        for (const Argument& a : s.options) expression(a.value, scope);
        break;
      }
      case StmtKind::stream: {
        const auto& s = static_cast<const StreamStmt&>(statement);
        declaration(scope, s.is_input ? Kind::stream_in : Kind::stream_out, s.name, s.name_span, s.span, s.spec,
                    s.value, s.doc);
        break;
      }
      case StmtKind::variable:
      case StmtKind::constant: {
        const auto& s = static_cast<const VariableStmt&>(statement);
        declaration(scope, s.kind == StmtKind::constant ? Kind::constant : Kind::state, s.name, s.name_span, s.span,
                    s.spec, s.init, s.doc);
        for (const Argument& a : s.options) expression(a.value, scope);
        break;
      }
      case StmtKind::option: {
        const auto& s = static_cast<const OptionStmt&>(statement);
        declaration(scope, Kind::option, s.name, s.name_span, s.span, s.type, s.default_value, s.doc);
        break;
      }
      case StmtKind::test: {
        const auto& s = static_cast<const TestStmt&>(statement);
        Symbol t;
        t.kind = Kind::test;
        t.name = s.title;
        t.name_span = t.span = s.span;
        t.container = scopes_[scope].owner;
        symbols_.push_back(t);
        const int owner = static_cast<int>(symbols_.size()) - 1;
        later_.push_back([this, &s, scope, owner] { block(s.body, open(scope, owner)); });
        break;
      }
    }
  }
  void declaration(int scope, Kind kind, const std::string& name, Span name_span, Span span, const Expr* spec,
                   const Expr* init, const std::string& doc) {
    expression(spec, scope);
    expression(init, scope);
    declare(scope, kind, name, name_span, span, std::string(spec ? spec->span.text() : ""), doc);
  }

  void comprehension(const ComprehensionExpr& e, int outer) {
    const int scope = open(outer, scopes_[outer].owner);
    for (const Clause& c : e.clauses) {
      expression(c.iterable, scope);
      for (const Expr* t : c.targets) bind(t, scope, Kind::variable, t->span);
      for (const Expr* x : c.conditions) expression(x, scope);
    }
    expression(e.key, scope);
    expression(e.value, scope);
  }

  void pieces(const std::vector<FPiece>& list, int scope) {
    for (const FPiece& p : list) {
      expression(p.value, scope);
      pieces(p.format, scope);
    }
  }

  void expression(const Expr* e, int scope) {
    if (!e) return;
    switch (e->kind) {
      case ExprKind::none:
      case ExprKind::boolean:
      case ExprKind::integer:
      case ExprKind::floating:
      case ExprKind::string:
      case ExprKind::ellipsis: break;
      case ExprKind::fstring: pieces(static_cast<const FStringExpr&>(*e).pieces, scope); break;
      case ExprKind::name: read(scope, static_cast<const NameExpr&>(*e).name, e->span); break;
      case ExprKind::list:
        for (const Expr* x : static_cast<const ListExpr&>(*e).items) expression(x, scope);
        break;
      case ExprKind::tuple:
        for (const Expr* x : static_cast<const TupleExpr&>(*e).items) expression(x, scope);
        break;
      case ExprKind::dict:
        for (const auto& [k, v] : static_cast<const DictExpr&>(*e).items) {
          expression(k, scope);
          expression(v, scope);
        }
        break;
      case ExprKind::comprehension:
      case ExprKind::dict_comprehension: comprehension(static_cast<const ComprehensionExpr&>(*e), scope); break;
      case ExprKind::unary: expression(static_cast<const UnaryExpr&>(*e).operand, scope); break;
      case ExprKind::chain:
        expression(static_cast<const ChainExpr&>(*e).first, scope);
        for (const auto& step : static_cast<const ChainExpr&>(*e).rest) expression(step.operand, scope);
        break;
      case ExprKind::power:
        expression(static_cast<const PowerExpr&>(*e).base, scope);
        expression(static_cast<const PowerExpr&>(*e).exponent, scope);
        break;
      case ExprKind::compare:
        expression(static_cast<const CompareExpr&>(*e).first, scope);
        for (const auto& step : static_cast<const CompareExpr&>(*e).rest) expression(step.operand, scope);
        break;
      case ExprKind::logical:
        for (const Expr* x : static_cast<const LogicalExpr&>(*e).operands) expression(x, scope);
        break;
      case ExprKind::conditional:
        expression(static_cast<const ConditionalExpr&>(*e).condition, scope);
        expression(static_cast<const ConditionalExpr&>(*e).then_value, scope);
        expression(static_cast<const ConditionalExpr&>(*e).else_value, scope);
        break;
      case ExprKind::lambda:
        function_body(*static_cast<const LambdaExpr&>(*e).function, scope, scopes_[scope].owner);
        break;
      case ExprKind::call:
        expression(static_cast<const CallExpr&>(*e).callee, scope);
        for (const Argument& a : static_cast<const CallExpr&>(*e).arguments) expression(a.value, scope);
        break;
      case ExprKind::index:
        expression(static_cast<const IndexExpr&>(*e).base, scope);
        for (const Expr* x : static_cast<const IndexExpr&>(*e).subscripts) expression(x, scope);
        break;
      case ExprKind::slice:
        expression(static_cast<const SliceExpr&>(*e).start, scope);
        expression(static_cast<const SliceExpr&>(*e).stop, scope);
        expression(static_cast<const SliceExpr&>(*e).step, scope);
        break;
      case ExprKind::member: member(static_cast<const MemberExpr&>(*e), scope); break;
      case ExprKind::starred: expression(static_cast<const StarredExpr&>(*e).value, scope); break;
    }
  }
  // `self.f` means the field of the module around; other members are known only when the program runs.
  void member(const MemberExpr& e, int scope) {
    if (e.base->kind == ExprKind::name && static_cast<const NameExpr&>(*e.base).name == "self") {
      for (int s = scope; s >= 0; s = scopes_[s].outer) {
        const int owner = scopes_[s].owner;
        const bool instance = owner >= 0 && symbols_[owner].kind == Kind::module;
        if (!instance) continue;
        if (auto it = scopes_[s].names.find(e.name); it != scopes_[s].names.end()) {
          occurrences_.push_back({e.name_span, it->second, false});
          return;
        }
      }
    }
    expression(e.base, scope);
  }

  struct Unresolved {
    int scope;
    std::string name;
    Span span;
  };
  std::vector<Symbol>& symbols_;
  std::vector<Occurrence>& occurrences_;
  std::vector<Scope> scopes_;
  std::vector<Unresolved> unresolved_;
  std::vector<std::function<void()>> later_;
  int in_module_ = -1;
};

}  // namespace

void collect_symbols(const ast::Tree& tree, std::vector<Symbol>& symbols, std::vector<Occurrence>& occurrences) {
  Collector(symbols, occurrences).run(tree);
}

}  // namespace pxl
