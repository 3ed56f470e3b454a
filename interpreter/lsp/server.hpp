// The language server. Each method of the protocol is one row of a table, and one function in the file of its feature.
// The row's type reads the message, so that a function receives typed parameters only.
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

/// A handler throws it if the response must wait for the document's analysis.
struct AfterAnalysis {
  PullParams params;
};

class Server {
 public:
  Server(int in, int out);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Serves until `exit` or the end of the input. Returns the exit status: 0 after `shutdown`, otherwise 1.
  int run();

  // ---- functions for handlers
  /// The document that a message names. Throws Refusal if it is not open.
  Document& document(const DocumentParams& params);
  /// The open document at a path, or null.
  const Document* open_document(const std::string& path) const;
  /// The open documents, by path.
  const std::map<std::string, std::unique_ptr<Document>>& documents() const { return documents_; }
  Encoding encoding() const { return encoding_; }
  /// The folders of the workspace; empty if the client named none.
  const std::vector<std::string>& roots() const { return roots_; }
  /// The session of the last analysis, or an empty session.
  Interpreter& interpreter_of(const Document& d);
  /// The open texts, for an analysis.
  std::shared_ptr<OpenTexts> open_texts() const;

  Json initialize(const InitializeParams& params);
  Json initialized(const NoParams& params);
  Json shutdown(const NoParams& params);
  Json opened(const OpenParams& params);
  Json changed(const ChangeParams& params);
  Json saved(const NoParams& params);
  Json closed(const DocumentParams& params);
  Json cancelled(const CancelParams& params);
  Json folders_changed(const FoldersParams& params);

 private:
  void handle(const Incoming& message);
  Json call(const std::string& method, const Json& params, bool is_request);
  void reply(const Json& id, const Json& result);
  void refuse(const Json& id, const Refusal& why);
  void notify(const std::string& method, const Json& params);
  /// Sends a request to the client. The server ignores the response.
  void demand(const std::string& method, const Json& params);
  /// Submits one changed document to the analysis thread: the one at path `first` if it changed, otherwise any.
  void start_analysis(const std::string& first = {});
  /// Notes that a file has a new text: analyses that looked for the file are repeated.
  void text_changed(const Document& d);
  /// Whether the analysis looked for a file that changed after change number `since`.
  bool is_outdated(const Analysis& analysis, int64_t since) const;
  /// Stores the result of the analysis in the document.
  void finish_analysis();
  /// Responds to the requests that wait for the diagnostics of a document, with the diagnostics or an error.
  void answer_waiting(const Document& d, const Refusal* why);
  /// Publishes the diagnostics of a document, and responds to the requests that wait for them.
  void settle(Document& d);

  /// A request for diagnostics that waits for the analysis of a document.
  struct Waiting {
    Json id;
    PullParams params;
  };

  Transport transport_;
  std::map<std::string, std::unique_ptr<Document>> documents_;
  Encoding encoding_ = Encoding::utf16;
  std::vector<std::string> roots_;
  InterpreterPtr empty_;
  std::vector<Waiting> waiting_;
  int64_t demands_ = 0;
  /// Counts the changes of open texts. `last_change_` has the number of each file's last change, by path with and
  /// without links.
  int64_t changes_ = 0;
  std::map<std::string, int64_t> last_change_;
  Capabilities client_;  ///< if the client pulls diagnostics, they are not published
  bool initialized_ = false, shut_down_ = false, exiting_ = false;
  Analyst analyst_;  ///< destroyed first
};

// ---- features, one file each
Json definition(Server&, const PositionParams&);  // navigation.cpp
Json references(Server&, const ReferenceParams&);
Json highlights(Server&, const PositionParams&);
Json prepare_rename(Server&, const PositionParams&);
Json rename(Server&, const RenameParams&);
Json document_symbols(Server&, const DocumentParams&);  // outline.cpp
Json workspace_symbols(Server&, const QueryParams&);
Json folding_ranges(Server&, const DocumentParams&);
Json hover(Server&, const PositionParams&);  // hover.cpp
Json signature_help(Server&, const PositionParams&);
Json completion(Server&, const PositionParams&);  // completion.cpp
Json formatting(Server&, const DocumentParams&);  // formatting.cpp
Json inlay_hints(Server&, const RangeParams&);    // hints.cpp
Json diagnostic(Server&, const PullParams&);      // diagnostics.cpp
Json code_actions(Server&, const ActionParams&);
/// Converts `found` to the protocol's diagnostics, at locations in this document.
Json diagnostic_items(const Document& d, const std::vector<Diagnostic>& found);
Json semantic_tokens(Server&, const DocumentParams&);  // tokens.cpp
Json semantic_legend();

}  // namespace pxl::lsp
