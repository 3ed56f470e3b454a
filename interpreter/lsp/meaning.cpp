#include "interpreter/lsp/meaning.hpp"

#include <algorithm>

#include "runtime/base/limits/budget.hpp"

namespace pxl::lsp {

namespace {

using Role = Meaning::Role;
using Kind = Symbol::Kind;

constexpr int max_links = 64;    // maximum number of bindings, members and calls that lead to a meaning
constexpr int64_t step_ns = 50;  // estimated time to look at an expression or a symbol

Declared symbol_at(const Document& d, Span span) {
  const SymbolTable& table = *d.sound()->symbols;
  const Occurrence* o = table.at(span.end);
  return o && o->span.begin == span.begin ? Declared{&d, o->symbol} : Declared{};
}

Named found(const Document* file, int container, std::string_view name, Named::Is otherwise) {
  const SymbolTable& table = *file->sound()->symbols;
  charge_steps(static_cast<int64_t>(table.symbols().size()), 1);
  const int symbol = table.find(container, name);
  return symbol < 0 ? Named{otherwise, {}} : Named{Named::Is::symbol, {file, symbol}};
}

/// The expressions of which a conditional or a `try` has one as its value.
std::pair<const ast::Expr*, const ast::Expr*> alternatives(const ast::Expr& e) {
  if (e.kind == ast::ExprKind::attempt) {
    const auto& attempt = static_cast<const ast::AttemptExpr&>(e);
    return {attempt.value, attempt.otherwise};
  }
  const auto& conditional = static_cast<const ast::ConditionalExpr&>(e);
  return {conditional.then_value, conditional.else_value};
}

}  // namespace

bool is_implicit(std::string_view name) { return name == "self" || name == "ir" || name == "_"; }

Declared Meanings::declaration(Declared s, bool through_aliases, Declared end) {
  for (int depth = 0; depth < max_links && s->kind == Kind::import && s->imports.size() == 1 && !(s == end); ++depth) {
    const Symbol::Import& i = s->imports.front();
    if (i.name.empty() || (i.aliased && !through_aliases)) break;
    const Document* file = files_.imported(*s.file, i.path);
    if (!file || !file->is_sound()) break;
    const int next = file->sound()->symbols->find(-1, i.name);
    if (next < 0) break;
    s = {file, next};
  }
  return s;
}

/// The meaning that all bindings of a name share.
Meaning Meanings::of_values(Declared s, int depth) {
  // The value depends on itself.
  if (std::find(open_.begin(), open_.end(), s) != open_.end()) return {};
  open_.push_back(s);
  std::optional<Meaning> all;
  for (const ast::Expr* value : s->values) {
    const Meaning one = value ? of(*s.file, *value, depth + 1) : Meaning{};
    if (!all) all = one;
    if (!(*all == one)) all = Meaning{};
  }
  open_.pop_back();
  return all.value_or(Meaning{});
}

Meaning Meanings::of_symbol(Declared s, int depth) {
  s = declaration(s, true);
  if (s->kind == Kind::import) {
    const Symbol::Import& i = s->imports.front();
    if (s->values.size() > 1) return {};
    if (!i.name.empty()) return {Role::other, {}};  // a name that the file or the library lacks, or a model
    const Document* file = files_.imported(*s.file, i.path);
    if (!file) return {Role::other, {}};
    return file->is_sound() ? Meaning{Role::file, {file, -1}} : Meaning{};
  }
  switch (s->kind) {
    case Kind::function:
    case Kind::method:
    case Kind::module:
    case Kind::build:
    case Kind::program: return s->values.size() == 1 ? Meaning{Role::itself, s} : Meaning{};
    case Kind::variable:
    case Kind::field: return of_values(s, depth);
    default: return {};
  }
}

/// `import a.b` binds `a`, so the chain `a.b` denotes the file.
std::optional<Meaning> Meanings::of_dotted_import(const Document& d, const ast::MemberExpr& e) {
  std::vector<std::string> names = {e.name};
  const ast::Expr* root = e.base;
  for (; root->kind == ast::ExprKind::member && names.size() < max_links;
       root = static_cast<const ast::MemberExpr&>(*root).base)
    names.push_back(static_cast<const ast::MemberExpr&>(*root).name);
  if (root->kind != ast::ExprKind::name) return std::nullopt;
  const Declared s = symbol_at(d, root->span);
  if (!s.file || s->kind != Kind::import) return std::nullopt;
  names.push_back(static_cast<const ast::NameExpr&>(*root).name);
  std::reverse(names.begin(), names.end());
  bool is_folder = false;
  for (const Symbol::Import& i : s->imports) {
    if (i.aliased || !i.name.empty() || i.path.size() < 2) continue;
    is_folder = is_folder || (names.size() < i.path.size() && std::equal(names.begin(), names.end(), i.path.begin()));
    if (names != i.path) continue;
    const Document* file = files_.imported(d, i.path);
    if (!file) return Meaning{Role::other, {}};
    return file->is_sound() ? Meaning{Role::file, {file, -1}} : Meaning{};
  }
  return is_folder ? std::optional(Meaning{Role::other, {}}) : std::nullopt;
}

Named Meanings::member(const Meaning& base, std::string_view name) {
  using enum Named::Is;
  switch (base.role) {
    case Role::file: return found(base.of.file, -1, name, other);
    // After a call, the params of an instance's build are members of the instance.
    case Role::instance: {
      const Named field = found(base.of.file, base.of.symbol, name, unknown);
      const int build = base.of.table().find(base.of.symbol, "build");
      return field.is == symbol || build < 0 ? field : found(base.of.file, build, name, unknown);
    }
    // Functions that a program calls may bind streams too.
    case Role::built:
    case Role::result: return found(base.of.file, base.of.symbol, name, unknown);
    case Role::other:
    case Role::session:
    case Role::itself: return {other, {}};
    case Role::unknown: return {};
  }
  return {};
}

Meaning Meanings::of_member(const Document& d, const ast::MemberExpr& e, int depth) {
  if (const auto file = of_dotted_import(d, e)) return *file;
  if (const Declared field = symbol_at(d, e.name_span); field.file) return of_symbol(field, depth);  // self.f
  const Meaning base = of(d, *e.base, depth + 1);
  if (base.role == Role::other) return base;
  const Named named = member(base, e.name);
  return named.is == Named::Is::symbol ? of_symbol(named.symbol, depth) : Meaning{};
}

Meaning Meanings::of_call(const Document& d, const ast::CallExpr& e, int depth) {
  if (e.callee->kind == ast::ExprKind::name && !symbol_at(d, e.callee->span).file) {
    const bool makes_session = static_cast<const ast::NameExpr&>(*e.callee).name == "Session";
    if (!makes_session || e.arguments.empty() || e.arguments[0].kind != ast::Argument::positional) return {};
    const Meaning program = of(d, *e.arguments[0].value, depth + 1);
    if (program.role == Role::built || program.role == Role::file) return {Role::session, program.of};
    return {};
  }
  if (e.callee->kind == ast::ExprKind::member) {
    const auto& member = static_cast<const ast::MemberExpr&>(*e.callee);
    const Meaning base = of(d, *member.base, depth + 1);
    if (base.role == Role::session) return member.name == "run" ? Meaning{Role::result, base.of} : Meaning{};
  }
  const Meaning callee = of(d, *e.callee, depth + 1);
  if (callee.role != Role::itself) return {};
  if (callee.of->kind == Kind::module) return {Role::instance, callee.of};
  return {callee.of->kind == Kind::program ? Role::built : Role::unknown, callee.of};
}

Meaning Meanings::of(const Document& d, const ast::Expr& e, int depth) {
  if (depth > max_links) return {};
  charge(step_ns);
  switch (e.kind) {
    case ast::ExprKind::none:
    case ast::ExprKind::boolean:
    case ast::ExprKind::integer:
    case ast::ExprKind::floating:
    case ast::ExprKind::string:
    case ast::ExprKind::fstring:
    case ast::ExprKind::list:
    case ast::ExprKind::tuple:
    case ast::ExprKind::dict:
    case ast::ExprKind::comprehension:
    case ast::ExprKind::dict_comprehension: return {Role::other, {}};
    case ast::ExprKind::name: {
      const std::string& name = static_cast<const ast::NameExpr&>(e).name;
      if (const Declared s = symbol_at(d, e.span); s.file) return of_symbol(s, depth);
      if (name == "main") return {Role::file, {&d, -1}};  // the program is the top level of the file
      return is_implicit(name) ? Meaning{} : Meaning{Role::other, {}};
    }
    case ast::ExprKind::member: return of_member(d, static_cast<const ast::MemberExpr&>(e), depth);
    case ast::ExprKind::call: return of_call(d, static_cast<const ast::CallExpr&>(e), depth);
    case ast::ExprKind::attempt:
    case ast::ExprKind::conditional: {
      const auto [first, second] = alternatives(e);
      const Meaning a = of(d, *first, depth + 1), b = of(d, *second, depth + 1);
      // `none` has no members.
      if (a == b || b.role == Role::other) return a;
      return a.role == Role::other ? b : Meaning{};
    }
    default: return {};
  }
}

/// The declaration whose parameters or streams a call's keywords name.
Named Meanings::called(const Document& d, const ast::Expr& callee) {
  using enum Named::Is;
  const auto build_of = [](Declared module) {
    const int build = module.table().find(module.symbol, "build");
    return build < 0 ? Named{other, {}} : Named{symbol, {module.file, build}};
  };
  if (callee.kind == ast::ExprKind::member) {
    const auto& method = static_cast<const ast::MemberExpr&>(callee);
    const Meaning base = of(d, *method.base, 0);
    if (base.role == Role::session) return method.name == "run" ? Named{symbol, base.of} : Named{other, {}};
    // An instance's graph takes the arguments of its build.
    if (base.role == Role::instance && (method.name == "create_graph" || method.name == "build"))
      return build_of(base.of);
  }
  const Meaning m = of(d, callee, 0);
  switch (m.role) {
    case Role::other: return {other, {}};
    case Role::itself: return {symbol, m.of};
    case Role::instance: return build_of(m.of);
    default: return {};
  }
}

Named Meanings::of(const Document& d, const Mention& m) {
  using enum Named::Is;
  switch (m.kind) {
    case Mention::Kind::member: return member(of(d, *m.of, 0), m.name);
    case Mention::Kind::spread: return called(d, *m.of);
    case Mention::Kind::keyword: {
      const Named callee = called(d, *m.of);
      if (callee.is != symbol) return callee;
      // Functions that a program calls may declare streams too.
      const bool is_run = callee.symbol.symbol < 0 || callee.symbol->kind == Kind::program;
      return found(callee.symbol.file, callee.symbol.symbol, m.name, is_run ? unknown : other);
    }
    case Mention::Kind::text: return {};
  }
  return {};
}

}  // namespace pxl::lsp
