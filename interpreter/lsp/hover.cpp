// textDocument/hover and textDocument/signatureHelp.
#include <fmt/format.h>

#include "interpreter/lsp/server.hpp"
#include "interpreter/tools/help/help.hpp"
#include "interpreter/tools/help/member_help.hpp"
#include "interpreter/tools/inspection.hpp"
#include "runtime/base/text/join_texts.hpp"

namespace pxl::lsp {

namespace {

std::string code_block(const std::string& text) { return "```pxl\n" + text + "\n```\n"; }

std::string describe(const Document& d, const Symbol& s, Span place) {
  std::string head = std::string(text(s.kind)) + " " + s.name;
  if (s.kind == Symbol::Kind::import) {
    const Symbol::Import& i = s.imports.back();
    const std::string path = join_texts(i.path, ".");
    head = i.name.empty() ? "import " + path : "from " + path + " import " + i.name;
  } else if (!s.detail.empty()) {
    head += s.detail[0] == '(' ? s.detail : ": " + s.detail;
  }
  std::string out = code_block(head);
  if (d.analysis) {
    const BoundName* bound = d.analysis->before(s.name, place.end);
    if (bound && !bound->type.empty()) out += bound->type + "\n";
  }
  if (!s.doc.empty()) out += "\n" + s.doc + "\n";
  return out;
}

// The innermost open call: its callee's last word, and the number of arguments before the cursor.
struct OpenCall {
  size_t callee_end = 0;
  size_t argument = 0;
  std::string named;  ///< the argument's name, if it has one
};

std::optional<OpenCall> open_call(const Document& d, size_t cursor) {
  struct Open {
    char bracket;
    uint32_t at;
    size_t commas;
    std::string named;
  };
  std::vector<Open> open;
  for (const ClassifiedToken& t : classify_tokens(*d.parsed().source)) {
    if (t.begin >= cursor) break;
    const std::string_view text = d.text().substr(t.begin, t.end - t.begin);
    if (t.kind == TokenClass::bracket) {
      if (text == "(" || text == "[" || text == "{")
        open.push_back({text[0], t.begin, 0, {}});
      else if (!open.empty())
        open.pop_back();
    } else if (t.kind == TokenClass::comma && !open.empty()) {
      ++open.back().commas;
      open.back().named.clear();
    } else if (t.kind == TokenClass::argument && !open.empty()) {
      open.back().named = text;
    }
  }
  while (!open.empty() && open.back().bracket == '[') open.pop_back();
  if (open.empty() || open.back().bracket != '(') return std::nullopt;
  return OpenCall{open.back().at, open.back().commas, open.back().named};
}

// The word at the cursor, for help on names of the language or the library that the text does not define.
std::string word_at(const Document& d, size_t cursor, size_t& begin, size_t& end) {
  for (const ClassifiedToken& t : classify_tokens(*d.parsed().source)) {
    if (t.begin > cursor) break;
    if (t.end < cursor) continue;
    if (t.kind != TokenClass::name && t.kind != TokenClass::keyword && t.kind != TokenClass::declarer) continue;
    begin = t.begin;
    end = t.end;
    return std::string(d.text().substr(t.begin, t.end - t.begin));
  }
  return {};
}

}  // namespace

Json hover(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  const size_t cursor = d.lines().offset(params.position);
  const auto answer = [&](const std::string& text, size_t begin, size_t end) -> Json {
    return {{"contents", {{"kind", "markdown"}, {"value", text}}}, {"range", d.lines().range(begin, end)}};
  };
  Interpreter& in = server.interpreter_of(d);
  if (d.is_sound()) {
    const SymbolTable& table = *d.sound()->symbols;
    if (const Occurrence* o = table.at(static_cast<uint32_t>(cursor))) {
      const Symbol& s = table.symbols()[static_cast<size_t>(o->symbol)];
      std::string out = describe(d, s, o->span);
      if (s.kind == Symbol::Kind::import && !s.imports.back().name.empty() && s.imports.back().path.size() == 1) {
        const Inspection known = help(in, s.imports.back().path[0] + "." + s.imports.back().name);
        if (known.found) out += "\n" + (known.signature.empty() ? "" : code_block(known.signature)) + known.doc + "\n";
      }
      return answer(out, o->span.begin, o->span.end);
    }
  }
  size_t begin = 0, end = 0;
  const std::string word = word_at(d, cursor, begin, end);
  if (word.empty()) return nullptr;
  if (begin > 0 && d.text()[begin - 1] == '.') {
    const auto found = inspect(in, d.text(), cursor);
    if (!found || !found->found) {
      // The analysis does not know the value whose member this is.
      std::string out;
      for (const auto& [table, row] : find_members(word))
        out += code_block(member_signature(*table, *row)) + std::string(row->doc) + "\n\n";
      return out.empty() ? Json(nullptr) : answer(out, begin, end);
    }
    return answer(
        code_block(found->signature.empty() ? found->name + ": " + found->type : found->signature) + found->doc, begin,
        end);
  }
  const Inspection known = help(in, word);
  if (!known.found) return nullptr;
  return answer("```text\n" + known.text + "```\n", begin, end);
}

Json signature_help(Server& server, const PositionParams& params) {
  const Document& d = server.document(params);
  const auto call = open_call(d, d.lines().offset(params.position));
  if (!call) return nullptr;
  Interpreter& in = server.interpreter_of(d);
  std::optional<SignatureInfo> signature;
  size_t begin = 0;
  if (const auto callee = resolve_chain(in, d.text(), call->callee_end, begin)) signature = signature_of(in, *callee);
  if (!signature && d.sound()) {
    // No analysis has reached this function.
    size_t from = call->callee_end;
    while (from > 0 && (std::isalnum(static_cast<unsigned char>(d.text()[from - 1])) || d.text()[from - 1] == '_'))
      --from;
    const std::string_view name = d.text().substr(from, call->callee_end - from);
    for (const Symbol* s : d.sound()->symbols->visible(static_cast<uint32_t>(call->callee_end))) {
      if (s->name != name || s->detail.empty() || s->detail[0] != '(') continue;
      const Json one = {{"label", s->name + s->detail}, {"documentation", s->doc}, {"parameters", Json::array()}};
      return {{"signatures", {one}}, {"activeSignature", 0}, {"activeParameter", call->argument}};
    }
  }
  if (!signature) return nullptr;
  Json list = Json::array();
  size_t active = call->argument;
  for (size_t i = 0; i < signature->parameters.size(); ++i) {
    const ParameterInfo& p = signature->parameters[i];
    list.push_back({{"label", p.text}});
    if (!call->named.empty() && p.name == call->named) active = i;
    if (call->named.empty() && p.rest && call->argument > i) active = i;
  }
  const Json one = {{"label", signature->text()}, {"documentation", signature->doc}, {"parameters", list}};
  return {{"signatures", {one}}, {"activeSignature", 0}, {"activeParameter", active}};
}

}  // namespace pxl::lsp
