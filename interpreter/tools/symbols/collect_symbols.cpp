// Collects the symbols of a tree.
#include "interpreter/tools/symbols/collect_symbols.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/signature_text.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/tools/symbols/symbol_scopes.hpp"
#include "interpreter/values/scope.hpp"

namespace pxl {

namespace {

using SymbolKind = Symbol::Kind;
using Use = Occurrence::Use;

bool is_word_byte(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || c == '_' || std::isalnum(static_cast<unsigned char>(c));
}

// The location of a word inside a larger span; the span itself if the word is not found.
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

// The last such location, for a name after `as`.
Span find_last_word(Span in, std::string_view word) {
  Span found = in;
  for (Span rest = in; find_word(rest, word).text() == word;) {
    found = find_word(rest, word);
    rest.begin = found.end;
    if (rest.begin >= rest.end) break;
  }
  return found;
}

// Visits the tree body by body. A function's body is visited after the enclosing body, since it runs later.
class Collector {
 public:
  Collector(std::vector<Symbol>& symbols, std::vector<Occurrence>& occurrences, std::vector<Mention>& mentions)
      : scopes_(symbols, occurrences), mentions_(mentions) {}

  void run(const ast::Tree& tree) {
    scopes_.open(-1, -1);
    block(tree.body, 0);
    for (size_t i = 0; i < later_.size(); ++i) later_[i]();
    scopes_.finish();
    std::stable_sort(mentions_.begin(), mentions_.end(),
                     [](const Mention& a, const Mention& b) { return a.span.begin < b.span.begin; });
  }

 private:
  void block(const ast::Block* b, int scope) {
    if (!b) return;
    const size_t before = scopes_.begin_body();
    for (const ast::Stmt* s : b->statements) statement(*s, scope);
    scopes_.settle(before);
  }

  /// `value` is the value of the whole target, or null.
  void bind(const ast::Expr* target, int scope, SymbolKind kind, Span span, const std::string& doc = {},
            const ast::Expr* value = nullptr) {
    switch (target->kind) {
      case ast::ExprKind::name: {
        const auto& n = static_cast<const ast::NameExpr&>(*target);
        scopes_.declare(scope, kind, n.name, n.span, span, {}, doc, value);
        break;
      }
      case ast::ExprKind::tuple: {
        // `a, b = x, y` binds each name to the value in its position.
        const auto& targets = static_cast<const ast::TupleExpr&>(*target).items;
        const auto* values =
            value && value->kind == ast::ExprKind::tuple ? static_cast<const ast::TupleExpr*>(value) : nullptr;
        const auto starred = [](const ast::Expr* e) { return e->kind == ast::ExprKind::starred; };
        const bool paired = values && values->items.size() == targets.size() &&
                            std::none_of(targets.begin(), targets.end(), starred) &&
                            std::none_of(values->items.begin(), values->items.end(), starred);
        for (size_t i = 0; i < targets.size(); ++i)
          bind(targets[i], scope, kind, span, {}, paired ? values->items[i] : nullptr);
        break;
      }
      case ast::ExprKind::list:
        for (const ast::Expr* e : static_cast<const ast::ListExpr&>(*target).items) bind(e, scope, kind, span);
        break;
      case ast::ExprKind::starred: bind(static_cast<const ast::StarredExpr&>(*target).value, scope, kind, span); break;
      case ast::ExprKind::member: member(static_cast<const ast::MemberExpr&>(*target), scope, Use::binding); break;
      default: expression(target, scope);
    }
  }

  void parameters(const std::vector<ast::Parameter>& list, int scope, int reads) {
    for (const ast::Parameter& p : list) {
      expression(p.annotation, reads);
      expression(p.default_value, reads);
    }
    for (const ast::Parameter& p : list) {
      Span span = p.span;
      if (p.annotation) span = join(span, p.annotation->span);
      if (p.default_value) span = join(span, p.default_value->span);
      scopes_.declare(scope, SymbolKind::parameter, p.name, find_word(p.span, p.name), span,
                      std::string(p.annotation ? p.annotation->span.text() : ""));
    }
  }

