#include "interpreter/tools/completion.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/context.hpp"
#include "interpreter/tools/help/help.hpp"
#include "interpreter/tools/help/member_help.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

namespace fs = std::filesystem;
using Kind = Completion::Kind;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

class Completer {
 public:
  Completer(Interpreter& in, std::string_view text, size_t cursor)
      : in_(in),
        text_(text.substr(0, cursor)),
        source_("<completed>", std::string(text_)),
        tokens_(classify_tokens(source_)) {
    found_.begin = found_.end = cursor;
  }

  Completions run() {
    if (!tokens_.empty() && tokens_.back().end == text_.size()) {
      const ClassifiedToken& last = tokens_.back();
      if (last.kind == TokenClass::comment || last.kind == TokenClass::documentation || last.kind == TokenClass::number)
        return std::move(found_);
      if (last.kind == TokenClass::string && open_string(last)) return files(last);
    }
    while (found_.begin > 0 && in_name(text_[found_.begin - 1])) --found_.begin;
    prefix_ = std::string(text_.substr(found_.begin));
    if (!imports() && !caught_kinds()) {
      size_t dot = found_.begin;
      while (dot > 0 && text_[dot - 1] == ' ') --dot;
      if (dot > 0 && text_[dot - 1] == '.') {
        members(dot - 1);
      } else {
        arguments();
        // An empty prefix completes names of arguments only.
        if (!prefix_.empty() || found_.items.empty()) names();
      }
    }
    std::sort(found_.items.begin(), found_.items.end(),
              [](const Completion& a, const Completion& b) { return a.text < b.text; });
    found_.items.erase(std::unique(found_.items.begin(), found_.items.end(),
                                   [](const Completion& a, const Completion& b) { return a.text == b.text; }),
                       found_.items.end());
    return std::move(found_);
  }

