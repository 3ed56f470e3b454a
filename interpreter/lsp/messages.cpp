#include "interpreter/lsp/messages.hpp"

#include <cmath>

#include "runtime/base/never_destroyed.hpp"

namespace pxl::lsp {

namespace {

constexpr int64_t max_unsigned = INT32_MAX;  // the protocol's uinteger

void read(const Reader& in, bool& out) {
  if (!in.value().is_boolean()) in.expected("a boolean");
  out = in.value().get<bool>();
}

/// Also accepts 3.0, since some clients have floating-point numbers only.
void read(const Reader& in, int64_t& out) {
  constexpr double limit = 9007199254740992;  // 2^53: every whole number below is exact in a double
  const Json& v = in.value();
  if (v.is_number_float()) {
    const double number = v.get<double>();
    if (!(std::abs(number) < limit) || number != std::floor(number)) in.expected("an integer");
    out = static_cast<int64_t>(number);
    return;
  }
  if (!v.is_number_integer() || (v.is_number_unsigned() && v.get<uint64_t>() > INT64_MAX)) in.expected("an integer");
  out = v.get<int64_t>();
}

void read(const Reader& in, size_t& out) {
  int64_t number = 0;
  read(in, number);
  if (number < 0) in.expected("a number of 0 or more");
  out = static_cast<size_t>(std::min(number, max_unsigned));
}

void read(const Reader& in, std::string& out) {
  if (!in.value().is_string()) in.expected("a string");
  out = in.value().get<std::string>();
}

void read(const Reader& in, DocumentUri& out) {
  std::string text;
  read(in, text);
  out = DocumentUri::of_text(std::move(text));
}

void read(const Reader& in, Place& out) {
  read(in["line"], out.line);
  read(in["character"], out.character);
}

void read(const Reader& in, PlaceRange& out) {
  read(in["start"], out.start);
  read(in["end"], out.end);
}

void read(const Reader& in, Folder& out);
void read(const Reader& in, TextChange& out);
void read(const Reader& in, Capabilities& out);
void read(const Reader& in, FoldersParams::Event& out);
void read(const Reader& in, ActionParams::Problem& out);

template <class T>
void read(const Reader& in, std::vector<T>& out) {
  for (const Reader& element : in.elements()) read(element, out.emplace_back());
}

template <class T>
void read(const Reader& in, std::optional<T>& out) {
  if (!in.value().is_null()) read(in, out.emplace());
}

void read(const Reader& in, Folder& out) { read(in["uri"], out.uri); }

void read(const Reader& in, TextChange& out) {
  read(in["range"], out.range);
  read(in["text"], out.text);
}

/// Follows members that lead to a value, each of which may be missing: "workspace", "inlayHint", "refreshSupport".
std::optional<Reader> find(Reader in, std::initializer_list<const char*> members) {
  for (const char* member : members) {
    if (in.value().is_null()) return std::nullopt;
    in = in[member];
  }
  return in.value().is_null() ? std::nullopt : std::optional(in);
}

void read(const Reader& in, Capabilities& out) {
  const auto flag = [&](std::initializer_list<const char*> members, bool& to) {
    if (const auto found = find(in, members)) read(*found, to);
  };
  std::vector<std::string> encodings;
  if (const auto found = find(in, {"general", "positionEncodings"})) read(*found, encodings);
  for (const std::string& encoding : encodings) out.bytes = out.bytes || encoding == "utf-8";
  out.pulls_diagnostics = find(in, {"textDocument", "diagnostic"}).has_value();
  flag({"workspace", "diagnostics", "refreshSupport"}, out.refreshes_diagnostics);
  flag({"workspace", "inlayHint", "refreshSupport"}, out.refreshes_hints);
  flag({"workspace", "didChangeWatchedFiles", "dynamicRegistration"}, out.watches_files);
}

void read(const Reader& in, FoldersParams::Event& out) {
  read(in["added"], out.added);
  read(in["removed"], out.removed);
}

void read(const Reader& in, ActionParams::Problem& out) {
  read(in["range"], out.range);
  if (const Json& code = in["code"].value(); code.is_string()) out.code = code.get<std::string>();
  read(in["message"], out.message);
  out.whole = in.value();
}

const char* kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "nothing";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "an array";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "a boolean";
    default: return "another number";
  }
}

}  // namespace

Reader Reader::operator[](const char* member) const {
  static const auto& missing = never_destroyed(Json());
  if (!value_->is_object()) expected("an object");
  const auto found = value_->find(member);
  return {found == value_->end() ? missing : *found, name_ + "." + member};
}

void Reader::expected(const char* what) const {
  throw Refusal{invalid_params, name_ + ": expected " + what + ", got " + kind_of(*value_)};
}

std::vector<Reader> Reader::elements() const {
  if (!value_->is_array()) expected("an array");
  std::vector<Reader> out;
  for (size_t i = 0; i < value_->size(); ++i) out.emplace_back((*value_)[i], name_ + "[" + std::to_string(i) + "]");
  return out;
}

void read(const Reader&, NoParams&) {}

void read(const Reader& in, InitializeParams& out) {
  read(in["processId"], out.process);
  read(in["rootUri"], out.root);
  read(in["workspaceFolders"], out.folders);
  read(in["capabilities"], out.capabilities);
}
void read(const Reader& in, FoldersParams& out) { read(in["event"], out.event); }
void read(const Reader& in, DocumentParams& out) { read(in["textDocument"]["uri"], out.uri); }
void read(const Reader& in, OpenParams& out) {
  const Reader document = in["textDocument"];
  read(document["uri"], out.uri);
  read(document["text"], out.text);
  read(document["version"], out.version);
}
void read(const Reader& in, ChangeParams& out) {
  const Reader document = in["textDocument"];
  read(document["uri"], out.uri);
  read(document["version"], out.version);
  read(in["contentChanges"], out.changes);
}
void read(const Reader& in, PositionParams& out) {
  read(in, static_cast<DocumentParams&>(out));
  read(in["position"], out.position);
}
void read(const Reader& in, ReferenceParams& out) {
  read(in, static_cast<PositionParams&>(out));
  if (const auto found = find(in, {"context", "includeDeclaration"})) read(*found, out.with_declaration);
}
void read(const Reader& in, RenameParams& out) {
  read(in, static_cast<PositionParams&>(out));
  read(in["newName"], out.name);
}
void read(const Reader& in, RangeParams& out) {
  read(in, static_cast<DocumentParams&>(out));
  read(in["range"], out.range);
}
void read(const Reader& in, PullParams& out) {
  read(in, static_cast<DocumentParams&>(out));
  read(in["previousResultId"], out.previous);
}
void read(const Reader& in, ActionParams& out) {
  read(in, static_cast<DocumentParams&>(out));
  read(in["context"]["diagnostics"], out.problems);
}
void read(const Reader& in, CancelParams& out) {
  const Reader id = in["id"];
  if (!request_id(in.value())) id.expected("a string or an integer");
  out.id = id.value();
}
void read(const Reader& in, QueryParams& out) { read(in["query"], out.query); }

std::optional<Json> request_id(const Json& object) {
  const auto id = object.is_object() ? object.find("id") : object.end();
  if (id == object.end() || !(id->is_string() || id->is_number_integer())) return std::nullopt;
  return *id;
}

}  // namespace pxl::lsp
