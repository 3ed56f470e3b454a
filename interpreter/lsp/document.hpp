// An open text and what is known of it.
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

/// A text that parsed, with its names. It owns its source: what points into it lives no longer.
struct Parsed {
  std::unique_ptr<SourceFile> source;
  ParseResult result;
  std::optional<SymbolTable> symbols;  ///< nothing where there are errors
};

class Document {
 public:
  Document(std::string uri, std::string text, int64_t version, Encoding encoding);

  /// One element of `contentChanges`: a range and its text, or a whole text.
  void change(const Json& change);
  void parse();

  const std::string& uri() const { return uri_; }
  /// Of the file; the URI where it is none.
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  const Lines& lines() const { return *lines_; }

  /// Of the text as it is now.
  const Parsed& parsed() const { return *parsed_; }
  /// Of the last text that parsed; null if none has.
  const Parsed* sound() const { return sound_ ? sound_.get() : nullptr; }
  /// True if `sound()` is of the text as it is now: places in it are places in the text.
  bool is_sound() const { return sound_ == parsed_; }

  int64_t version = 0;
  int64_t revision = 0;                ///< grows with each change of the text
  bool dirty = true;                   ///< not handed out for analysis since the last change
  bool settled = false;                ///< its diagnostics are those of the text as it is now
  std::unique_ptr<Analysis> analysis;  ///< of the last text that parsed and was analysed to its end
  Json diagnostics = Json::array();    ///< of the last text that was analysed to its end, and how many were
  int64_t analyses = 0;

 private:
  std::string uri_, path_, text_;
  Encoding encoding_;
  std::unique_ptr<Lines> lines_;
  std::shared_ptr<Parsed> parsed_, sound_;
};

}  // namespace pxl::lsp
