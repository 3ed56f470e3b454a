// Errors on their way to another process.
#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/source_registry.hpp"
#include "runtime/processes/json_text.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {

namespace {

using nlohmann::json;

json encoded(const Span& span) {
  if (!span) return nullptr;
  return {{"file", span.file->name()}, {"size", span.file->text().size()}, {"begin", span.begin}, {"end", span.end}};
}

/// Null unless this process has the file, as far as its size tells.
Span decoded_span(const json& j) {
  if (!j.is_object()) return {};
  const SourceFile* file = find_source(j.at("file").get_ref<const std::string&>());
  if (!file || file->text().size() != j.at("size").get<size_t>()) return {};
  return {file, j.at("begin"), j.at("end")};
}

json encoded(const FramePtr& frames) {
  json list = json::array();
  for (const Frame* f = frames.get(); f; f = f->outer.get())
    list.push_back({{"what", f->what}, {"at", encoded(f->at)}});
  return list;
}

FramePtr decoded_frames(const json& list) {
  FramePtr frames;
  for (auto f = list.rbegin(); f != list.rend(); ++f)
    frames = std::make_shared<Frame>(Frame{f->at("what"), decoded_span(f->at("at")), frames});
  return frames;
}

/// What `fail` gave the error; null of other errors.
json carried(const Diagnostic& d) {
  if (!d.carried) return nullptr;
  const auto* data = dynamic_cast<const CarriedText*>(d.carried.get());
  return {{"kind", d.carried->kind}, {"data", data ? data->json : std::string()}};
}

std::string_view known_code(const std::string& name) {
  const auto found = std::find(codes::all.begin(), codes::all.end(), name);
  return found == codes::all.end() ? std::string_view() : *found;
}

}  // namespace

std::string encode_error(const Error& error) {
  json all = json::array();
  for (const Diagnostic& d : error.all())
    all.push_back({{"severity", static_cast<int>(d.severity)},
                   {"fault", static_cast<int>(d.fault)},
                   {"message", d.message},
                   {"span", encoded(d.span)},
                   {"notes", d.notes},
                   {"frames", encoded(d.frames)},
                   {"code", std::string(d.code)},
                   {"carried", carried(d)}});
  return json_text(all);
}

Error decode_error(std::string_view text) {
  std::vector<Diagnostic> all;
  for (const json& d : json::parse(text)) {
    all.push_back({static_cast<Severity>(d.at("severity").get<int>()), static_cast<Fault>(d.at("fault").get<int>()),
                   d.at("message"), decoded_span(d.at("span")), d.at("notes"), decoded_frames(d.at("frames")),
                   known_code(d.at("code"))});
    const json& by_fail = d.at("carried");
    if (by_fail.is_null()) continue;
    const auto own = std::make_shared<CarriedText>(by_fail.at("kind").get<std::string>());
    own->json = by_fail.at("data");
    all.back().carried = own;
    all.back().code = own->kind.empty() ? codes::fail : std::string_view(own->kind);
  }
  return Error(std::move(all));
}

}  // namespace pxl