 private:
  std::string_view word(size_t i) const { return text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin); }

  void add(std::string_view name, Kind kind, std::string detail = {}, std::string_view tail = {}) {
    if (!name.starts_with(prefix_)) return;
    // Names with a leading underscore are offered only if the prefix has one.
    if (prefix_.empty() && name.starts_with("_")) return;
    found_.items.push_back({std::string(name) + std::string(tail), kind, std::move(detail)});
  }

  static bool open_string_text(std::string_view s) {
    if (!s.empty() && (s[0] == 'r' || s[0] == 'R')) s.remove_prefix(1);
    return s.size() < 2 || s.back() != s[0] || (s.size() >= 3 && s[1] == s[0] && s[2] == s[0] && s.size() < 6);
  }
  bool open_string(const ClassifiedToken& t) const { return open_string_text(text_.substr(t.begin, t.end - t.begin)); }

  Completions files(const ClassifiedToken& t) {
    const size_t quote = text_.find_first_of("\"'", t.begin);
    found_.begin = quote + 1;
    for (std::string& path : complete_file(std::string(text_.substr(found_.begin))))
      found_.items.push_back({std::move(path), Kind::file, {}});
    return std::move(found_);
  }

  /// Completes `import n|`, `from n|`, `from nn import L|`.
  bool imports() {
    // The tokens on the current line before the word.
    size_t count = tokens_.size();
    if (count && tokens_[count - 1].begin >= found_.begin) --count;
    size_t line = count;
    const size_t start = text_.rfind('\n', found_.begin ? found_.begin - 1 : 0);
    while (line > 0 && (start == text_.npos || tokens_[line - 1].begin > start)) --line;
    if (line == count) return false;
    const std::string_view first = word(line);
    if (first != "import" && first != "from") return false;
    size_t import_at = line;
    while (import_at < count && word(import_at) != "import") ++import_at;
    if (first == "import" || import_at == count) {
      if (count > line + 1) {
        if (first == "from") {
          add("import", Kind::keyword);
          return true;
        }
        return word(count - 1) != "as" ? (add("as", Kind::keyword), true) : true;
      }
      for (const std::string& module : library_modules()) add(module, Kind::library, "standard library");
      for (const std::string& path : complete_file(prefix_, ".pxl"))
        if (path.ends_with(".pxl")) add(path.substr(0, path.size() - 4), Kind::library, path);
      return true;
    }
    std::string module;
    for (size_t i = line + 1; i < import_at; ++i) module += word(i);
    for (const LibraryEntry& e : library_entries(module)) add(e.name, Kind::module, e.signature);
    return true;
  }

  /// Completes `catch v|`, `catch value, i|`: kinds of errors, and those that calls of `fail` before it name.
  bool caught_kinds() {
    size_t at = tokens_.size();
    if (at > 0 && tokens_[at - 1].begin >= found_.begin) --at;
    while (at >= 2 && word(at - 1) == ",") at -= 2;
    if (at == 0 || word(at - 1) != "catch") return false;
    const auto add_kind = [&](std::string name, std::string detail) {
      std::replace(name.begin(), name.end(), '-', '_');
      add(name, Kind::keyword, std::move(detail));
    };
    for (const codes::Kind& kind : codes::kind_table)
      add_kind(std::string(kind.text), kind.sort == codes::Sort::world ? "of the world" : "of the program");
    for (size_t i = 0; i + 2 < tokens_.size(); ++i)
      if (word(i) == "kind" && word(i + 1) == "=" && tokens_[i + 2].kind == TokenClass::string &&
          word(i + 2).size() > 2)
        add_kind(std::string(word(i + 2).substr(1, word(i + 2).size() - 2)), "a kind of the script's own");
    return true;
  }

  static const MemberInfo* row_of(const MemberTable& table, std::string_view name) {
    for (const MemberInfo* row : table.rows)
      if (row->name == name) return row;
    return nullptr;
  }

  void members(size_t dot) {
    size_t begin = 0;
    if (std::optional<Value> base = resolve_chain(in_, text_, dot, begin); base && base->is_object()) {
      const MemberTable* table = is_unknown(*base) ? nullptr : find_member_table(base->type_name());
      const bool plain = base->as_array() || as_tensor(*base) || base->as<NamespaceObject>();
      for (const std::string& m : base->object()->member_names()) {
        const OpRow* row = plain ? find_op(m) : nullptr;
        const MemberInfo* info = table ? row_of(*table, m) : nullptr;
        add(m, Kind::member,
            info                        ? std::string(m) + std::string(info->parameters)
            : row && !row->path.empty() ? signature(*row)
                                        : std::string());
      }
      return;
    }
    // The base is a call of a module, which is not evaluated: `Linear(3).`.
    if (dot > 0 && text_[dot - 1] == ')') {
      size_t at = dot - 1;
      for (int depth = 0; at + 1 > 0; --at) {
        if (text_[at] == ')') ++depth;
        if (text_[at] == '(' && --depth == 0) break;
        if (at == 0) return;
      }
      std::optional<Value> callee = resolve_chain(in_, text_, at, begin);
      if (auto* m = callee ? callee->as<ModuleObject>() : nullptr) {
        for (const ast::Function* f : m->code->methods) add(f->name, Kind::member);
        add("create_graph", Kind::member);
        if (m->code->build) add("build", Kind::member);
      }
    }
  }

  /// Completes names of arguments, if an argument may begin here.
  void arguments() {
    const CallContext call = enclosing_call(source_, tokens_, text_.size());
    if (!call.found || !call.at_argument_start) return;
    size_t begin = 0;
    std::optional<Value> callee = resolve_chain(in_, text_, call.callee_end, begin);
    auto given = [&](const std::string& name) {
      return std::find(call.named.begin(), call.named.end(), name) != call.named.end();
    };
    // Completes the streams of `session.run(`.
    const std::string_view head = text_.substr(0, call.callee_end);
    if (head.ends_with(".run")) {
      std::optional<Value> base = resolve_chain(in_, text_, call.callee_end - 4, begin);
      if (auto* s = base ? base->as<SessionObject>() : nullptr) {
        for (const Stream* stream : s->session->expected_inputs())
          if (!given(stream->name())) add(stream->name(), Kind::stream, text(stream->spec()), " = ");
        return;
      }
    }
    if (!callee) return;
    if (std::optional<SignatureInfo> s = signature_of(in_, *callee)) {
      size_t position = 0;
      for (const ParameterInfo& p : s->parameters) {
        const bool taken = p.rest || p.name.empty() ||
                           (!p.by_name && position < call.position - std::min(call.position, call.named.size()));
        ++position;
        if (!taken && !given(p.name)) add(p.name, Kind::argument, p.text, " = ");
      }
    }
  }

  /// Keywords that may occur in an expression.
  static bool in_expressions(std::string_view w) {
    static constexpr std::string_view words[] = {"and", "or", "not",  "if",    "else", "for",
                                                 "in",  "is", "true", "false", "none", "try"};
    return std::find(std::begin(words), std::end(words), w) != std::end(words);
  }
  /// Whether the innermost bracket around the cursor contains expressions rather than statements.
  bool in_brackets() const {
    std::vector<char> open;
    for (const ClassifiedToken& t : tokens_) {
      if (t.kind != TokenClass::bracket) continue;
      const char c = text_[t.end - 1];
      if (c == '(' || c == '[' || c == '{')
        open.push_back(c);
      else if (!open.empty())
        open.pop_back();
    }
    return !open.empty() && open.back() != '{';
  }

  void names() {
    auto scope = [&](const Scope& s) {
      for (const auto& [interned, value] : s.entries()) {
        const std::string& name = interned.text();
        if (!name.starts_with(prefix_) || (prefix_.empty() && name.starts_with("_"))) continue;
        Kind kind = Kind::name;
        std::string detail;
        if (value.as<BuiltinObject>() && find_op(name))
          kind = Kind::op;
        else if (value.as<ModuleObject>())
          kind = Kind::module;
        else if (can_be_called(value))
          kind = Kind::function;
        if (auto* b = value.as<BuiltinObject>())
          detail = b->texts.signature;
        else
          detail = type_text(in_, value);
        add(name, kind, std::move(detail));
      }
    };
    scope(*evaluator_of(in_).file_scope());
    scope(*evaluator_of(in_).prelude());
    const bool inside = in_brackets();
    for (const std::string& w : reserved_words())
      if (!word_help(w).empty() && (!inside || in_expressions(w))) add(w, Kind::keyword);
    if (!inside)
      for (const std::string& w : declaring_words()) add(w, Kind::keyword);
    // Names that the text itself binds or mentions.
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenClass::name || tokens_[i].end == text_.size()) continue;
      if (i > 0 && tokens_[i - 1].kind == TokenClass::dot) continue;
      if (!evaluator_of(in_).file_scope()->find(std::string(word(i)))) add(word(i), Kind::name);
    }
  }

  Interpreter& in_;
  std::string_view text_;
  SourceFile source_;
  std::vector<ClassifiedToken> tokens_;
  std::string prefix_;
  Completions found_;
};

