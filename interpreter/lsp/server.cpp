#include "interpreter/lsp/server.hpp"

#include <fmt/format.h>

#include <set>

#include "runtime/base/interrupt.hpp"

namespace pxl::lsp {

namespace {

// What the reading thread tells the working one: requests that were cancelled, and that a text under analysis changed.
struct Ahead {
  std::mutex mutex;
  std::set<std::string> cancelled;
  std::atomic<bool> analysing = false;
};
Ahead& ahead() {
  static Ahead a;
  return a;
}

void glance(const Json& message) {
  const auto method = message.find("method");
  if (method == message.end() || !method->is_string()) return;
  if (*method == "$/cancelRequest") {
    const auto params = message.find("params");
    if (params == message.end() || !params->is_object() || !params->contains("id")) return;
    const std::lock_guard lock(ahead().mutex);
    // A client that cancels what it never asked does not fill the memory.
    if (ahead().cancelled.size() < 4096) ahead().cancelled.insert((*params)["id"].dump());
  } else if (ahead().analysing && (*method == "textDocument/didChange" || *method == "exit" || *method == "shutdown")) {
    request_interrupt();
  }
}

bool take_cancelled(const Json& id) {
  const std::lock_guard lock(ahead().mutex);
  return ahead().cancelled.erase(id.dump()) > 0;
}

struct Method {
  std::string_view name;
  Handler handler;
};
template <Json (Server::*M)(const Json&)>
Json member(Server& s, const Json& params) {
  return (s.*M)(params);
}
Json nothing(Server&, const Json&) { return nullptr; }

constexpr Method methods[] = {
    {"initialize", member<&Server::initialize>},
    {"initialized", nothing},
    {"shutdown", member<&Server::shutdown>},
    {"textDocument/didOpen", member<&Server::opened>},
    {"textDocument/didChange", member<&Server::changed>},
    {"textDocument/didSave", member<&Server::saved>},
    {"textDocument/didClose", member<&Server::closed>},
    {"workspace/didChangeWatchedFiles", member<&Server::saved>},
    {"workspace/didChangeConfiguration", nothing},
    {"$/setTrace", nothing},
    {"$/cancelRequest", nothing},
    {"textDocument/definition", definition},
    {"textDocument/references", references},
    {"textDocument/documentHighlight", highlights},
    {"textDocument/prepareRename", prepare_rename},
    {"textDocument/rename", rename},
    {"textDocument/documentSymbol", document_symbols},
    {"textDocument/foldingRange", folding_ranges},
    {"textDocument/hover", hover},
    {"textDocument/signatureHelp", signature_help},
    {"textDocument/completion", completion},
    {"textDocument/formatting", formatting},
    {"textDocument/inlayHint", inlay_hints},
    {"textDocument/semanticTokens/full", semantic_tokens},
};

}  // namespace

Server::Server(int in, int out) : transport_(in, out, glance) {}

int Server::run() {
  constexpr int quiet_milliseconds = 120;  // a pause in typing
  while (!exiting_) {
    bool waiting = false;
    for (const auto& [uri, d] : documents_) waiting = waiting || d->dirty;
    const std::optional<Incoming> message = transport_.next(waiting ? quiet_milliseconds : -1);
    if (message)
      handle(*message);
    else if (transport_.ended())
      break;
    else
      analyse_one();
  }
  return shut_down_ ? 0 : 1;
}

void Server::handle(const Incoming& message) {
  if (!message.broken.empty()) return refuse(nullptr, parse_error, message.broken);
  const Json& body = message.body;
  const Json id = body.value("id", Json());
  const bool is_request = body.contains("id");
  const auto method = body.find("method");
  if (method == body.end() || !method->is_string()) {
    // An answer of the client's to a request: we make none.
    if (!body.contains("result") && !body.contains("error")) refuse(id, invalid_request, "the message has no method");
    return;
  }
  if (*method == "exit") {
    exiting_ = true;
    return;
  }
  if (is_request && take_cancelled(id)) return refuse(id, request_cancelled, "cancelled");
  try {
    const Json result = call(method->get<std::string>(), body.value("params", Json::object()), is_request);
    if (is_request) reply(id, result);
  } catch (const Refusal& no) {
    if (is_request) refuse(id, no.code, no.message);
  } catch (const Interrupted&) {
    if (is_request) refuse(id, request_cancelled, "interrupted");
  } catch (const Error& error) {
    if (is_request) refuse(id, request_failed, error.first().message);
  } catch (const Json::exception& error) {
    if (is_request) refuse(id, invalid_params, error.what());
  } catch (const std::exception& error) {
    if (is_request) refuse(id, internal_error, error.what());
  }
}

Json Server::call(const std::string& method, const Json& params, bool is_request) {
  if (!initialized_ && method != "initialize") {
    if (!is_request) return nullptr;
    throw Refusal{not_initialized, "initialize comes first"};
  }
  if (shut_down_) throw Refusal{invalid_request, "the server was shut down"};
  if (!params.is_object() && !params.is_null()) throw Refusal{invalid_params, "params must be an object"};
  for (const Method& m : methods)
    if (m.name == method) return m.handler(*this, params.is_null() ? Json::object() : params);
  throw Refusal{method_not_found, "no such method: " + method};
}

void Server::reply(const Json& id, const Json& result) {
  transport_.send({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}
void Server::refuse(const Json& id, int code, const std::string& message) {
  transport_.send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}
void Server::notify(const std::string& method, const Json& params) {
  transport_.send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

Document& Server::document(const Json& params) {
  const std::string uri = params.at("textDocument").at("uri").get<std::string>();
  const auto it = documents_.find(uri);
  if (it == documents_.end()) throw Refusal{invalid_params, "not open: " + uri};
  return *it->second;
}

Interpreter& Server::interpreter_of(const Document& d) {
  if (d.analysis && d.analysis->interpreter) return *d.analysis->interpreter;
  if (!empty_) empty_ = std::make_unique<Interpreter>(InterpreterOptions{});
  return *empty_;
}

Json Server::initialize(const Json& params) {
  if (initialized_) throw Refusal{invalid_request, "initialize comes once"};
  initialized_ = true;
  const Json capabilities = params.value("capabilities", Json::object());
  if (const Json root = params.value("rootUri", Json()); root.is_string()) root_ = path_of_uri(root.get<std::string>());
  while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  const Json encodings = capabilities.value("/general/positionEncodings"_json_pointer, Json::array());
  for (const Json& e : encodings)
    if (e == "utf-8") encoding_ = Encoding::utf8;
  return {{"serverInfo", {{"name", "pxl"}, {"version", PXL_VERSION}}},
          {"capabilities",
           {{"positionEncoding", encoding_ == Encoding::utf8 ? "utf-8" : "utf-16"},
            {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
            {"definitionProvider", true},
            {"referencesProvider", true},
            {"documentHighlightProvider", true},
            {"renameProvider", {{"prepareProvider", true}}},
            {"documentSymbolProvider", true},
            {"foldingRangeProvider", true},
            {"hoverProvider", true},
            {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
            {"completionProvider", {{"triggerCharacters", {"."}}}},
            {"documentFormattingProvider", true},
            {"inlayHintProvider", true},
            {"semanticTokensProvider", {{"legend", semantic_legend()}, {"full", true}}}}}};
}

Json Server::shutdown(const Json&) {
  shut_down_ = true;
  return nullptr;
}

Json Server::opened(const Json& params) {
  const Json& d = params.at("textDocument");
  const auto uri = d.at("uri").get<std::string>();
  documents_[uri] =
      std::make_unique<Document>(uri, d.at("text").get<std::string>(), d.value("version", int64_t{0}), encoding_);
  return nullptr;
}

Json Server::changed(const Json& params) {
  Document& d = document(params);
  for (const Json& change : params.at("contentChanges")) d.change(change);
  d.version = params.at("textDocument").value("version", d.version);
  d.parse();
  return nullptr;
}

// A file that others import may have changed.
Json Server::saved(const Json&) {
  for (auto& [uri, d] : documents_) d->dirty = true;
  return nullptr;
}

Json Server::closed(const Json& params) {
  const Document& d = document(params);
  notify("textDocument/publishDiagnostics", {{"uri", d.uri()}, {"diagnostics", Json::array()}});
  documents_.erase(d.uri());
  return nullptr;
}

void Server::analyse_one() {
  for (auto& [uri, d] : documents_) {
    if (!d->dirty) continue;
    d->dirty = false;
    if (!d->parsed().result.tree) return publish(*d, d->parsed().result.diagnostics);
    ahead().analysing = true;
    std::unique_ptr<Analysis> analysis = analyse(d->path(), d->text());
    ahead().analysing = false;
    clear_interrupt();
    if (!analysis->finished) {
      d->dirty = true;  // the text changed meanwhile
      return;
    }
    publish(*d, analysis->diagnostics);
    d->analysis = std::move(analysis);
    return;
  }
}

void Server::publish(const Document& d, const std::vector<Diagnostic>& found) {
  Json list = Json::array();
  for (const Diagnostic& one : found) {
    // What is wrong in another file is shown where this one leads there, or else at its beginning.
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
  notify("textDocument/publishDiagnostics", {{"uri", d.uri()}, {"version", d.version}, {"diagnostics", list}});
}

}  // namespace pxl::lsp
