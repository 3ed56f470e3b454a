// A statement as a document: texts, places where a line may break, and brackets. The printer chooses the breaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pxl::syntax {

constexpr int never_flat = 1 << 28;  ///< the flat width of what holds a comment or is written one item a line

using DocId = uint32_t;

struct Doc {
  enum Kind : uint8_t { text, trailing_comment, own_comment, concat, chain, bracket } kind = text;
  /// How a chain breaks: where the next item does not fit; everywhere once it does not fit as a whole; or only where
  /// not even the beginning of the next item fits.
  enum Breaks : uint8_t { fill, all, late } breaks = fill;
  std::string_view content;  ///< of a text or comment
  std::vector<DocId> items;  ///< of a concat or chain; of a bracket: opening, items, closing
  std::vector<bool> spaced;  ///< of a chain: whether item i has a space before it when it stays on the line
  int nest = 0;              ///< of a chain: columns that broken lines are indented by
  bool exploded = false;     ///< of a bracket: one item a line, whatever fits
  int flat = 0;              ///< width on one line
  int lead = 0;              ///< width up to the first place that may break
  bool may_break = false;
};

class Documents {
 public:
  DocId text(std::string_view content);
  DocId comment(std::string_view content, bool own_line);
  DocId concat(std::vector<DocId> items);
  DocId chain(std::vector<DocId> items, std::vector<bool> spaced, Doc::Breaks breaks, int nest);
  /// How a bracket's items stand: where they fit, aligned; one a line, aligned; or one a line, indented.
  enum Rows : uint8_t { filled, aligned, exploded };
  DocId bracket(DocId open, std::vector<DocId> items, std::vector<bool> spaced, DocId close, Rows rows);
  const Doc& operator[](DocId id) const { return docs_[id]; }

 private:
  DocId add(Doc doc);
  std::vector<Doc> docs_;
};

/// Lines of output; trailing comments are kept apart until finish() lines them up.
class LineWriter {
 public:
  explicit LineWriter(const Documents& docs) : docs_(docs) {}

  /// Starts a line; what is written next is indented.
  void line(int indent);
  /// An empty line, unless it would be the first or the second in a row.
  void blank();
  void write(std::string_view text);
  void comment(std::string_view text, bool own_line, int indent);
  /// Prints a document at the current column; `tail` columns will follow it on its last line.
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
  bool fresh_ = false;          ///< a line was started and nothing is on it
  bool after_comment_ = false;  ///< the line has ended with a comment
};

}  // namespace pxl::syntax
