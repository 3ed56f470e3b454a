// An open document and its analysis.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/lsp/position.hpp"
#include "interpreter/syntax/classify.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/analysis.hpp"
#include "interpreter/tools/symbols.hpp"

namespace pxl::lsp {

/// A text that parsed, with its symbols. Owns its source; pointers into it are valid as long as it lives.
struct Parsed {
  std::unique_ptr<SourceFile> source;
  ParseResult result;
  std::optional<SymbolTable> symbols;  ///< null if there are errors
};

class Document {
 public:
  Document(std::string uri, std::string text, int64_t version, Encoding encoding);

  /// One element of `contentChanges`: a range and its text, or a whole text.
  void change(const Json& change);
  void parse();

  const std::string& uri() const { return uri_; }
  /// Path of the file; the URI for other schemes.
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  const Lines& lines() const { return *lines_; }

  /// Of the current text.
  const Parsed& parsed() const { return *parsed_; }
  /// Of the last text that parsed; null if none has.
  const Parsed* sound() const { return sound_ ? sound_.get() : nullptr; }
  /// True if `sound()` is of the current text, so that its locations are valid.
  bool is_sound() const { return sound_ == parsed_; }

  int64_t version = 0;
  int64_t revision = 0;                ///< incremented by each change of the text
  bool dirty = true;                   ///< not submitted for analysis since the last change
  bool settled = false;                ///< its diagnostics are those of the current text
  std::unique_ptr<Analysis> analysis;  ///< of the last text that parsed and was analysed completely
  Json diagnostics = Json::array();    ///< of the last text that was analysed completely, and their number
  int64_t analyses = 0;

 private:
  std::string uri_, path_, text_;
  Encoding encoding_;
  std::unique_ptr<Lines> lines_;
  std::shared_ptr<Parsed> parsed_, sound_;
};

}  // namespace pxl::lsp
