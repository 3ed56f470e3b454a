// Document IR of the formatter: texts, possible line breaks, and brackets. The printer chooses the breaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pxl::syntax {

constexpr int never_flat = 1 << 28;  ///< flat width of a document with a comment, or with one item per line

using DocId = uint32_t;

struct Doc {
  enum Kind : uint8_t { text, trailing_comment, own_comment, concat, chain, bracket } kind = text;
  /// When a chain breaks. `fill`: before each item that does not fit. `all`: before all items if the chain does not
  /// fit. `late`: only before items whose beginning does not fit.
  enum Breaks : uint8_t { fill, all, late } breaks = fill;
  std::string_view content;  ///< for a text or comment
  std::vector<DocId> items;  ///< for a concat or chain; for a bracket: opening, items, closing
  std::vector<bool> spaced;  ///< for a chain: whether item i is preceded by a space on the same line
  bool exploded = false;     ///< for a bracket: one item per line, even if all fit
  int flat = 0;              ///< width on one line
  int lead = 0;              ///< width up to the first possible break
  bool may_break = false;
};

class Documents {
 public:
  DocId text(std::string_view content);
  DocId comment(std::string_view content, bool own_line);
  DocId concat(std::vector<DocId> items);
  DocId chain(std::vector<DocId> items, std::vector<bool> spaced, Doc::Breaks breaks);
  /// Layout of a bracket's items: filled and aligned; one per line and aligned; or one per line and indented.
  enum Rows : uint8_t { filled, aligned, exploded };
  DocId bracket(DocId open, std::vector<DocId> items, std::vector<bool> spaced, DocId close, Rows rows);
  const Doc& operator[](DocId id) const { return docs_[id]; }

 private:
  DocId add(Doc doc);
  std::vector<Doc> docs_;
};

/// Output lines. Trailing comments are stored separately until finish() aligns them.
class LineWriter {
 public:
  explicit LineWriter(const Documents& docs) : docs_(docs) {}

  /// Starts a line with indentation.
  void line(int indent);
  /// Adds an empty line, unless it would be the first line or follow an empty line.
  void blank();
  void write(std::string_view text);
  /// Separates the next text from the token before it, if that token is on the same line.
  void space();
  void comment(std::string_view text, bool own_line, int indent);
  /// Prints a document at the current column. Indents its further lines by `indent`. Leaves room for `tail` more
  /// columns on its last line.
  void print(DocId id, int indent, int tail);
  int column() const { return column_; }
  size_t line_count() const { return lines_.size(); }
  bool after_comment() const { return after_comment_; }
  std::string finish();

 private:
  struct Line {
    int indent = 0;
    std::string code;
    std::string comment;
  };
  void print_flat(DocId id);
  void print_concat(const Doc& d, int indent, int tail);
  void print_chain(const Doc& d, int indent, int tail);
  void print_bracket(const Doc& d, int indent, int tail);

  const Documents& docs_;
  std::vector<Line> lines_;
  int column_ = 0;
  bool fresh_ = false;          ///< the current line is empty
  bool after_comment_ = false;  ///< the line ends with a comment
};

}  // namespace pxl::syntax
