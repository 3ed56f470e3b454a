// Diagnostics, published or pulled, and quick fixes for names.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

namespace {

/// The fixes of a diagnostic that change this document alone, as the protocol's edits.
Json fixes_of(const Document& d, const Diagnostic& one) {
  Json fixes = Json::array();
  for (const Fix& fix : one.fixes) {
    Json edits = Json::array();
    for (const Edit& e : fix.edits)
      if (e.at.file->name() == d.path())
        edits.push_back({{"range", d.lines().range(e.at.begin, e.at.end)}, {"newText", e.text}});
    if (edits.size() == fix.edits.size()) fixes.push_back({{"title", fix.title}, {"edits", std::move(edits)}});
  }
  return fixes;
}

}  // namespace

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
    for (const Related& r : one.related)
      if (r.at.file->name() == d.path())
        related.push_back({{"location", {{"uri", d.uri()}, {"range", d.lines().range(r.at)}}}, {"message", r.text}});
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
    if (Json fixes = fixes_of(d, one); !fixes.empty()) entry["data"] = {{"fixes", std::move(fixes)}};
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

Json code_actions(Server& server, const ActionParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  for (const ActionParams::Problem& one : params.problems) {
    const auto same = [&](const Json& item) {
      const Json &range = one.whole["range"], &of_item = item["range"];
      return item["message"] == one.message && of_item["start"] == range["start"] && of_item["end"] == range["end"];
    };
    const auto item = std::find_if(d.diagnostics.begin(), d.diagnostics.end(), same);
    if (!d.settled || item == d.diagnostics.end() || !item->contains("data")) continue;
    for (const Json& fix : (*item)["data"]["fixes"])
      list.push_back({{"title", fix["title"]},
                      {"kind", "quickfix"},
                      {"isPreferred", &fix == &(*item)["data"]["fixes"].front()},
                      {"diagnostics", {one.whole}},
                      {"edit", {{"changes", {{d.uri(), fix["edits"]}}}}}});
  }
  return list;
}

}  // namespace pxl::lsp
