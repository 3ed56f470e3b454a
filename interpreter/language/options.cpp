// `option NAME: TYPE = DEFAULT`: converts values from the command line by type, and lists options for --help without a
// run.
#include "interpreter/language/options.hpp"

#include <fmt/format.h>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {

namespace {

OptionInfo info_of(const ast::OptionStmt& s) {
  OptionInfo info;
  info.name = s.name;
  info.type = s.type ? std::string(trimmed(s.type->span.text())) : "str";
  info.default_text = s.default_value ? std::string(trimmed(s.default_value->span.text())) : "";
  info.doc = s.doc;
  info.required = s.default_value == nullptr;
  return info;
}

[[noreturn]] void bad_value(const std::string& name, const std::string& expected, const std::string& given) {
  throw Error(fmt::format("--{}: expected {}, got `{}`", name, expected, given), {"`--help` lists the options"},
              Fault::usage)
      .as(codes::option);
}

// Parses one value of a plain type from its text.
Value parse_value(const std::string& name, const std::string& type, const std::string& text) {
  if (type == "str") return text;
  if (type == "int") {
    if (std::optional<int64_t> v = parse_int(text)) return *v;
    bad_value(name, "an int", text);
  }
  if (type == "float") {
    if (std::optional<double> v = parse_float(text)) return *v;
    bad_value(name, "a number", text);
  }
  if (type == "bool") {
    for (const char* yes : {"true", "yes", "on", "1", ""})
      if (text == yes) return true;
    for (const char* no : {"false", "no", "off", "0"}) {
      if (text == no) return false;
    }
    bad_value(name, "true or false", text);
  }
  if (type == "dtype") {
    if (std::optional<DType> d = dtype_from_name(text)) return *d;
    bad_value(name, "a dtype such as float32", text);
  }
  throw Error(fmt::format("option `{}`: `{}` is no type of an option", name, type),
              {"options are int, float, bool, str, dtype, or list[...] of one of these"})
      .as(codes::option);
}

Value parse_option(const std::string& name, const std::string& type, const std::string& text) {
  if (type != "list" && !type.starts_with("list[")) return parse_value(name, type, text);
  const std::string inner = type == "list" ? "str" : type.substr(5, type.size() - 6);
  std::vector<Value> items;
  for (size_t at = 0; at <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', at), text.size());
    items.push_back(parse_value(name, inner, std::string(trimmed(text.substr(at, end - at)))));
    at = end + 1;
  }
  return make_list(std::move(items));
}

}  // namespace

std::vector<OptionInfo> scan_options(const ast::Tree& tree) {
  std::vector<OptionInfo> out;
  for (const ast::Stmt* s : tree.body->statements)
    if (s->kind == ast::StmtKind::option) out.push_back(info_of(static_cast<const ast::OptionStmt&>(*s)));
  return out;
}

std::string script_doc(const ast::Tree& tree) {
  std::string out;
  for (int i = 1; i <= tree.source->line_count(); ++i) {
    std::string line(trimmed(tree.source->line(i)));
    if (i == 1 && line.starts_with("#!")) continue;
    if (!line.starts_with("#")) break;
    line.erase(0, line.find_first_not_of('#') == std::string::npos ? line.size() : line.find_first_not_of('#'));
    if (!out.empty()) out += '\n';
    out += trimmed(line);
  }
  return out;
}

void declare_option(Interpreter& in, const ast::OptionStmt& s, Activation& a) {
  if (a.kind != Activation::Kind::file)
    throw Error("an option is declared at the top level of a file").as(codes::misplaced);
  const OptionInfo info = info_of(s);
  // An imported file's options keep their defaults, unless the command line names them too.
  bool known = false;
  for (const OptionInfo& o : evaluator_of(in).declared_options) known |= o.name == info.name;
  if (!known) evaluator_of(in).declared_options.push_back(info);
  ast::Parameter typed;
  typed.name = s.name;
  typed.span = s.name_span;
  typed.annotation = s.type;
  Value v;
  if (auto it = host_of(in).options().options.find(s.name); it != host_of(in).options().options.end()) {
    v = parse_option(s.name, info.type, it->second);
  } else if (s.default_value) {
    v = evaluate(in, *s.default_value, a);
    if (s.type && !v.is_none()) {
      try {
        v = check_argument(in, "option", typed, std::move(v), a);
      } catch (Error& e) {
        e.locate(s.default_value->span, position_of(in).frames);
        throw;
      }
    }
  } else {
    if (check_in_progress(in)) {
      a.scope->bind(s.name, unknown_value());
      return;
    }
    Error e(fmt::format("option `{}` has no default and was not given", s.name),
            {fmt::format("give it on the command line: --{} {}", s.name, info.type)}, Fault::usage);
    e.as(codes::option);
    e.locate(s.name_span, position_of(in).frames);
    throw e;
  }
  a.scope->bind(s.name, std::move(v));
}

}  // namespace pxl
