// An open document and its analysis.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/lsp/position.hpp"
#include "interpreter/syntax/classify.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/analysis.hpp"
#include "interpreter/tools/symbols.hpp"

namespace pxl::lsp {

/// A text that was parsed, with its symbols. It never changes; pointers into it are valid as long as it lives.
struct Parsed {
  Parsed(const std::string& path, std::string text, Encoding encoding);
  std::shared_ptr<const SourceFile> source;
  Lines lines;
  ParseResult result;
  std::optional<SymbolTable> symbols;  ///< null if there are errors
};

class Document {
 public:
  Document(DocumentUri name, std::string text, int64_t version, Encoding encoding);

  /// Applies changes, each to the text after the one before.
  void change(const std::vector<TextChange>& changes);

  const std::string& uri() const { return name_.text; }
  /// Path of the file; the decoded URI for other schemes. It identifies the document.
  const std::string& path() const { return name_.path; }
  /// The path without links.
  const std::string& real_path() const { return real_path_; }
  std::string_view text() const { return parsed_->source->text(); }
  const Lines& lines() const { return parsed_->lines; }

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
  void parse(std::string text);
  DocumentUri name_;
  std::string real_path_;
  Encoding encoding_;
  std::shared_ptr<const Parsed> parsed_, sound_;
};

}  // namespace pxl::lsp
