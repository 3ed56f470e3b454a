#include "interpreter/cli/json.hpp"

#include <cerrno>

#include "interpreter/cli/command.hpp"
#include "runtime/base/standard_streams.hpp"

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

}  // namespace

void emit(const Json& object) {
  // Invalid UTF-8 (in a file name) is replaced.
  const std::string line = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_out(line);
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
  return out;
}

}  // namespace pxl::cli
