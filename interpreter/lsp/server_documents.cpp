// Documents that are opened, changed, closed and analysed, and the requests that wait for an analysis.
#include <algorithm>

#include "interpreter/language/fixes.hpp"
#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

Json Server::opened(const OpenParams& params) {
  auto fresh = std::make_unique<Document>(params.uri, params.text, params.version.value_or(0), encoding_);
  std::unique_ptr<Document>& d = documents_[params.uri.path];
  if (d) analyst_.discard(std::move(d->analysis));
  d = std::move(fresh);
  text_changed(*d);
  return nullptr;
}

Json Server::changed(const ChangeParams& params) {
  Document& d = document(params);
  d.change(params.changes);
  d.version = params.version.value_or(d.version);
  analyst_.cancel();
  const Refusal why{server_cancelled, "the text was changed", {{"retriggerRequest", true}}};
  answer_waiting(d, &why);
  text_changed(d);
  return nullptr;
}

// Any document may depend on the saved file: as a program, or as data.
Json Server::saved(const NoParams&) {
  for (auto& [path, d] : documents_) {
    d->dirty = true;
    d->settled = false;
  }
  if (client_.pulls_diagnostics && client_.refreshes_diagnostics && !documents_.empty())
    demand("workspace/diagnostic/refresh", nullptr);
  return nullptr;
}

Json Server::closed(const DocumentParams& params) {
  const std::unique_ptr<Document> d = std::move(documents_.at(document(params).path()));
  documents_.erase(d->path());
  if (!client_.pulls_diagnostics)
    notify("textDocument/publishDiagnostics", {{"uri", d->uri()}, {"diagnostics", Json::array()}});
  const Refusal why{server_cancelled, "the text was closed", nullptr};
  answer_waiting(*d, &why);
  analyst_.discard(std::move(d->analysis));
  text_changed(*d);
  return nullptr;
}

std::shared_ptr<OpenTexts> Server::open_texts() const {
  auto out = std::make_shared<OpenTexts>();
  for (const auto& [path, d] : documents_) out->add(path, d->real_path(), d->parsed().source);
  return out;
}

void Server::text_changed(const Document& changed) {
  last_change_[changed.path()] = last_change_[changed.real_path()] = ++changes_;
  bool others = false;
  for (auto& [path, d] : documents_) {
    if (d.get() == &changed || !d->analysis || !is_outdated(*d->analysis, changes_ - 1)) continue;
    others = others || d->settled;
    d->dirty = true;
    d->settled = false;
  }
  if (others && client_.pulls_diagnostics && client_.refreshes_diagnostics)
    demand("workspace/diagnostic/refresh", nullptr);
}

bool Server::is_outdated(const Analysis& analysis, int64_t since) const {
  const auto changed = [&](const std::string& path) {
    const auto found = last_change_.find(path);
    return found != last_change_.end() && found->second > since;
  };
  const std::set<std::string>& files = analysis.open_texts->looked_for();
  return std::any_of(files.begin(), files.end(), changed);
}

void Server::start_analysis(const std::string& first) {
  auto it = documents_.find(first);
  if (it == documents_.end() || !it->second->dirty)
    it = std::find_if(documents_.begin(), documents_.end(), [](const auto& entry) { return entry.second->dirty; });
  if (it == documents_.end()) return;
  Document& d = *it->second;
  d.dirty = false;
  if (d.parsed().result.tree) {
    analyst_.start({d.path(), std::string(d.text()), d.revision, changes_, open_texts()});
    return;
  }
  std::vector<Diagnostic> found = d.parsed().result.diagnostics;
  add_implied_fixes(found);
  d.diagnostics = diagnostic_items(d, found);
  settle(d);
}

void Server::finish_analysis() {
  std::optional<Analyst::Answer> answer = analyst_.take();
  if (!answer) return;
  const auto it = documents_.find(answer->job.path);
  if (it == documents_.end() || it->second->revision != answer->job.revision || !answer->analysis->finished ||
      is_outdated(*answer->analysis, answer->job.changes)) {
    if (it != documents_.end()) it->second->dirty = true;
    analyst_.discard(std::move(answer->analysis));
    return;
  }
  Document& d = *it->second;
  d.diagnostics = diagnostic_items(d, answer->analysis->diagnostics);
  analyst_.discard(std::move(d.analysis));
  d.analysis = std::move(answer->analysis);
  if (client_.refreshes_hints) demand("workspace/inlayHint/refresh", nullptr);
  settle(d);
}

void Server::settle(Document& d) {
  d.settled = !d.dirty;  // an imported file may have been saved meanwhile
  ++d.analyses;
  if (!client_.pulls_diagnostics)
    notify("textDocument/publishDiagnostics",
           {{"uri", d.uri()}, {"version", d.version}, {"diagnostics", d.diagnostics}});
  if (d.settled) answer_waiting(d, nullptr);
}

void Server::answer_waiting(const Document& d, const Refusal* why) {
  const auto waits = [&](const Waiting& w) { return w.params.uri.path == d.path(); };
  std::vector<Waiting> ready;
  std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(ready), waits);
  std::erase_if(waiting_, waits);
  for (const Waiting& w : ready) {
    if (why)
      refuse(w.id, *why);
    else
      reply(w.id, diagnostic(*this, w.params));
  }
}

}  // namespace pxl::lsp
