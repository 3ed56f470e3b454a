#include "interpreter/lsp/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/unevaluated.hpp"

namespace pxl::lsp {

namespace {

// Shared between the reading thread and the others: cancelled requests, and whether a text under analysis changed.
struct Ahead {
  std::mutex mutex;
  std::set<std::string> cancelled;
  std::string answering;  ///< the current request
  Analyst* analyst = nullptr;
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
    const std::string id = (*params)["id"].dump();
    const std::lock_guard lock(ahead().mutex);
    if (id == ahead().answering) return request_interrupt();
    // Bounds the memory of cancellations of unknown requests.
    if (ahead().cancelled.size() < 4096) ahead().cancelled.insert(id);
  } else if (*method == "textDocument/didChange" || *method == "exit" || *method == "shutdown") {
    const std::lock_guard lock(ahead().mutex);
    if (ahead().analyst) ahead().analyst->cancel();
    if (*method == "exit" && !ahead().answering.empty()) request_interrupt();
  }
}

// False if a request was cancelled before it started; otherwise it may be interrupted until `Work` ends.
struct Work {
  bool cancelled;
  explicit Work(const Json& id) {
    const std::lock_guard lock(ahead().mutex);
    cancelled = ahead().cancelled.erase(id.dump()) > 0;
    ahead().answering = id.dump();
  }
  ~Work() {
    const std::lock_guard lock(ahead().mutex);
    ahead().answering.clear();
    clear_interrupt();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
};

bool can(const Json& capabilities, const char* path) {
  const Json::json_pointer at(path);
  return capabilities.contains(at) && capabilities[at] == true;
}

std::string folder_of(const Json& uri) {
  std::string path = uri.is_string() ? path_of_uri(uri.get<std::string>()) : std::string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
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
    {"initialized", member<&Server::initialized>},
    {"shutdown", member<&Server::shutdown>},
    {"textDocument/didOpen", member<&Server::opened>},
    {"textDocument/didChange", member<&Server::changed>},
    {"textDocument/didSave", member<&Server::saved>},
    {"textDocument/didClose", member<&Server::closed>},
    {"workspace/didChangeWatchedFiles", member<&Server::saved>},
    {"workspace/didChangeWorkspaceFolders", member<&Server::folders_changed>},
    {"workspace/didChangeConfiguration", nothing},
    {"$/setTrace", nothing},
    {"$/cancelRequest", member<&Server::cancelled>},
    {"textDocument/diagnostic", diagnostic},
    {"textDocument/codeAction", code_actions},
    {"textDocument/declaration", definition},
    {"textDocument/definition", definition},
    {"textDocument/references", references},
    {"textDocument/documentHighlight", highlights},
    {"textDocument/prepareRename", prepare_rename},
    {"textDocument/rename", rename},
    {"textDocument/documentSymbol", document_symbols},
    {"textDocument/foldingRange", folding_ranges},
    {"workspace/symbol", workspace_symbols},
    {"textDocument/hover", hover},
    {"textDocument/signatureHelp", signature_help},
    {"textDocument/completion", completion},
    {"textDocument/formatting", formatting},
    {"textDocument/inlayHint", inlay_hints},
    {"textDocument/semanticTokens/full", semantic_tokens},
};

}  // namespace

Server::Server(int in, int out) : transport_(in, out, glance), analyst_([this] { transport_.wake(); }) {
  const std::lock_guard lock(ahead().mutex);
  ahead().analyst = &analyst_;
}

Server::~Server() {
  const std::lock_guard lock(ahead().mutex);
  ahead().analyst = nullptr;
}

int Server::run() {
  constexpr int quiet_milliseconds = 120;  // a pause in typing
  while (!exiting_) {
    finish_analysis();
    bool waiting = false;
    if (!analyst_.busy()) {
      if (!waiting_.empty()) start_analysis(waiting_.front().uri);
      for (const auto& [uri, d] : documents_) waiting = waiting || d->dirty;
      waiting = waiting && !analyst_.busy();
    }
    const std::optional<Incoming> message = transport_.next(waiting ? quiet_milliseconds : -1);
    if (message)
      handle(*message);
    else if (transport_.ended())
      break;
    else if (!analyst_.busy())
      start_analysis();
  }
  const int status = shut_down_ ? 0 : 1;
  // The analysis thread polls often; if it does not, end the process anyway.
  constexpr int patience_milliseconds = 500;
  if (!analyst_.stop(patience_milliseconds)) std::_Exit(status);
  return status;
}

void Server::handle(const Incoming& message) {
  if (!message.broken.empty()) return refuse(nullptr, {parse_error, message.broken});
  const Json& body = message.body;
  const Json id = body.value("id", Json());
  const bool is_request = body.contains("id");
  const auto method = body.find("method");
  if (method == body.end() || !method->is_string()) {
    // The client's response to a request of the server, which is ignored.
    if (!body.contains("result") && !body.contains("error")) refuse(id, {invalid_request, "the message has no method"});
    return;
  }
  if (*method == "exit") {
    exiting_ = true;
    return;
  }
  // Bounds the work of requests, since they may show values. Changes of texts are read completely.
  Budget budget;
  std::optional<BudgetScope> bounded;
  if (is_request) bounded.emplace(&budget);
  std::optional<Work> work;
  if (is_request) work.emplace(id);
  if (work && work->cancelled) return refuse(id, {request_cancelled, "cancelled"});
  std::optional<Refusal> no;
  try {
    const Json result = call(method->get<std::string>(), body.value("params", Json::object()), is_request);
    if (is_request) reply(id, result);
  } catch (const Refusal& refusal) {
    no = refusal;
  } catch (const AfterAnalysis&) {
    const Json params = body.value("params", Json::object());
    if (is_request) waiting_.push_back({id, params, document(params).uri()});
  } catch (const OverBudget&) {
    if (is_request) reply(id, nullptr);  // the result would be too large to be shown
  } catch (const Unevaluated&) {
    if (is_request) reply(id, nullptr);
  } catch (const Interrupted&) {
    no = Refusal{request_cancelled, "cancelled"};
  } catch (const Error& error) {
    no = Refusal{request_failed, error.first().message};
  } catch (const Json::exception& error) {
    no = Refusal{invalid_params, error.what()};
  } catch (const std::exception& error) {
    no = Refusal{internal_error, error.what()};
  }
  if (no && is_request) refuse(id, *no);
}

Json Server::call(const std::string& method, const Json& params, bool is_request) {
  if (!initialized_ && method != "initialize") {
    if (!is_request) return nullptr;
    throw Refusal{not_initialized, "initialize must be the first request"};
  }
  if (shut_down_) throw Refusal{invalid_request, "the server was shut down"};
  if (!params.is_object() && !params.is_null()) throw Refusal{invalid_params, "params must be an object"};
  for (const Method& m : methods)
    if (m.name == method) return m.handler(*this, params.is_null() ? Json::object() : params);
  throw Refusal{method_not_found, "unknown method: " + method};
}

void Server::reply(const Json& id, const Json& result) {
  transport_.send({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}
void Server::refuse(const Json& id, const Refusal& why) {
  Json error = {{"code", why.code}, {"message", why.message}};
  if (!why.data.is_null()) error["data"] = why.data;
  transport_.send({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}
void Server::notify(const std::string& method, const Json& params) {
  transport_.send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

void Server::demand(const std::string& method, const Json& params) {
  transport_.send(
      {{"jsonrpc", "2.0"}, {"id", "pxl-" + std::to_string(++demands_)}, {"method", method}, {"params", params}});
}

Document& Server::document(const Json& params) {
  const std::string uri = params.at("textDocument").at("uri").get<std::string>();
  const auto it = documents_.find(uri);
  if (it == documents_.end()) throw Refusal{invalid_params, "not open: " + uri};
  return *it->second;
}

Interpreter& Server::interpreter_of(const Document& d) {
  if (d.analysis && d.analysis->interpreter) return *d.analysis->interpreter;
  if (!empty_) empty_ = make_interpreter(InterpreterOptions{});
  return *empty_;
}

Json Server::initialize(const Json& params) {
  if (initialized_) throw Refusal{invalid_request, "initialize was already called"};
  initialized_ = true;
  const Json capabilities = params.value("capabilities", Json::object());
  if (const Json folders = params.value("workspaceFolders", Json()); folders.is_array()) {
    for (const Json& folder : folders) roots_.push_back(folder_of(folder.value("uri", Json())));
  } else {
    roots_.push_back(folder_of(params.value("rootUri", Json())));
  }
  std::erase(roots_, "");
  pulls_ = capabilities.contains("/textDocument/diagnostic"_json_pointer);
  refreshes_diagnostics_ = can(capabilities, "/workspace/diagnostics/refreshSupport");
  refreshes_hints_ = can(capabilities, "/workspace/inlayHint/refreshSupport");
  watches_files_ = can(capabilities, "/workspace/didChangeWatchedFiles/dynamicRegistration");
  const Json encodings = capabilities.value("/general/positionEncodings"_json_pointer, Json::array());
  for (const Json& e : encodings)
    if (e == "utf-8") encoding_ = Encoding::utf8;
  Json offered = {
      {"positionEncoding", encoding_ == Encoding::utf8 ? "utf-8" : "utf-16"},
      {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
      {"declarationProvider", true},
      {"definitionProvider", true},
      {"referencesProvider", true},
      {"documentHighlightProvider", true},
      {"renameProvider", {{"prepareProvider", true}}},
      {"documentSymbolProvider", true},
      {"workspaceSymbolProvider", true},
      {"foldingRangeProvider", true},
      {"hoverProvider", true},
      {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
      {"completionProvider", {{"triggerCharacters", {"."}}}},
      {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
      {"documentFormattingProvider", true},
      {"inlayHintProvider", true},
      {"semanticTokensProvider", {{"legend", semantic_legend()}, {"full", true}}},
      {"workspace", {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}}},
  };
  // A client that pulls diagnostics would show published ones twice.
  if (pulls_) offered["diagnosticProvider"] = {{"interFileDependencies", true}, {"workspaceDiagnostics", false}};
  return {{"serverInfo", {{"name", "pxl"}, {"version", PXL_VERSION}}}, {"capabilities", std::move(offered)}};
}

Json Server::initialized(const Json&) {
  // Files may change outside the editor; files that import them are analysed again.
  if (watches_files_)
    demand("client/registerCapability", {{"registrations",
                                          {{{"id", "files"},
                                            {"method", "workspace/didChangeWatchedFiles"},
                                            {"registerOptions", {{"watchers", {{{"globPattern", "**/*.pxl"}}}}}}}}}});
  return nullptr;
}

Json Server::folders_changed(const Json& params) {
  const Json event = params.at("event");
  for (const Json& folder : event.value("removed", Json::array()))
    std::erase(roots_, folder_of(folder.value("uri", Json())));
  for (const Json& folder : event.value("added", Json::array()))
    if (const std::string path = folder_of(folder.value("uri", Json())); !path.empty()) roots_.push_back(path);
  return nullptr;
}

Json Server::shutdown(const Json&) {
  shut_down_ = true;
  return nullptr;
}

Json Server::cancelled(const Json& params) {
  const Json id = params.value("id", Json());
  const auto waits = [&](const Waiting& w) { return w.id == id; };
  if (std::none_of(waiting_.begin(), waiting_.end(), waits)) return nullptr;
  std::erase_if(waiting_, waits);
  refuse(id, {request_cancelled, "cancelled"});
  const std::lock_guard lock(ahead().mutex);
  ahead().cancelled.erase(id.dump());
  return nullptr;
}

}  // namespace pxl::lsp
