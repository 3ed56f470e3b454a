#include "interpreter/language/errors/errors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/text/json.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {
namespace {

/// A kind as `catch` writes it.
std::string as_name(std::string_view kind) {
  std::string name(kind);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Whether `catch` writes a kind by this name.
bool is_named(std::string_view kind, std::string_view name) {
  return std::equal(kind.begin(), kind.end(), name.begin(), name.end(),
                    [](char k, char n) { return (k == '-' ? '_' : k) == n; });
}

bool is_in_table(std::string_view name) {
  return std::any_of(codes::all.begin(), codes::all.end(), [&](std::string_view k) { return is_named(k, name); });
}

// ---- the error as a value

using Got = std::optional<Value>;
constexpr Member<ErrorObject> error_rows[] = {
    {"kind", "The kind, as `pxl explain` knows it, or the one that `fail` gave.", "e.kind",
     [](Interpreter&, ErrorObject& e) -> Got { return Value(std::string(code_of(e.error.first()))); }},
    {"message", "The message, without its place.", "e.message",
     [](Interpreter&, ErrorObject& e) -> Got { return Value(e.error.first().message); }},
    {"place", "\"FILE:LINE:COLUMN\", or none if no text is at fault.", "e.place",
     [](Interpreter&, ErrorObject& e) -> Got {
       const Span& at = e.error.first().span;
       if (!at) return Value();
       const Position p = at.file->position(at.begin);
       return Value(fmt::format("{}:{}:{}", at.file->name(), p.line, p.column));
     }},
    {"data", "The `data` that `fail` received, or none.", "e.data",
     [](Interpreter&, ErrorObject& e) -> Got {
       const Carried* carried = e.error.first().carried.get();
       if (const auto* own = dynamic_cast<const WithData*>(carried)) return own->data;
       const auto* of_other = dynamic_cast<const CarriedText*>(carried);
       return of_other && !of_other->json.empty() ? value_of_json(of_other->json) : Value();
     }},
    {"text", "The whole error as the command prints it.", "e.text.split('\\n')[0]",
     [](Interpreter&, ErrorObject& e) -> Got { return Value(render(e.error.first())); }},
};
constexpr std::span<const Member<ErrorObject>> error_table(error_rows);

}  // namespace

std::string ErrorObject::str(Interpreter&) { return error.first().message; }
std::string ErrorObject::repr(Interpreter&) {
  return fmt::format("<error {}: {}>", code_of(error.first()), error.first().message);
}
std::optional<Value> ErrorObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, error_table, *this, name);
}
std::vector<std::string> ErrorObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, error_table);
  return names;
}

MemberTable error_members() {
  return member_table("error", "The error that `catch ... as e` binds.",
                      "try {\n  fail(\"no rows\", kind = \"bad-file\", data = 3)\n} catch bad_file as e { }",
                      error_table);
}

// ---- kinds

bool is_taken_by_default(const Diagnostic& d) {
  const std::string_view code = code_of(d);
  return is_of_world(d) && code != codes::memory && code != codes::interrupted;
}

const ast::TryStmt::Catch* handler_of(const ast::TryStmt& s, const Diagnostic& d) {
  const std::string_view code = code_of(d);
  for (const ast::TryStmt::Catch& c : s.catches) {
    if (c.kinds.empty() ? is_taken_by_default(d) : std::any_of(c.kinds.begin(), c.kinds.end(), [&](const auto& k) {
          return is_named(code, k.name);
        }))
      return &c;
  }
  return nullptr;
}

Error interruption(Interpreter& in) {
  Error e = run_error("interrupted").as(codes::interrupted);
  e.locate(position_of(in).here, position_of(in).frames);
  return e;
}