std::string home() {
  const char* h = std::getenv("HOME");
  return h ? h : "";
}

}  // namespace

std::string_view text(Completion::Kind kind) {
  switch (kind) {
    case Kind::name: return "name";
    case Kind::function: return "function";
    case Kind::op: return "op";
    case Kind::module: return "module";
    case Kind::member: return "member";
    case Kind::argument: return "argument";
    case Kind::stream: return "stream";
    case Kind::keyword: return "keyword";
    case Kind::library: return "library";
    case Kind::file: return "file";
    case Kind::command: return "command";
  }
  return "";
}

std::vector<std::string> complete_file(const std::string& prefix, std::string_view suffix) {
  std::vector<std::string> found;
  const size_t slash = prefix.rfind('/');
  const std::string folder = slash == prefix.npos ? "" : prefix.substr(0, slash + 1);
  const std::string start = slash == prefix.npos ? prefix : prefix.substr(slash + 1);
  std::string real = folder.empty() ? "." : folder;
  if (real.starts_with("~/")) real = home() + real.substr(1);
  std::error_code error;
  for (fs::directory_iterator it(real, fs::directory_options::skip_permission_denied, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(start) || (name[0] == '.' && !start.starts_with("."))) continue;
    std::error_code ignored;
    const bool is_folder = it->is_directory(ignored);
    if (!is_folder && !name.ends_with(suffix)) continue;
    found.push_back(folder + name + (is_folder ? "/" : ""));
    if (found.size() >= 500) break;
  }
  std::sort(found.begin(), found.end());
  return found;
}

Completions complete(Interpreter& in, std::string_view text, size_t cursor) {
  return Completer(in, text, std::min(cursor, text.size())).run();
}

}  // namespace pxl
