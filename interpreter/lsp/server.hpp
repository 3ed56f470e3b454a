// The language server: each method of the protocol is one row of a table, and one function in the file of its feature.
// The row's type reads the message, so that a function gets typed parameters only.
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

/// Thrown by a handler whose response has to wait for the analysis of the document.
struct AfterAnalysis {
  PullParams params;
};

class Server {
 public:
  Server(int in, int out);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Serves until `exit` or the end of the input. Returns the exit status: 0 after `shutdown`, else 1.
  int run();

  // ---- what handlers use
  /// The document that a message is about. Throws Refusal if it is not open.
  Document& document(const DocumentParams& params);
  /// The open document of a path, or null.
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
  /// Sends a request to the client; its response is ignored.
  void demand(const std::string& method, const Json& params);
  /// Submits one changed document to the analysis thread: that of the path `first` if it changed, else any.
  void start_analysis(const std::string& first = {});
  /// Notes that a file has another text from now on: analyses that have looked for it are repeated.
  void text_changed(const Document& d);
  /// Whether a file that the analysis has looked for has changed after the change of this number.
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
  /// The number of changes of open texts, and the number of each file's last one, by path with and without links.
  int64_t changes_ = 0;
  std::map<std::string, int64_t> last_change_;
  Capabilities client_;  ///< diagnostics that the client pulls are not published
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
/// `found` as the protocol's diagnostics, at locations in this document.
Json diagnostic_items(const Document& d, const std::vector<Diagnostic>& found);
Json semantic_tokens(Server&, const DocumentParams&);  // tokens.cpp
Json semantic_legend();

}  // namespace pxl::lsp