namespace {

/// Finds each call of `fail` in a text.
class FindFails final : public ExpressionVisitor {
 public:
  explicit FindFails(OwnKinds& to) : to_(to) {}
  void read(const ast::Expr& whole) override {
    std::vector<const ast::Expr*> todo{&whole};
    while (!todo.empty()) {
      const ast::Expr* e = todo.back();
      todo.pop_back();
      if (!e) continue;
      if (e->kind == ast::ExprKind::call) call(as<ast::CallExpr>(*e));
      if (e->kind == ast::ExprKind::lambda) function(*as<ast::LambdaExpr>(*e).function);
      children(*e, todo);
    }
  }
  void function(const ast::Function& f) override {
    for (const ast::Parameter& p : f.parameters)
      if (p.default_value) read(*p.default_value);
    if (f.result) read(*f.result);
    if (f.body) block(*f.body);
  }
  void module(const ast::ModuleStmt& m) override {
    for (const ast::Stmt* s : m.fields) visit_parts(*s, *this);
    for (const ast::Function* f : m.methods) function(*f);
    if (m.build) function(*m.build);
  }
  void test(const ast::TestStmt& s) override { block(*s.body); }

 private:
  void call(const ast::CallExpr& e) {
    if (e.callee->kind != ast::ExprKind::name || as<ast::NameExpr>(*e.callee).name != "fail") return;
    for (size_t i = 0; i < e.arguments.size(); ++i) {
      const ast::Argument& a = e.arguments[i];
      const bool is_kind = a.kind == ast::Argument::named ? a.name == "kind" : i == 1;
      const bool spread = a.kind == ast::Argument::spread || a.kind == ast::Argument::spread_named;
      if (!is_kind && !spread) continue;
      if (!spread && a.value->kind == ast::ExprKind::string)
        to_.names.insert(as_name(as<ast::StringExpr>(*a.value).value));
      else
        to_.computed = true;
    }
  }

  OwnKinds& to_;
};

/// Adds the kinds that a file and its imports have. Returns whether any name may be a kind.
bool collect(const OwnKinds& kinds, std::set<const OwnKinds*>& seen, std::vector<std::string>& names) {
  if (!seen.insert(&kinds).second) return false;
  names.insert(names.end(), kinds.names.begin(), kinds.names.end());
  bool any = kinds.computed;
  for (const OwnKinds* of : kinds.imported) any = collect(*of, seen, names) || any;
  return any;
}

}  // namespace

void add_own_kinds(const ast::Tree& tree, OwnKinds& to) {
  if (tree.source->text().find("fail") != std::string_view::npos) FindFails(to).block(*tree.body);
}

namespace {

/// The kind for an exception of Python; empty if there is none.
std::string_view foreign_error_kind(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"ValueError", "value"},
      {"IndexError", "index"},
      {"KeyError", "key"},
      {"TypeError", "type"},
      {"ZeroDivisionError", "arithmetic"},
      {"OverflowError", "arithmetic"},
      {"FileNotFoundError", "file"},
      {"IOError", "file"},
      {"OSError", "file"},
      {"PermissionError", "file"},
      {"MemoryError", "memory"},
      {"KeyboardInterrupt", "interrupted"},
      {"AssertionError", "assertion"},
      {"NameError", "unknown_name"},
      {"AttributeError", "unknown_member"},
      {"ImportError", "import"},
  };
  const auto found = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& k) { return k.first == name; });
  return found == std::end(kinds) ? std::string_view() : found->second;
}

/// The names that users give to an error: `catch e`.
bool names_an_error(std::string_view name) {
  return name == "e" || name == "err" || name == "error" || name == "ex" || name == "exc" || name == "exception";
}

}  // namespace

void check_kinds(Interpreter& in, const ast::TryStmt& s) {
  std::vector<std::string> names;
  bool any = false;
  for (const ast::TryStmt::Catch& c : s.catches) {
    for (const auto& kind : c.kinds) {
      if (any || is_in_table(kind.name)) continue;
      if (names.empty()) {
        for (const std::string_view known : codes::all) names.push_back(as_name(known));
        std::set<const OwnKinds*> seen;
        any = collect(evaluator_of(in).own_kinds(s.tree->source), seen, names);
      }
      if (any || std::find(names.begin(), names.end(), kind.name) != names.end()) continue;
      const std::string hint = did_you_mean(kind.name, names);
      Error e(fmt::format("there is no kind of error `{}`{}", kind.name, hint.empty() ? "" : "; " + hint),
              {"kinds are those of `pxl explain`, and those that `fail(..., kind = \"...\")` names in this file and "
               "its imports"});
      if (const std::string_view here = foreign_error_kind(kind.name); !here.empty()) {
        e.first().notes = {fmt::format("the kind is called `{}` here", here)};
        e.offer(kind.span, std::string(here));
      } else if (!c.as && c.kinds.size() == 1 && names_an_error(kind.name)) {
        e.first().notes = {
            fmt::format("`catch as {0}` binds an error, `catch value as {0}` one of this kind", kind.name)};
        e.offer(kind.span, "as " + kind.name);
      } else if (const auto meant = nearest(kind.name, names)) {
        e.offer(kind.span, *meant);
      }
      e.as(codes::unknown_name).locate(kind.span, position_of(in).frames);
      throw e;
    }
  }
}