  void function_body(const ast::Function& f, int outer, int owner) {
    later_.push_back([this, &f, outer, owner] {
      const size_t before = scopes_.begin_body();
      const int scope = scopes_.open(outer, owner, &f.own);
      shape_names(f, scope);
      parameters(f.parameters, scope, scope);
      for (const ast::Expr* r : f.results) expression(r, scope);
      for (const ast::WithItem& item : f.contexts) with_item(item, scope);
      block(f.body, scope);
      expression(f.result, scope);
      scopes_.settle(before);
    });
  }
  // Binds the names in a shape pattern `x: tensor[..., d]` that are not bound outside.
  void shape_names(const ast::Function& f, int scope) {
    for (const ast::Parameter& p : f.parameters) {
      if (!p.annotation) continue;
      for (const ast::NameExpr* n : extents_of_pattern(*p.annotation))
        if (scopes_.find(scope, n->name) < 0) scopes_.declare(scope, SymbolKind::variable, n->name, n->span, p.span);
    }
  }

  Span whole(const ast::Function& f) const { return f.body ? join(f.span, f.body->span) : f.span; }

  void declare_function(const ast::Function& f, int scope, SymbolKind kind) {
    const int owner = scopes_.declare(scope, kind, f.name, find_word(f.span, f.name), whole(f),
                                      parameters_text(f.parameters) + results_text(f), f.doc);
    function_body(f, scope, owner);
  }

  /// Declares a record like a module that has only a configuration.
  void record(const ast::RecordStmt& s, int scope) {
    const int owner =
        scopes_.declare(scope, SymbolKind::module, s.name, s.name_span, s.span, parameters_text(s.fields), s.doc);
    const int instance = scopes_.open(scope, owner);
    const size_t before = scopes_.begin_body();
    parameters(s.fields, instance, instance);
    scopes_.settle(before);
  }

  void module(const ast::ModuleStmt& m, int scope) {
    const int owner =
        scopes_.declare(scope, SymbolKind::module, m.name, m.name_span, m.span, parameters_text(m.parameters), m.doc);
    const int instance = scopes_.open(scope, owner);
    const size_t before = scopes_.begin_body();
    parameters(m.parameters, instance, instance);
    in_module_ = instance;
    for (const ast::Stmt* s : m.fields) statement(*s, instance);
    for (const ast::Function* f : m.methods) declare_function(*f, instance, SymbolKind::method);
    if (m.build) {
      const int build = scopes_.declare(instance, SymbolKind::build, "build", find_word(m.build->span, "build"),
                                        whole(*m.build), parameters_text(m.build->parameters), m.build->doc);
      function_body(*m.build, instance, build);
    }
    in_module_ = -1;
    scopes_.settle(before);
  }

  void with_item(const ast::WithItem& item, int scope) {
    expression(item.context, scope);
    if (!item.as.empty())
      scopes_.declare(scope, SymbolKind::variable, item.as, item.as_span, item.as_span, {}, {}, item.context);
  }

  void import(const ast::ImportStmt& s, int scope) {
    const std::string& name = s.as.empty() ? s.path.front() : s.as;
    const Span place = s.as.empty() ? find_word(s.span, name) : find_last_word(s.span, name);
    const int i = scopes_.declare(scope, SymbolKind::import, name, place, s.span);
    scopes_.symbol(i).imports.push_back({s.path, {}, !s.as.empty(), place});
  }
  void from_import(const ast::FromImportStmt& s, int scope) {
    for (const auto& item : s.items) {
      const std::string& name = item.as.empty() ? item.name : item.as;
      const Span place = item.as.empty() ? find_word(item.span, name) : find_last_word(item.span, name);
      const int i = scopes_.declare(scope, SymbolKind::import, name, place, s.span);
      scopes_.symbol(i).imports.push_back({s.file ? std::vector{"\"" + *s.file + "\""} : s.path, item.name,
                                           !item.as.empty(), find_word(item.span, item.name)});
    }
  }

