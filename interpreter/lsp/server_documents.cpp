// Documents of the server: opened, changed, closed, analysed; and the requests that wait for an analysis.
#include <algorithm>

#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

Json Server::opened(const Json& params) {
  const Json& d = params.at("textDocument");
  const auto uri = d.at("uri").get<std::string>();
  std::unique_ptr<Document>& opened = documents_[uri];
  if (opened) analyst_.discard(std::move(opened->analysis));
  opened = std::make_unique<Document>(uri, d.at("text").get<std::string>(), d.value("version", int64_t{0}), encoding_);
  return nullptr;
}

Json Server::changed(const Json& params) {
  Document& d = document(params);
  for (const Json& change : params.at("contentChanges")) d.change(change);
  d.version = params.at("textDocument").value("version", d.version);
  analyst_.cancel();
  d.parse();
  const Refusal why{server_cancelled, "the text was changed", {{"retriggerRequest", true}}};
  answer_waiting(d.uri(), &why);
  return nullptr;
}

// Other files may import this one, which may have changed.
Json Server::saved(const Json&) {
  for (auto& [uri, d] : documents_) {
    d->dirty = true;
    d->settled = false;
  }
  if (pulls_ && refreshes_diagnostics_ && !documents_.empty()) demand("workspace/diagnostic/refresh", nullptr);
  return nullptr;
}

Json Server::closed(const Json& params) {
  const Document& d = document(params);
  if (!pulls_) notify("textDocument/publishDiagnostics", {{"uri", d.uri()}, {"diagnostics", Json::array()}});
  const std::string uri = d.uri();
  const Refusal why{server_cancelled, "the text was closed", nullptr};
  answer_waiting(uri, &why);
  analyst_.discard(std::move(documents_.at(uri)->analysis));
  documents_.erase(uri);
  return nullptr;
}

void Server::start_analysis(const std::string& first) {
  auto it = documents_.find(first);
  if (it == documents_.end() || !it->second->dirty)
    it = std::find_if(documents_.begin(), documents_.end(), [](const auto& entry) { return entry.second->dirty; });
  if (it == documents_.end()) return;
  Document& d = *it->second;
  d.dirty = false;
  if (d.parsed().result.tree) {
    analyst_.start({d.uri(), d.path(), d.text(), d.revision});
    return;
  }
  d.diagnostics = diagnostic_items(d, d.parsed().result.diagnostics);
  settle(d);
}

void Server::finish_analysis() {
  std::optional<Analyst::Answer> answer = analyst_.take();
  if (!answer) return;
  const auto it = documents_.find(answer->job.uri);
  if (it == documents_.end() || it->second->revision != answer->job.revision || !answer->analysis->finished) {
    if (it != documents_.end()) it->second->dirty = true;
    analyst_.discard(std::move(answer->analysis));
    return;
  }
  Document& d = *it->second;
  d.diagnostics = diagnostic_items(d, answer->analysis->diagnostics);
  analyst_.discard(std::move(d.analysis));
  d.analysis = std::move(answer->analysis);
  if (refreshes_hints_) demand("workspace/inlayHint/refresh", nullptr);
  settle(d);
}

void Server::settle(Document& d) {
  d.settled = !d.dirty;  // an imported file may have been saved meanwhile
  ++d.analyses;
  if (!pulls_)
    notify("textDocument/publishDiagnostics",
           {{"uri", d.uri()}, {"version", d.version}, {"diagnostics", d.diagnostics}});
  if (d.settled) answer_waiting(d.uri(), nullptr);
}

void Server::answer_waiting(const std::string& uri, const Refusal* why) {
  std::vector<Waiting> ready;
  for (const Waiting& w : waiting_)
    if (w.uri == uri) ready.push_back(w);
  std::erase_if(waiting_, [&](const Waiting& w) { return w.uri == uri; });
  for (const Waiting& w : ready) {
    if (why)
      refuse(w.id, *why);
    else
      reply(w.id, diagnostic(*this, w.params));
  }
}

}  // namespace pxl::lsp
