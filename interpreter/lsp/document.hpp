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
#include "interpreter/tools/symbols/symbols.hpp"

namespace pxl::lsp {

/// A parsed text with its symbols. It never changes; pointers into it are valid as long as it lives.
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

  /// Applies the changes in order, each to the text that the previous one leaves.
  void change(const std::vector<TextChange>& changes);

  const std::string& uri() const { return name_.text; }
  /// The file's path; the decoded URI for other schemes. the decoded URI for other schemes. It identifies the document.
  const std::string& path() const { return name_.path; }
  /// The path with links resolved.
  const std::string& real_path() const { return real_path_; }
  std::string_view text() const { return parsed_->source->text(); }
  const Lines& lines() const { return parsed_->lines; }

  /// The parse of the current text.
  const Parsed& parsed() const { return *parsed_; }
  /// The parse of the last text that had no syntax errors; null if no text had none.
  const Parsed* sound() const { return sound_ ? sound_.get() : nullptr; }
  /// Whether `sound()` belongs to the current text, so that its locations are valid.
  bool is_sound() const { return sound_ == parsed_; }

  int64_t version = 0;
  int64_t revision = 0;                ///< incremented by each change of the text
  bool dirty = true;                   ///< changed since the last submission for analysis
  bool settled = false;                ///< whether its diagnostics belong to the current text
  std::unique_ptr<Analysis> analysis;  ///< analysis of the last text that parsed and was analysed completely
  Json diagnostics = Json::array();  ///< diagnostics of the last completely analysed text; `analyses` counts such texts
  int64_t analyses = 0;

 private:
  void parse(std::string text);
  DocumentUri name_;
  std::string real_path_;
  Encoding encoding_;
  std::shared_ptr<const Parsed> parsed_, sound_;
};

}  // namespace pxl::lsp