  /// A statement of which only the parts matter.
  struct InOrder final : StatementVisitor {
    Collector& collector;
    int scope;
    InOrder(Collector& c, int at) : collector(c), scope(at) {}
    void read(const ast::Expr& e) override { collector.expression(&e, scope); }
    void target(const ast::Expr& t, bool) override { collector.bind(&t, scope, SymbolKind::variable, t.span); }
    void block(const ast::Block& b) override { collector.block(&b, scope); }
    void outside(const ast::NonlocalStmt::Item& item) override {
      collector.scopes_.read(scope, item.name.text(), item.span);
    }
  };

  void statement(const ast::Stmt& statement, int scope) {
    switch (statement.kind) {
      case ast::StmtKind::assign: {
        const auto& s = static_cast<const ast::AssignStmt&>(statement);
        expression(s.value, scope);
        for (const ast::Expr* t : s.targets) {
          const bool changes = s.augmented && t->kind == ast::ExprKind::name;
          if (changes) scopes_.read(scope, static_cast<const ast::NameExpr&>(*t).name, t->span);
          const int known = changes ? scopes_.find(scope, static_cast<const ast::NameExpr&>(*t).name) : -1;
          if (known >= 0)
            scopes_.symbol(known).values.push_back(nullptr);
          else
            bind(t, scope, scope == in_module_ ? SymbolKind::field : SymbolKind::variable, s.span, s.doc,
                 s.augmented ? nullptr : s.value);
        }
        break;
      }
      case ast::StmtKind::with: {
        const auto& s = static_cast<const ast::WithStmt&>(statement);
        for (const ast::WithItem& item : s.items) with_item(item, scope);
        block(s.body, scope);
        break;
      }
      case ast::StmtKind::def:
        declare_function(*static_cast<const ast::DefStmt&>(statement).function, scope, SymbolKind::function);
        break;
      case ast::StmtKind::program:
        declare_function(*static_cast<const ast::ProgramStmt&>(statement).function, scope, SymbolKind::program);
        break;
      case ast::StmtKind::import: import(static_cast<const ast::ImportStmt&>(statement), scope); break;
      case ast::StmtKind::from_import: from_import(static_cast<const ast::FromImportStmt&>(statement), scope); break;
      case ast::StmtKind::record: record(static_cast<const ast::RecordStmt&>(statement), scope); break;
      case ast::StmtKind::module: module(static_cast<const ast::ModuleStmt&>(statement), scope); break;
      case ast::StmtKind::param: {
        const auto& s = static_cast<const ast::ParamStmt&>(statement);
        declaration(scope, SymbolKind::param, s.name, s.name_span, s.span, s.spec, s.init, s.doc);
        for (const ast::Argument& a : s.options) expression(a.value, scope);
        break;
      }
      case ast::StmtKind::next: {
        const auto& s = static_cast<const ast::NextStmt&>(statement);
        for (const ast::NameExpr* target : s.targets) scopes_.read(scope, target->name, target->span);
        expression(s.value, scope);
        break;
      }
      case ast::StmtKind::stream: {
        const auto& s = static_cast<const ast::StreamStmt&>(statement);
        declaration(scope, s.is_input ? SymbolKind::stream_in : SymbolKind::stream_out, s.name, s.name_span, s.span,
                    s.spec, s.value, s.doc);
        break;
      }
      case ast::StmtKind::variable:
      case ast::StmtKind::constant: {
        const auto& s = static_cast<const ast::VariableStmt&>(statement);
        declaration(scope, s.kind == ast::StmtKind::constant ? SymbolKind::constant : SymbolKind::state, s.name,
                    s.name_span, s.span, s.spec, s.init, s.doc);
        for (const ast::Argument& a : s.options) expression(a.value, scope);
        break;
      }
      case ast::StmtKind::option: {
        const auto& s = static_cast<const ast::OptionStmt&>(statement);
        declaration(scope, SymbolKind::option, s.name, s.name_span, s.span, s.type, s.default_value, s.doc);
        break;
      }
      case ast::StmtKind::test: {
        const auto& s = static_cast<const ast::TestStmt&>(statement);
        const int owner = scopes_.add(scope, SymbolKind::test, s.title, s.span);
        later_.push_back([this, &s, scope, owner] {
          const int body = scopes_.open(scope, owner, &s.own);
          block(s.body, body);
        });
        break;
      }
      default: {
        InOrder parts(*this, scope);
        visit_parts(statement, parts);
      }
    }
  }
  void declaration(int scope, SymbolKind kind, const std::string& name, Span name_span, Span span,
                   const ast::Expr* spec, const ast::Expr* init, const std::string& doc) {
    expression(spec, scope);
    expression(init, scope);
    scopes_.declare(scope, kind, name, name_span, span, std::string(spec ? spec->span.text() : ""), doc);
  }

