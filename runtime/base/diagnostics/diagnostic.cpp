// Rendering of diagnostics; the only control characters are colours. The excerpt shows one line; a long line is cut
// around the span. The caret line copies the tabs, so that both lines align on any tab width.
#include "runtime/base/diagnostics/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl {
namespace {

constexpr int excerpt_columns = 110;    ///< a longer line is cut around the span
constexpr int gutter_columns = 16;      ///< of a cut line: the line's number, and dots at both ends
constexpr size_t frames_shown = 24;     ///< a longer call chain loses its middle
constexpr size_t message_shown = 2000;  ///< bytes of a message: a name in it may be as long as the user likes

struct Colours {
  const char *bold, *error, *warning, *caret, *gutter, *faint, *off;
};
constexpr Colours plain{"", "", "", "", "", "", ""};
constexpr Colours ansi{"\x1b[1m", "\x1b[1;31m", "\x1b[1;35m", "\x1b[1;32m", "\x1b[34m", "\x1b[2m", "\x1b[0m"};

std::string place(Span at) {
  Position p = at.file->position(at.begin);
  return fmt::format("{}:{}:{}", cleaned(at.file->name()), p.line, p.column);
}

struct Cell {
  char32_t code;
  int width;
  size_t offset;  ///< bytes from the start of the line
};

std::vector<Cell> cells_of(std::string_view line) {
  std::vector<Cell> cells;
  for (size_t i = 0; i < line.size();) {
    size_t offset = i;
    char32_t c = next_code_point(line, i);
    if (c != '\t' && is_control(c)) c = U'\uFFFD';
    cells.push_back({c, c == '\t' ? 1 : code_point_width(c), offset});
  }
  return cells;
}

void append_excerpt(std::string& out, Span span, const Colours& colour, int width) {
  Position at = span.file->position(span.begin);
  std::string_view line = span.file->line(at.line);
  std::vector<Cell> cells = cells_of(line);
  size_t start = span.file->line_start(at.line);
  size_t from = std::min<size_t>(span.begin - start, line.size());
  size_t to = std::clamp<size_t>(span.end < start ? 0 : span.end - start, from, line.size());
  auto cell_at = [&](size_t offset) {
    auto it = std::lower_bound(cells.begin(), cells.end(), offset,
                               [](const Cell& c, size_t value) { return c.offset < value; });
    return static_cast<size_t>(it - cells.begin());
  };
  size_t first_marked = cell_at(from), end_marked = cell_at(to);

  size_t first = 0, end = cells.size();
  int total = 0;
  for (const Cell& c : cells) total += c.width;
  // A line that fits with its number stays whole.
  const int whole = width == 0 ? excerpt_columns : width - gutter_columns / 2;
  const int limit = total <= whole ? whole : width == 0 ? excerpt_columns : std::max(width - gutter_columns, 4);
  if (total > whole) {
    int room = limit * 4 / 11;  // of a cut line, this much is kept before the span
    for (first = std::min(first_marked, cells.size()); first > 0 && room > 0; --first) room -= cells[first - 1].width;
    // A short tail leaves room for more text before the span.
    int shown = 0;
    for (end = first; end < cells.size() && shown < limit; ++end) shown += cells[end].width;
    for (; end == cells.size() && first > 0 && shown < limit; --first) shown += cells[first - 1].width;
  }

  std::string text, marks;
  if (first > 0) text += "... ", marks += "    ";
  bool caret_done = false;
  auto mark = [&](int columns) {
    for (int i = 0; i < columns; ++i) marks += caret_done ? '~' : '^', caret_done = true;
  };
  for (size_t i = first; i < end; ++i) {
    append_utf8(text, cells[i].code);
    if (i >= first_marked && i < end_marked) {
      // A marked tab has no known width: one mark, then the tab itself where more follows.
      mark(cells[i].width);
      if (cells[i].code == '\t' && i + 1 < end_marked) marks += '\t';
    } else if (i < first_marked) {
      cells[i].code == '\t' ? marks += '\t' : marks.append(static_cast<size_t>(cells[i].width), ' ');
    }
  }
  if (!caret_done) mark(1);
  if (end < cells.size()) text += " ...";

  std::string number = fmt::format("{:>5}", at.line);
  out += fmt::format("{}{} |{} {}\n", colour.gutter, number, colour.off, text);
  out += fmt::format("{}{:>{}} |{} {}{}{}\n", colour.gutter, "", number.size(), colour.off, colour.caret, marks,
                     colour.off);
}

void append_indented(std::string& out, std::string_view note, int width) {
  for (;;) {
    size_t newline = note.find('\n');
    const std::string line = fmt::format("  {}", note.substr(0, newline));
    out += (width == 0 ? line : wrap_lines(line, width)) + "\n";
    if (newline == note.npos) return;
    note.remove_prefix(newline + 1);
  }
}

/// A message or a note as it is shown.
std::string clipped(const std::string& text) {
  const std::string message = cleaned(text);
  if (message.size() <= message_shown) return message;
  size_t end = message_shown;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  return message.substr(0, end) + " ...";
}

void append_frames(std::string& out, const Frame* innermost, int width) {
  std::vector<const Frame*> chain;
  for (const Frame* f = innermost; f; f = f->outer.get()) chain.push_back(f);
  for (size_t i = 0; i < chain.size(); ++i) {
    if (chain.size() > frames_shown && i == frames_shown / 2) {
      size_t hidden = chain.size() - frames_shown;
      out += fmt::format("  ... {} more call{} ...\n", hidden, hidden == 1 ? "" : "s");
      i += hidden;
    }
    const std::string line = chain[i]->at ? fmt::format("  in {} at {}", cleaned(chain[i]->what), place(chain[i]->at))
                                          : fmt::format("  in {}", cleaned(chain[i]->what));
    out += (width == 0 ? line : wrap_lines(line, width)) + "\n";
  }
}

bool in_library(const Span& at) { return at.file && is_library(at.file->name()); }

/// The text of the standard library is not the user's: a failure in it is shown at the call that led there. The
/// library's own functions become the innermost frames, each with the place inside it.
void leave_library(Diagnostic& d) {
  if (!in_library(d.span)) return;
  std::vector<const Frame*> inner;
  const Frame* call = d.frames.get();
  for (; call && (!call->at || in_library(call->at)); call = call->outer.get()) inner.push_back(call);
  if (!call) return;
  const auto within = [](const Frame& f, Span at, FramePtr outer) {
    return std::make_shared<const Frame>(Frame{"the library's " + f.what, at, std::move(outer)});
  };
  FramePtr chain = within(*call, inner.empty() ? d.span : inner.back()->at, call->outer);
  for (size_t i = inner.size(); i-- > 0;) chain = within(*inner[i], i == 0 ? d.span : inner[i - 1]->at, chain);
  d.span = call->at;
  d.frames = chain;
}

}  // namespace

