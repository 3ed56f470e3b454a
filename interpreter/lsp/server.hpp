// The language server: one method of the protocol is one row of a table, and one function in the file of its feature.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "interpreter/lsp/document.hpp"
#include "interpreter/lsp/transport.hpp"

namespace pxl::lsp {

/// Codes of JSON-RPC and of the protocol.
enum ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  not_initialized = -32002,
  request_cancelled = -32800,
  request_failed = -32803
};

/// Ends a request with an error.
struct Refusal {
  ErrorCode code;
  std::string message;
};

class Server {
 public:
  Server(int in, int out);
  /// Until `exit` or the end of the input. The exit status: 0 after `shutdown`, else 1.
  int run();

  // ---- what handlers use
  /// The document that `params.textDocument.uri` names. Throws Refusal where it is not open.
  Document& document(const Json& params);
  /// The byte offset of `params.position`.
  static size_t cursor(const Document& d, const Json& params) {
    return d.lines().offset(params.value("position", Json()));
  }
  std::map<std::string, std::unique_ptr<Document>>& documents() { return documents_; }
  Encoding encoding() const { return encoding_; }
  /// The folder of the workspace; empty where the client named none.
  const std::string& root() const { return root_; }
  /// The values that the last analysis left, or a session in which nothing was defined.
  Interpreter& interpreter_of(const Document& d);

  Json initialize(const Json& params);
  Json shutdown(const Json& params);
  Json opened(const Json& params);
  Json changed(const Json& params);
  Json saved(const Json& params);
  Json closed(const Json& params);

 private:
  void handle(const Incoming& message);
  Json call(const std::string& method, const Json& params, bool is_request);
  void reply(const Json& id, const Json& result);
  void refuse(const Json& id, int code, const std::string& message);
  void notify(const std::string& method, const Json& params);
  /// Analyses one document that changed, and publishes its diagnostics.
  void analyse_one();
  void publish(const Document& d, const std::vector<Diagnostic>& found);

  Transport transport_;
  std::map<std::string, std::unique_ptr<Document>> documents_;
  Encoding encoding_ = Encoding::utf16;
  std::string root_;
  std::unique_ptr<Interpreter> empty_;
  bool initialized_ = false, shut_down_ = false, exiting_ = false;
};

using Handler = Json (*)(Server&, const Json& params);

// ---- features, a file each
Json definition(Server&, const Json&);  // navigation.cpp
Json references(Server&, const Json&);
Json highlights(Server&, const Json&);
Json prepare_rename(Server&, const Json&);
Json rename(Server&, const Json&);
Json document_symbols(Server&, const Json&);  // outline.cpp
Json folding_ranges(Server&, const Json&);
Json hover(Server&, const Json&);  // hover.cpp
Json signature_help(Server&, const Json&);
Json completion(Server&, const Json&);       // completion.cpp
Json formatting(Server&, const Json&);       // formatting.cpp
Json inlay_hints(Server&, const Json&);      // hints.cpp
Json semantic_tokens(Server&, const Json&);  // tokens.cpp
Json semantic_legend();

}  // namespace pxl::lsp