  void comprehension(const ast::ComprehensionExpr& e, int outer) {
    const int scope = scopes_.open(outer, scopes_.owner_of(outer));
    for (const ast::Clause& c : e.clauses) {
      expression(c.iterable, scope);
      for (const ast::Expr* t : c.targets) bind(t, scope, SymbolKind::variable, t->span);
      for (const ast::Expr* x : c.conditions) expression(x, scope);
    }
    expression(e.key, scope);
    expression(e.value, scope);
  }

  void expression(const ast::Expr* e, int scope) {
    if (!e) return;
    switch (e->kind) {
      case ast::ExprKind::string:
        mentions_.push_back({Mention::Kind::text, e->span, static_cast<const ast::StringExpr&>(*e).value});
        break;
      case ast::ExprKind::name: scopes_.read(scope, static_cast<const ast::NameExpr&>(*e).name, e->span); break;
      case ast::ExprKind::comprehension:
      case ast::ExprKind::dict_comprehension:
        comprehension(static_cast<const ast::ComprehensionExpr&>(*e), scope);
        break;
      case ast::ExprKind::lambda:
        function_body(*static_cast<const ast::LambdaExpr&>(*e).function, scope, scopes_.owner_of(scope));
        break;
      case ast::ExprKind::call: call(static_cast<const ast::CallExpr&>(*e), scope); break;
      case ast::ExprKind::member: member(static_cast<const ast::MemberExpr&>(*e), scope, Use::value); break;
      default: {
        std::vector<const ast::Expr*> parts;
        children(*e, parts);
        for (const ast::Expr* part : parts) expression(part, scope);
      }
    }
  }
  /// Visits an expression before a dot or an argument list.
  void used(const ast::Expr* e, int scope, Use use) {
    if (e->kind == ast::ExprKind::name)
      scopes_.read(scope, static_cast<const ast::NameExpr&>(*e).name, e->span, use);
    else if (e->kind == ast::ExprKind::member)
      member(static_cast<const ast::MemberExpr&>(*e), scope, use);
    else
      expression(e, scope);
  }
  void call(const ast::CallExpr& e, int scope) {
    used(e.callee, scope, Use::callee);
    for (const ast::Argument& a : e.arguments) {
      if (a.kind == ast::Argument::named)
        mentions_.push_back({Mention::Kind::keyword, find_word(a.span, a.name), a.name, e.callee});
      else if (a.kind == ast::Argument::spread_named)
        mentions_.push_back({Mention::Kind::spread, a.span, {}, e.callee});
      expression(a.value, scope);
    }
  }
  // `self.f` is a field of the enclosing module. Other members are known only at run time.
  void member(const ast::MemberExpr& e, int scope, Use use) {
    if (e.base->kind == ast::ExprKind::name && static_cast<const ast::NameExpr&>(*e.base).name == "self" &&
        scopes_.read_field(scope, e.name, e.name_span, use))
      return;
    mentions_.push_back({Mention::Kind::member, e.name_span, e.name, e.base, use == Use::callee});
    used(e.base, scope, Use::base);
  }

  SymbolScopes scopes_;
  std::vector<Mention>& mentions_;
  std::vector<std::function<void()>> later_;
  int in_module_ = -1;
};

}  // namespace

void collect_symbols(const ast::Tree& tree, std::vector<Symbol>& symbols, std::vector<Occurrence>& occurrences,
                     std::vector<Mention>& mentions) {
  Collector(symbols, occurrences, mentions).run(tree);
}

}  // namespace pxl