std::string_view code_of(const Diagnostic& d) {
  if (!d.code.empty()) return d.code;
  switch (d.fault) {
    case Fault::refused:
    case Fault::failed: return codes::value;
    case Fault::unreadable: return codes::file;
    case Fault::usage: return codes::usage;
    case Fault::internal: return codes::internal;
  }
  return codes::internal;
}

bool is_of_world(const Diagnostic& d) {
  if (d.carried) return true;
  const std::string_view code = code_of(d);
  return std::any_of(std::begin(codes::kind_table), std::end(codes::kind_table),
                     [&](const codes::Kind& kind) { return kind.text == code && kind.sort == codes::Sort::world; });
}

Error::Error(Diagnostic d) { diagnostics_.push_back(std::move(d)); }
Error::Error(std::vector<Diagnostic> ds) : diagnostics_(std::move(ds)) {}
Error::Error(std::string message) : Error(std::move(message), std::vector<std::string>{}) {}
Error::Error(std::string message, std::vector<std::string> notes, Fault fault)
    : Error(Diagnostic{Severity::error, fault, std::move(message), {}, std::move(notes), nullptr}) {}
Error::Error(std::string message, std::initializer_list<std::string_view> notes, Fault fault)
    : Error(std::move(message), std::vector<std::string>(notes.begin(), notes.end()), fault) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Error& Error::as(std::string_view code) & {
  if (first().code.empty()) first().code = code;
  return *this;
}
Error&& Error::as(std::string_view code) && { return std::move(as(code)); }

void Diagnostic::offer(Span at, std::string text, std::string title) {
  if (!at) return;
  if (title.empty()) title = fmt::format("Change to `{}`", text);
  fixes.push_back({std::move(title), {{at, std::move(text)}}});
}

Error& Error::offer(Span at, std::string text, std::string title) & {
  first().offer(at, std::move(text), std::move(title));
  return *this;
}
Error&& Error::offer(Span at, std::string text, std::string title) && {
  return std::move(offer(at, std::move(text), std::move(title)));
}
Error& Error::relate(Span at, std::string text) & {
  if (at) first().related.push_back({at, std::move(text)});
  return *this;
}
Error&& Error::relate(Span at, std::string text) && { return std::move(relate(at, std::move(text))); }

void Error::locate(Span span, const FramePtr& frames) {
  if (!first().span) first().span = span;
  if (!first().frames) first().frames = frames;
  leave_library(first());
}

Error run_error(std::string message, std::vector<std::string> notes) {
  return Error(std::move(message), std::move(notes), Fault::failed);
}

std::string render(const Diagnostic& d, bool with_colour) { return render(d, with_colour, 0); }

std::string render(const Diagnostic& d, bool with_colour, int width) {
  const Colours& colour = with_colour ? ansi : plain;
  bool error = d.severity == Severity::error;
  std::string head;
  if (d.span) head += fmt::format("{}{}:{} ", colour.bold, place(d.span), colour.off);
  head += fmt::format("{}{}:{} {}{}{}", error ? colour.error : colour.warning, error ? "error" : "warning", colour.off,
                      colour.bold, clipped(d.message), colour.off);
  // The kind, which `pxl explain` tells of; an error in a command line has none.
  if (d.fault != Fault::usage && d.fault != Fault::internal)
    head += fmt::format(" {}[{}]{}", colour.faint, code_of(d), colour.off);
  constexpr size_t hang = 4;
  std::string out = (width == 0 ? head : wrap_words(head, width, 0, hang)) + "\n";
  if (d.span) append_excerpt(out, d.span, colour, width);
  for (const std::string& note : d.notes) append_indented(out, clipped(note), width);
  for (const Related& r : d.related) {
    append_indented(out, fmt::format("{}, at {}:", clipped(r.text), place(r.at)), width);
    append_excerpt(out, r.at, colour, width);
  }
  append_frames(out, d.frames.get(), width);
  return out;
}

}  // namespace pxl
