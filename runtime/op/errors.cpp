#include "runtime/op/errors.hpp"

#include <fmt/format.h>

#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

namespace {

std::string operands_text(const OpContext& site) {
  std::string note;
  for (size_t i = 0; i < site.in.size(); ++i)
    if (site.has(i)) note += fmt::format("{}{}: {}", note.empty() ? "" : ", ", site.label(i), text(site.input(i)));
  return note;
}

std::vector<std::string> notes(const OpContext& site) {
  std::string note = operands_text(site);
  return note.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(note)};
}

}  // namespace

void refuse(const OpContext& site, const std::string& message, std::string_view code, std::string way_out) {
  std::vector<std::string> all = notes(site);
  if (!way_out.empty()) all.push_back(std::move(way_out));
  throw Error(fmt::format("{}: {}", site.row.name, message), std::move(all)).as(code);
}

void refuse_again(const OpContext& site, const std::exception& e) {
  if (const Error* error = dynamic_cast<const Error*>(&e)) {
    Diagnostic d = error->first();
    const std::string prefix = fmt::format("{}: ", site.row.name);
    if (!d.message.starts_with(prefix)) {
      d.message = prefix + d.message;
      for (std::string& note : notes(site)) d.notes.push_back(std::move(note));
    }
    throw Error(std::move(d));
  }
  throw Error(fmt::format("{}: {}", site.row.name, e.what()), notes(site), Fault::internal);
}

}  // namespace pxl
