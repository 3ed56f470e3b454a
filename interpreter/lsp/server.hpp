// The language server: each method of the protocol is one row of a table, and one function in the file of its feature.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/lsp/analyst.hpp"
#include "interpreter/lsp/document.hpp"
#include "interpreter/lsp/transport.hpp"
#include "interpreter/tools/make_interpreter.hpp"

namespace pxl::lsp {

/// Error codes of JSON-RPC and of the protocol.
enum ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  not_initialized = -32002,
  request_cancelled = -32800,
  server_cancelled = -32802,
  request_failed = -32803
};

/// Ends a request with an error response.
struct Refusal {
  ErrorCode code;
  std::string message;
  Json data = nullptr;
};

/// Thrown by a handler whose response has to wait for the analysis of the document in its params.
struct AfterAnalysis {};

class Server {
 public:
  Server(int in, int out);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Serves until `exit` or the end of the input. Returns the exit status: 0 after `shutdown`, else 1.
  int run();

  // ---- what handlers use
  /// The document of `params.textDocument.uri`. Throws Refusal if it is not open.
  Document& document(const Json& params);
  /// The byte offset of `params.position`.
  static size_t cursor(const Document& d, const Json& params) {
    return d.lines().offset(params.value("position", Json()));
  }
  std::map<std::string, std::unique_ptr<Document>>& documents() { return documents_; }
  Encoding encoding() const { return encoding_; }
  /// The folders of the workspace; empty if the client named none.
  const std::vector<std::string>& roots() const { return roots_; }
  /// The session of the last analysis, or an empty session.
  Interpreter& interpreter_of(const Document& d);

  Json initialize(const Json& params);
  Json initialized(const Json& params);
  Json shutdown(const Json& params);
  Json opened(const Json& params);
  Json changed(const Json& params);
  Json saved(const Json& params);
  Json closed(const Json& params);
  Json cancelled(const Json& params);
  Json folders_changed(const Json& params);

 private:
  void handle(const Incoming& message);
  Json call(const std::string& method, const Json& params, bool is_request);
  void reply(const Json& id, const Json& result);
  void refuse(const Json& id, const Refusal& why);
  void notify(const std::string& method, const Json& params);
  /// Sends a request to the client; its response is ignored.
  void demand(const std::string& method, const Json& params);
  /// Submits one changed document to the analysis thread: `first` if it changed, else any.
  void start_analysis(const std::string& first = {});
  /// Stores the result of the analysis in the document.
  void finish_analysis();
  /// Responds to the requests that wait for the diagnostics of a document, with the diagnostics or an error.
  void answer_waiting(const std::string& uri, const Refusal* why);
  /// Publishes the diagnostics of a document, and responds to the requests that wait for them.
  void settle(Document& d);

  /// A request for diagnostics that waits for the analysis of a document.
  struct Waiting {
    Json id, params;
    std::string uri;
  };

  Transport transport_;
  std::map<std::string, std::unique_ptr<Document>> documents_;
  Encoding encoding_ = Encoding::utf16;
  std::vector<std::string> roots_;
  InterpreterPtr empty_;
  std::vector<Waiting> waiting_;
  int64_t demands_ = 0;
  /// Capabilities of the client.
  bool pulls_ = false;  ///< pulls diagnostics, so none are published
  bool refreshes_diagnostics_ = false, refreshes_hints_ = false, watches_files_ = false;
  bool initialized_ = false, shut_down_ = false, exiting_ = false;
  Analyst analyst_;  ///< destroyed first
};

using Handler = Json (*)(Server&, const Json& params);

// ---- features, one file each
Json definition(Server&, const Json&);  // navigation.cpp
Json references(Server&, const Json&);
Json highlights(Server&, const Json&);
Json prepare_rename(Server&, const Json&);
Json rename(Server&, const Json&);
Json document_symbols(Server&, const Json&);  // outline.cpp
Json workspace_symbols(Server&, const Json&);
Json folding_ranges(Server&, const Json&);
Json hover(Server&, const Json&);  // hover.cpp
Json signature_help(Server&, const Json&);
Json completion(Server&, const Json&);   // completion.cpp
Json formatting(Server&, const Json&);   // formatting.cpp
Json inlay_hints(Server&, const Json&);  // hints.cpp
Json diagnostic(Server&, const Json&);   // diagnostics.cpp
Json code_actions(Server&, const Json&);
/// `found` as the protocol's diagnostics, at locations in this document.
Json diagnostic_items(const Document& d, const std::vector<Diagnostic>& found);
Json semantic_tokens(Server&, const Json&);  // tokens.cpp
Json semantic_legend();

}  // namespace pxl::lsp
