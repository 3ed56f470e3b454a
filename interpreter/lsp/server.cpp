#include "interpreter/lsp/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/unevaluated.hpp"

namespace pxl::lsp {

namespace {

// State that the reading thread and the others share: the cancelled requests, and whether a text under analysis
// changed.
struct Ahead {
  std::mutex mutex;
  std::set<std::string> cancelled;
  std::string answering;  ///< id of the current request
  Analyst* analyst = nullptr;
};
Ahead& ahead() {
  static Ahead& own = *new Ahead;  // never destroyed: the reading thread outlives main
  return own;
}

void glance(Transport& transport, const Json& message) {
  const auto method = message.find("method");
  if (method == message.end() || !method->is_string()) return;
  if (*method == "initialize") {
    try {
      if (const auto process = read_params<InitializeParams>(message.value("params", Json())).process)
        transport.end_with(*process);
    } catch (const Refusal&) {
      // The handler refuses the request.
    }
  } else if (*method == "$/cancelRequest") {
    const auto params = message.find("params");
    const auto request = params == message.end() ? std::nullopt : request_id(*params);
    if (!request) return;
    const std::string id = request->dump();
    const std::lock_guard lock(ahead().mutex);
    if (id == ahead().answering) return request_interrupt();
    // Bounds the memory for cancelled requests that are unknown.
    if (ahead().cancelled.size() < 4096) ahead().cancelled.insert(id);
  } else if (*method == "textDocument/didChange" || *method == "exit" || *method == "shutdown") {
    const std::lock_guard lock(ahead().mutex);
    if (ahead().analyst) ahead().analyst->cancel();
    if (*method == "exit" && !ahead().answering.empty()) request_interrupt();
  }
}

// False if a request was cancelled before it started. Otherwise an interrupt may reach it until `Work` ends.
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

std::string folder_of(const DocumentUri& uri) {
  std::string path = uri.path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// Reads the parameters for a handler (a function or a member of Server), and calls it.
template <auto Handler>
struct Typed;
template <class P, Json (*Handler)(Server&, const P&)>
struct Typed<Handler> {
  static Json call(Server& server, const Json& params) { return Handler(server, read_params<P>(params)); }
};
template <class P, Json (Server::*Handler)(const P&)>
struct Typed<Handler> {
  static Json call(Server& server, const Json& params) { return (server.*Handler)(read_params<P>(params)); }
};
Json nothing(Server&, const NoParams&) { return nullptr; }

struct Method {
  std::string_view name;
  Json (*call)(Server&, const Json& params);
};
template <auto Handler>
constexpr Method row(std::string_view name) {
  return {name, Typed<Handler>::call};
}

constexpr Method methods[] = {
    row<&Server::initialize>("initialize"),
    row<&Server::initialized>("initialized"),
    row<&Server::shutdown>("shutdown"),
    row<&Server::opened>("textDocument/didOpen"),
    row<&Server::changed>("textDocument/didChange"),
    row<&Server::saved>("textDocument/didSave"),
    row<&Server::closed>("textDocument/didClose"),
    row<&Server::saved>("workspace/didChangeWatchedFiles"),
    row<&Server::folders_changed>("workspace/didChangeWorkspaceFolders"),
    row<&nothing>("workspace/didChangeConfiguration"),
    row<&nothing>("$/setTrace"),
    row<&Server::cancelled>("$/cancelRequest"),
    row<&diagnostic>("textDocument/diagnostic"),
    row<&code_actions>("textDocument/codeAction"),
    row<&definition>("textDocument/declaration"),
    row<&definition>("textDocument/definition"),
    row<&references>("textDocument/references"),
    row<&highlights>("textDocument/documentHighlight"),
    row<&prepare_rename>("textDocument/prepareRename"),
    row<&rename>("textDocument/rename"),
    row<&document_symbols>("textDocument/documentSymbol"),
    row<&folding_ranges>("textDocument/foldingRange"),
    row<&workspace_symbols>("workspace/symbol"),
    row<&hover>("textDocument/hover"),
    row<&signature_help>("textDocument/signatureHelp"),
    row<&completion>("textDocument/completion"),
    row<&formatting>("textDocument/formatting"),
    row<&inlay_hints>("textDocument/inlayHint"),
    row<&semantic_tokens>("textDocument/semanticTokens/full"),
};

}  // namespace

Server::Server(int in, int out)
    : transport_(in, out, [this](const Json& message) { glance(transport_, message); }),
      analyst_([this] { transport_.wake(); }) {
  const std::lock_guard lock(ahead().mutex);
  ahead().analyst = &analyst_;
}

Server::~Server() {
  const std::lock_guard lock(ahead().mutex);
  ahead().analyst = nullptr;
}

int Server::run() {
  constexpr int quiet_milliseconds = 120;  // the length of a pause in typing
  while (!exiting_) {
    finish_analysis();
    bool waiting = false;
    if (!analyst_.busy()) {
      if (!waiting_.empty()) start_analysis(waiting_.front().params.uri.path);
      for (const auto& [path, d] : documents_) waiting = waiting || d->dirty;
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
  // The analysis thread polls often. If it does not, the process ends anyway.
  constexpr int patience_milliseconds = 500;
  if (!analyst_.stop(patience_milliseconds)) std::_Exit(status);
  return status;
}

void Server::handle(const Incoming& message) {
  if (!message.broken.empty()) return refuse(nullptr, {parse_error, message.broken});
  const Json& body = message.body;
  const bool is_request = body.contains("id");
  const Json id = request_id(body).value_or(Json());
  const auto method = body.find("method");
  if (method == body.end() || !method->is_string()) {
    // This is the client's response to a request by the server. It is ignored.
    if (!body.contains("result") && !body.contains("error")) refuse(id, {invalid_request, "the message has no method"});
    return;
  }
  if (is_request && id.is_null()) return refuse(id, {invalid_request, "id: expected a string or an integer"});
  if (*method == "exit") {
    exiting_ = true;
    return;
  }
  // Bounds the work for a request, since it may show values. Text changes are read without a bound.
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
  } catch (const AfterAnalysis& after) {
    if (is_request) waiting_.push_back({id, after.params});
  } catch (const OverBudget&) {
    if (is_request) reply(id, nullptr);  // the result would be too large to be shown
  } catch (const Unevaluated&) {
    if (is_request) reply(id, nullptr);
  } catch (const Interrupted&) {
    no = Refusal{request_cancelled, "cancelled"};
  } catch (const Error& error) {
    no = Refusal{request_failed, error.first().message};
  } catch (const std::exception& error) {
    no = Refusal{internal_error, error.what()};
  }
  if (no && is_request) return refuse(id, *no);
  // A notification has no response, so its error goes to the editor's log.
  if (no && (no->code == invalid_params || no->code == internal_error))
    notify("window/logMessage", {{"type", 1}, {"message", method->get<std::string>() + ": " + no->message}});
}

Json Server::call(const std::string& method, const Json& params, bool is_request) {
  if (!initialized_ && method != "initialize") {
    if (!is_request) return nullptr;
    throw Refusal{not_initialized, "initialize must be the first request"};
  }
  if (shut_down_) throw Refusal{invalid_request, "the server was shut down"};
  if (!params.is_object() && !params.is_null()) throw Refusal{invalid_params, "params must be an object"};
  for (const Method& m : methods)
    if (m.name == method) return m.call(*this, params.is_null() ? Json::object() : params);
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

Document& Server::document(const DocumentParams& params) {
  const auto it = documents_.find(params.uri.path);
  if (it == documents_.end()) throw Refusal{invalid_params, "not open: " + params.uri.text};
  return *it->second;
}

const Document* Server::open_document(const std::string& path) const {
  const auto it = documents_.find(path);
  return it == documents_.end() ? nullptr : it->second.get();
}

Interpreter& Server::interpreter_of(const Document& d) {
  if (d.analysis && d.analysis->interpreter) return *d.analysis->interpreter;
  if (!empty_) empty_ = make_interpreter(InterpreterOptions{});
  return *empty_;
}

Json Server::initialize(const InitializeParams& params) {
  if (initialized_) throw Refusal{invalid_request, "initialize was already called"};
  initialized_ = true;
  client_ = params.capabilities.value_or(Capabilities{});
  if (client_.bytes) encoding_ = Encoding::utf8;
  if (params.folders)
    for (const Folder& folder : *params.folders) roots_.push_back(folder_of(folder.uri));
  else if (params.root)
    roots_.push_back(folder_of(*params.root));
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
  // A client that pulls diagnostics would show them twice if the server also published them.
  if (client_.pulls_diagnostics)
    offered["diagnosticProvider"] = {{"interFileDependencies", true}, {"workspaceDiagnostics", false}};
  return {{"serverInfo", {{"name", "pxl"}, {"version", PXL_VERSION}}}, {"capabilities", std::move(offered)}};
}

Json Server::initialized(const NoParams&) {
  // Files may change outside the editor. The files that import them are then analysed again.
  if (client_.watches_files)
    demand("client/registerCapability", {{"registrations",
                                          {{{"id", "files"},
                                            {"method", "workspace/didChangeWatchedFiles"},
                                            {"registerOptions", {{"watchers", {{{"globPattern", "**/*.pxl"}}}}}}}}}});
  return nullptr;
}

Json Server::folders_changed(const FoldersParams& params) {
  for (const Folder& folder : params.event.removed.value_or(std::vector<Folder>()))
    std::erase(roots_, folder_of(folder.uri));
  for (const Folder& folder : params.event.added.value_or(std::vector<Folder>()))
    roots_.push_back(folder_of(folder.uri));
  return nullptr;
}

Json Server::shutdown(const NoParams&) {
  shut_down_ = true;
  return nullptr;
}

Json Server::cancelled(const CancelParams& params) {
  const auto waits = [&](const Waiting& w) { return w.id == params.id; };
  if (std::none_of(waiting_.begin(), waiting_.end(), waits)) return nullptr;
  std::erase_if(waiting_, waits);
  refuse(params.id, {request_cancelled, "cancelled"});
  const std::lock_guard lock(ahead().mutex);
  ahead().cancelled.erase(params.id.dump());
  return nullptr;
}

}  // namespace pxl::lsp
