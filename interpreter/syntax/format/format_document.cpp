// Computes the widths of documents and prints them: greedy, in one pass, in linear time.
#include "interpreter/syntax/format/format_document.hpp"

#include <algorithm>

#include "interpreter/syntax/format/format.hpp"
#include "runtime/base/diagnostics/source.hpp"

namespace pxl::syntax {
namespace {

constexpr int item_indent = 2;       ///< indentation of items on their own lines
constexpr int hanging_indent = 4;    ///< indentation if alignment with the bracket leaves too little room
constexpr int narrow = 40;           ///< minimum columns that alignment must leave
constexpr int comment_gap = 2;       ///< spaces before a trailing comment
constexpr int comment_stretch = 24;  ///< maximum shift of a comment for alignment with adjacent ones

int add_widths(int a, int b) { return std::min(a + b, never_flat); }

// Width of the first line only: a text such as a triple-quoted string may span lines.
int first_line_width(std::string_view text) { return display_width(text.substr(0, text.find('\n'))); }

}  // namespace

DocId Documents::add(Doc doc) {
  docs_.push_back(std::move(doc));
  return static_cast<DocId>(docs_.size() - 1);
}

DocId Documents::text(std::string_view content) {
  Doc d;
  d.content = content;
  d.flat = d.lead = first_line_width(content);
  return add(std::move(d));
}

DocId Documents::comment(std::string_view content, bool own_line) {
  Doc d;
  d.kind = own_line ? Doc::own_comment : Doc::trailing_comment;
  d.content = content;
  d.flat = never_flat;
  d.may_break = true;
  return add(std::move(d));
}

DocId Documents::concat(std::vector<DocId> items) {
  if (items.size() == 1) return items.front();
  Doc d;
  d.kind = Doc::concat;
  for (DocId id : items) {
    const Doc& item = docs_[id];
    d.flat = add_widths(d.flat, item.flat);
    if (!d.may_break) d.lead = add_widths(d.lead, item.may_break ? item.lead : item.flat);
    d.may_break |= item.may_break;
  }
  d.items = std::move(items);
  return add(std::move(d));
}

DocId Documents::chain(std::vector<DocId> items, std::vector<bool> spaced, Doc::Breaks breaks) {
  if (items.size() == 1) return items.front();
  Doc d;
  d.kind = Doc::chain;
  d.breaks = breaks;
  d.may_break = true;
  d.lead = docs_[items.front()].lead;
  for (size_t i = 0; i < items.size(); ++i) d.flat = add_widths(d.flat, docs_[items[i]].flat + (spaced[i] ? 1 : 0));
  d.items = std::move(items);
  d.spaced = std::move(spaced);
  return add(std::move(d));
}

DocId Documents::bracket(DocId open, std::vector<DocId> items, std::vector<bool> spaced, DocId close, Rows rows) {
  Doc d;
  d.kind = Doc::bracket;
  d.exploded = rows == exploded;
  d.flat = docs_[open].flat;
  d.lead = docs_[open].lead;
  d.may_break = d.exploded;
  if (!items.empty() && !d.exploded) {
    const DocId content = chain(std::move(items), std::move(spaced), rows == aligned ? Doc::all : Doc::fill);
    if (rows == aligned) docs_[content].flat = never_flat;
    d.flat = add_widths(d.flat, docs_[content].flat);
    d.lead = add_widths(d.lead, docs_[content].lead);
    d.may_break = docs_[content].may_break;
    items = {content};
  }
  d.flat = rows != filled ? never_flat : add_widths(d.flat, docs_[close].flat);
  if (!d.may_break) d.lead = d.flat;
  d.items.push_back(open);
  d.items.insert(d.items.end(), items.begin(), items.end());
  d.items.push_back(close);
  return add(std::move(d));
}

void LineWriter::line(int indent) {
  lines_.push_back({indent, {}, {}});
  column_ = indent;
  fresh_ = true;
  after_comment_ = false;
}

void LineWriter::blank() {
  if (lines_.empty() || (lines_.back().code.empty() && lines_.back().comment.empty())) return;
  line(0);
  fresh_ = false;
}

void LineWriter::write(std::string_view text) {
  if (lines_.empty()) line(0);
  lines_.back().code += text;
  fresh_ = false;
  const size_t newline = text.rfind('\n');
  column_ = newline == text.npos ? column_ + display_width(text) : display_width(text.substr(newline + 1));
}

void LineWriter::space() {
  if (!fresh_ && !after_comment_) write(" ");
}

void LineWriter::comment(std::string_view text, bool own_line, int indent) {
  if (own_line) {
    if (!fresh_) line(indent);
    lines_.back().code = text;
  } else {
    if (lines_.empty()) line(indent);
    lines_.back().comment = text;
  }
  fresh_ = false;
  after_comment_ = true;
}

void LineWriter::print_flat(DocId id) {
  const Doc& d = docs_[id];
  if (d.kind == Doc::text) return d.content == " " ? space() : write(d.content);
  for (size_t i = 0; i < d.items.size(); ++i) {
    if (d.kind == Doc::chain && i > 0 && d.spaced[i]) space();
    print_flat(d.items[i]);
  }
}

void LineWriter::print(DocId id, int indent, int tail) {
  const Doc& d = docs_[id];
  if (d.kind == Doc::text && d.content == " ") return space();
  if (after_comment_ && d.kind != Doc::own_comment && (d.kind == Doc::text || d.flat < never_flat)) line(indent);
  if (d.flat < never_flat && column_ + d.flat + tail <= format_width) return print_flat(id);
  switch (d.kind) {
    case Doc::text: return write(d.content);
    case Doc::trailing_comment: return comment(d.content, false, indent);
    case Doc::own_comment: return comment(d.content, true, indent);
    case Doc::concat: return print_concat(d, indent, tail);
    case Doc::chain: return print_chain(d, indent, tail);
    case Doc::bracket: return print_bracket(d, indent, tail);
  }
}

void LineWriter::print_concat(const Doc& d, int indent, int tail) {
  // The width of the text after each item on its line: the following items up to the first possible break.
  std::vector<int> tails(d.items.size());
  for (size_t i = d.items.size(); i-- > 0;) {
    tails[i] = tail;
    const Doc& item = docs_[d.items[i]];
    tail = item.may_break ? item.lead : add_widths(item.flat, tail);
  }
  for (size_t i = 0; i < d.items.size(); ++i) print(d.items[i], indent, tails[i]);
}

void LineWriter::print_chain(const Doc& d, int indent, int tail) {
  for (size_t i = 0; i < d.items.size(); ++i) {
    const Doc& item = docs_[d.items[i]];
    const int after = i + 1 == d.items.size() ? tail : 0;
    if (i > 0 && !after_comment_) {
      const bool by_lead = d.breaks == Doc::late || item.flat >= never_flat;
      const int need = (d.spaced[i] ? 1 : 0) + (by_lead ? item.lead : add_widths(item.flat, after));
      // If even the item's beginning does not fit, breaking before the item gains nothing.
      const bool hopeless = d.breaks == Doc::late && indent + item.lead > format_width;
      if (d.breaks == Doc::all || (column_ + need > format_width && !hopeless))
        line(indent);
      else if (d.spaced[i])
        space();
    } else if (i > 0) {
      line(indent);
    }
    print(d.items[i], indent, after);
  }
}

void LineWriter::print_bracket(const Doc& d, int indent, int tail) {
  // Lines that do not align with the bracket are indented relative to the bracket's line.
  const int base = lines_.empty() ? 0 : lines_.back().indent;
  print(d.items.front(), indent, 0);
  const DocId close = d.items.back();
  if (d.exploded) {
    for (size_t i = 1; i + 1 < d.items.size(); ++i) {
      line(base + item_indent);
      print(d.items[i], base + item_indent, 0);
    }
    line(base);
    print(close, base, tail);
    return;
  }
  if (d.items.size() == 3) {
    const Doc& content = docs_[d.items[1]];
    const int after = add_widths(docs_[close].flat, tail);
    int need = content.lead;
    if (content.kind == Doc::chain)
      for (DocId id : content.items) need = std::max(need, docs_[id].lead);
    const int room = format_width - column_;
    const bool better_hanging = base + hanging_indent < column_ && content.flat < never_flat;
    int inner = column_;
    if (better_hanging && (need > room || (room < narrow && content.flat + after > room))) {
      inner = base + hanging_indent;
      line(inner);
    } else if (content.kind != Doc::chain && content.flat >= never_flat) {
      // A single multi-line item is printed next to its brackets.
      inner = base;
    }
    print(d.items[1], inner, after);
  }
  print(close, indent, tail);
}

std::string LineWriter::finish() {
  // The line may end with a space, since a comment or a line break may follow it.
  for (Line& l : lines_) l.code.resize(l.code.find_last_not_of(' ') + 1);
  while (!lines_.empty() && lines_.back().code.empty() && lines_.back().comment.empty()) lines_.pop_back();
  auto code_width = [](const Line& l) {
    const size_t newline = l.code.rfind('\n');
    return newline == l.code.npos ? l.indent + display_width(l.code) : display_width(l.code.substr(newline + 1));
  };
  std::string out;
  int aligned = 0;
  size_t run_end = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line& l = lines_[i];
    if (!l.code.empty()) out.append(static_cast<size_t>(l.indent), ' ');
    out += l.code;
    if (!l.comment.empty()) {
      if (i >= run_end) {
        int low = never_flat, high = code_width(l);
        for (run_end = i; run_end < lines_.size(); ++run_end) {
          const Line& next = lines_[run_end];
          if (next.comment.empty() || next.indent != l.indent) break;
          if (next.code.ends_with('{') || next.code.starts_with('}')) {
            run_end += run_end == i;
            break;
          }
          const int width = code_width(next);
          if (std::max(high, width) - std::min(low, width) > comment_stretch) break;
          low = std::min(low, width), high = std::max(high, width);
        }
        aligned = high;
      }
      out.append(static_cast<size_t>(aligned - code_width(l) + comment_gap), ' ');
      out += l.comment;
    }
    out += '\n';
  }
  return out;
}

}  // namespace pxl::syntax
