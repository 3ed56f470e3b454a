// The messages of a client as typed values. A message is read and checked completely before its handler begins. A
// handler therefore sees no JSON of the client, and a wrong message changes no state.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/lsp/uri.hpp"

namespace pxl::lsp {

using Json = nlohmann::json;

/// The error codes that JSON-RPC and the protocol define.
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

/// A position in the protocol: a line, and a character in the client's units. Both count from 0.
struct Place {
  size_t line = 0, character = 0;
};
struct PlaceRange {
  Place start, end;
};

// ---- parameters of methods. An optional member is missing, null, or of its type.

struct NoParams {};
struct Folder {
  DocumentUri uri;
};
/// The client's capabilities that the server uses.
struct Capabilities {
  bool bytes = false;  ///< whether positions are in UTF-8
  bool pulls_diagnostics = false;
  bool refreshes_diagnostics = false, refreshes_hints = false, watches_files = false;
};
struct InitializeParams {
  std::optional<int64_t> process;
  std::optional<DocumentUri> root;
  std::optional<std::vector<Folder>> folders;
  std::optional<Capabilities> capabilities;
};
struct FoldersParams {
  struct Event {
    std::optional<std::vector<Folder>> added, removed;
  } event;
};
struct DocumentParams {
  DocumentUri uri;
};
struct OpenParams : DocumentParams {
  std::string text;
  std::optional<int64_t> version;
};
/// A range and its new text, or a whole text.
struct TextChange {
  std::optional<PlaceRange> range;
  std::string text;
};
struct ChangeParams : DocumentParams {
  std::optional<int64_t> version;
  std::vector<TextChange> changes;
};
struct PositionParams : DocumentParams {
  Place position;
};
struct ReferenceParams : PositionParams {
  std::optional<bool> with_declaration;
};
struct RenameParams : PositionParams {
  std::string name;
};
struct RangeParams : DocumentParams {
  std::optional<PlaceRange> range;
};
struct PullParams : DocumentParams {
  std::optional<std::string> previous;  ///< id of the last result that the client has
};
struct ActionParams : DocumentParams {
  struct Problem {
    PlaceRange range;
    std::string code;  ///< empty if it is not a text
    std::string message;
    Json whole;  ///< the diagnostic, which the response repeats
  };
  std::vector<Problem> problems;
};
struct CancelParams {
  Json id;  ///< a string or an integer
};
struct QueryParams {
  std::optional<std::string> query;
};

/// A value in a message and its name, for errors: "textDocument.version: expected an integer, got a string".
class Reader {
 public:
  Reader(const Json& value, std::string name) : value_(&value), name_(std::move(name)) {}
  /// A member of an object; null if it is missing.
  Reader operator[](const char* member) const;
  const Json& value() const { return *value_; }
  /// Throws Refusal.
  [[noreturn]] void expected(const char* what) const;
  std::vector<Reader> elements() const;

 private:
  const Json* value_;
  std::string name_;
};

void read(const Reader& in, NoParams& out);
void read(const Reader& in, InitializeParams& out);
void read(const Reader& in, FoldersParams& out);
void read(const Reader& in, DocumentParams& out);
void read(const Reader& in, OpenParams& out);
void read(const Reader& in, ChangeParams& out);
void read(const Reader& in, PositionParams& out);
void read(const Reader& in, ReferenceParams& out);
void read(const Reader& in, RenameParams& out);
void read(const Reader& in, RangeParams& out);
void read(const Reader& in, PullParams& out);
void read(const Reader& in, ActionParams& out);
void read(const Reader& in, CancelParams& out);
void read(const Reader& in, QueryParams& out);

/// The parameters of a method. Throws Refusal.
template <class P>
P read_params(const Json& params) {
  P out;
  read(Reader(params, "params"), out);
  return out;
}

/// `object.id` if it is a valid request id: a text or an integer. Other values are never stored or sent back.
std::optional<Json> request_id(const Json& object);

}  // namespace pxl::lsp
