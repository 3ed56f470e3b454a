#include "interpreter/cli/json.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "interpreter/cli/command.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl::cli {

namespace {

std::string_view text(Fault fault) {
  switch (fault) {
    case Fault::refused: return "refused";
    case Fault::failed: return "failed";
    case Fault::unreadable: return "unreadable";
    case Fault::usage: return "usage";
    case Fault::internal: return "internal";
  }
  return "internal";
}

void put_place(Json& out, Span span) {
  if (!span) return;
  const Position from = span.file->position(span.begin), to = span.file->position(span.end);
  out["file"] = span.file->name();
  out["line"] = from.line;
  out["column"] = from.column;
  out["end_line"] = to.line;
  out["end_column"] = to.column;
}

/// JSON escapes C0; a terminal also obeys DEL and C1.
std::string with_escaped_controls(std::string_view text) {
  if (is_clean(text)) return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text, i);
    if (is_control(c))
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    else
      append_utf8(out, c);
  }
  return out;
}

}  // namespace

void emit(const Json& object) {
  // Invalid UTF-8 (in a file name) is replaced.
  const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  write_out(with_escaped_controls(text) + "\n");
  flush_out();
}

Json diagnostic_event(const Diagnostic& d) {
  Json out{{"event", "diagnostic"}, {"severity", d.severity == Severity::error ? "error" : "warning"}};
  out["fault"] = text(d.fault);
  out["code"] = code_of(d);
  out["message"] = d.message;
  put_place(out, d.span);
  out["notes"] = d.notes;
  Json frames = Json::array();
  for (const Frame* f = d.frames.get(); f; f = f->outer.get()) {
    Json frame{{"what", f->what}};
    put_place(frame, f->at);
    frames.push_back(std::move(frame));
  }
  out["frames"] = std::move(frames);
  if (!d.related.empty()) {
    Json related = Json::array();
    for (const Related& r : d.related) {
      Json place{{"message", r.text}};
      put_place(place, r.at);
      related.push_back(std::move(place));
    }
    out["related"] = std::move(related);
  }
  if (!d.fixes.empty()) {
    Json fixes = Json::array();
    for (const Fix& fix : d.fixes) {
      Json edits = Json::array();
      for (const Edit& e : fix.edits) {
        Json edit;
        put_place(edit, e.at);
        edit["text"] = e.text;
        edits.push_back(std::move(edit));
      }
      fixes.push_back({{"title", fix.title}, {"edits", std::move(edits)}});
    }
    out["fixes"] = std::move(fixes);
  }
  return out;
}

}  // namespace pxl::cli
