// Diagnostics, published or pulled, and quick fixes for names.
#include <fmt/format.h>

#include "interpreter/language/stdlib.hpp"
#include "interpreter/lsp/server.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"

namespace pxl::lsp {

Json diagnostic_items(const Document& d, const std::vector<Diagnostic>& found) {
  Json list = Json::array();
  for (const Diagnostic& one : found) {
    // An error in another file is shown at the import that leads there, or else at the beginning of this file.
    const bool here = one.span && one.span.file->name() == d.path();
    Span span = one.span;
    std::string message = one.message;
    Json related = Json::array();
    for (FramePtr f = one.frames; f; f = f->outer) {
      if (!f->at || f->at.file->name() != d.path()) continue;
      if (!here && !(span && span.file->name() == d.path())) span = f->at;
      related.push_back(
          {{"location", {{"uri", d.uri()}, {"range", d.lines().range(f->at)}}}, {"message", "in " + f->what}});
    }
    if (one.span && !here)
      message += fmt::format(" ({}:{})", one.span.file->name(), one.span.file->position(one.span.begin).line);
    for (const std::string& note : one.notes) message += "\n" + note;
    const bool placed = span && span.file->name() == d.path();
    Json range = placed ? d.lines().range(span.begin, std::max(span.end, span.begin)) : d.lines().range(0, 0);
    Json entry = {{"range", range},
                  {"severity", one.severity == Severity::error ? 1 : 2},
                  {"source", "pxl"},
                  {"code", code_of(one)},
                  {"message", message}};
    if (!related.empty()) entry["relatedInformation"] = related;
    list.push_back(std::move(entry));
  }
  return list;
}

Json diagnostic(Server& server, const PullParams& params) {
  const Document& d = server.document(params);
  if (!d.settled) throw AfterAnalysis{params};
  const std::string id = std::to_string(d.analyses);
  if (params.previous == id) return {{"kind", "unchanged"}, {"resultId", id}};
  return {{"kind", "full"}, {"resultId", id}, {"items", d.diagnostics}};
}

namespace {

// Where to insert an import: before the first statement and its documentation comment.
size_t place_of_imports(const Document& d) {
  const auto& statements = d.parsed().result.tree->body->statements;
  const std::string_view text = d.text();
  size_t at = statements.empty() ? text.size() : statements.front()->span.begin;
  const auto line_before = [&] { return at < 2 ? 0 : text.rfind('\n', at - 2) + 1; };
  at = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  while (at > 0 && text.substr(line_before()).starts_with("##")) at = line_before();
  return at;
}

/// The calls of "so PyTorch's `LSTM(32, 64)` is `LSTM(64)`", if both are of one function.
std::pair<std::string_view, std::string_view> rewritten_call(std::string_view message) {
  const size_t from = message.find("'s `", message.find(", so "));
  const size_t middle = from == message.npos ? from : message.find("` is `", from);
  if (middle == message.npos) return {};
  const std::string_view foreign = message.substr(from + 4, middle - from - 4);
  const std::string_view here = message.substr(middle + 6, message.find('`', middle + 6) - middle - 6);
  const std::string_view function = foreign.substr(0, foreign.find('(') + 1);
  if (!here.starts_with(function)) return {};
  return {foreign, here};
}

}  // namespace

Json code_actions(Server& server, const ActionParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  const auto action = [&](const Json& mended, const std::string& title, size_t begin, size_t end, std::string text) {
    list.push_back(
        {{"title", title},
         {"kind", "quickfix"},
         {"isPreferred", true},
         {"diagnostics", {mended}},
         {"edit", {{"changes", {{d.uri(), {{{"range", d.lines().range(begin, end)}, {"newText", text}}}}}}}}});
  };
  for (const ActionParams::Problem& one : params.problems) {
    const size_t begin = d.lines().offset(one.range.start), end = d.lines().offset(one.range.end);
    const std::string_view marked = d.text().substr(begin, end < begin ? 0 : end - begin);
    if (one.code == codes::unknown_name && d.parsed().result.tree)
      if (const auto import = library_import(marked)) {
        const size_t at = place_of_imports(d);
        const std::string_view next = d.text().substr(at);
        action(one.whole, *import, at, at,
               *import + (next.starts_with("from ") || next.starts_with("import ") ? "\n" : "\n\n"));
        continue;
      }
    if (const auto [foreign, here] = rewritten_call(one.message); !here.empty()) {
      const size_t at = d.text().rfind(foreign, begin);
      if (at != std::string_view::npos && at + foreign.size() >= end)
        action(one.whole, fmt::format("Change to `{}`", here), at, at + foreign.size(), std::string(here));
      continue;
    }
    const std::optional<std::string> meant = meant_name(one.message);
    if (!meant) continue;
    // The mistyped name is one of the words in the marked range: `x.shap`, `xs.appned(1)`.
    for (const ClassifiedToken& t : classify_tokens(*d.parsed().source)) {
      if (t.begin < begin || t.end > end || t.kind == TokenClass::bracket) continue;
      if (nearest(d.text().substr(t.begin, t.end - t.begin), {*meant}) != meant) continue;
      action(one.whole, fmt::format("Change to `{}`", *meant), t.begin, t.end, *meant);
      break;
    }
  }
  return list;
}

}  // namespace pxl::lsp