// ---- looks

bool CheckState::handles(const Diagnostic& d) const {
  return std::any_of(handlers.begin(), handlers.end(),
                     [&](const ast::TryStmt* s) { return s ? handler_of(*s, d) != nullptr : is_taken_by_default(d); });
}

// ---- fail

namespace {

/// The data for other processes; none if it has no counterpart in JSON.
std::string json_of_data(Interpreter& in, const Value& data) {
  try {
    return data.is_none() ? std::string() : json_of(in, data);
  } catch (const Error&) {
    return {};
  }
}

/// A kind of the script's own, as `catch` can name it.
void check_own_kind(const std::string& kind) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  const bool named = !kind.empty() && std::all_of(kind.begin(), kind.end(), fits) && (kind[0] < '0' || kind[0] > '9') &&
                     kind[0] != '-';
  if (!named)
    throw Error(fmt::format("fail: \"{}\" can't be a kind: it has letters, digits and `-`", kind),
                {"for example `kind = \"bad-row\"`, which `catch bad_row` takes"})
        .as(codes::value);
  if (is_in_table(as_name(kind)))
    throw Error(fmt::format("fail: \"{}\" is a kind of pxl's own errors", kind),
                {"a script's kind has another name; without `kind` it is `fail`"})
        .as(codes::value);
}

/// The error that a call of `fail` raises.
Error failure(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  const Value message = a.value("message");
  if (const auto* again = message.as<ErrorObject>()) {
    if (args.positional.size() + args.named.size() > 1)
      throw Error("fail: an error that is raised again keeps its kind and its data").as(codes::arguments);
    if (again->interrupt) throw Interrupted();
    return again->error;
  }
  const std::string* text = message.as_string();
  if (!text)
    throw Error("fail takes a message or an error, got " + with_article(message.type_name()),
                {"an f-string formats values: `fail(f\"row {n} is empty\")`"})
        .as(codes::type);
  const std::string kind = a.string_or("kind", "");
  try {
    if (a.has("kind")) check_own_kind(kind);
  } catch (Error& e) {
    for (const NamedArg& n : args.named)
      if (n.name == "kind" && n.span) e.locate(n.span, nullptr);
    throw;
  }
  Error e = run_error(*text);
  const auto carried = std::make_shared<WithData>(kind, a.value_or("data", {}));
  if (processes().several()) carried->json = json_of_data(in, carried->data);
  e.first().carried = carried;
  e.first().code = kind.empty() ? codes::fail : std::string_view(e.first().carried->kind);
  e.locate(args.span, position_of(in).frames);
  return e;
}

/// A look ends the script at an error that nothing takes, as at `exit`: the script means it.
Value look_at_fail(Interpreter& in, const Arguments& args) {
  const CheckState& c = *check_in_progress(in);
  Error e = run_error("unknown").as(codes::fail);
  e.locate(args.span, position_of(in).frames);
  if (!holds_unknown(args)) e = failure(in, args);
  if (c.expecting > 0 || c.handles(e.first())) throw e;
  throw ExitRequest{1};
}

}  // namespace

void bind_error_builtins(Scope& p) {
  define_raising(
      p,
      {"fail(message, kind = \"fail\", data = none)",
       "Raises an error of the script's own. kind: a name for `catch`, such as \"bad-row\". fail(e) raises an error "
       "again, with its first place.",
       R"(try fail("no rows") else 0)"},
      failure, InLook::takes_unknown, [](Interpreter& in, const Arguments& args) -> Value {
        if (check_in_progress(in)) return look_at_fail(in, args);
        throw failure(in, args);
      });
}

}  // namespace pxl
