#include "interpreter/tools/analysis.hpp"

#include "interpreter/syntax/parse.hpp"

namespace pxl {

const BoundName* Analysis::before(std::string_view name, uint32_t offset) const {
  const BoundName* found = nullptr;
  for (const BoundName& b : names) {
    if (b.span.begin > offset) break;
    if (b.span.text() == name) found = &b;
  }
  return found;
}

std::unique_ptr<Analysis> analyse(const std::string& path, const std::string& text) {
  auto out = std::make_unique<Analysis>();
  out->source = std::make_unique<SourceFile>(path, text);
  out->diagnostics = parse(*out->source).diagnostics;
  out->finished = true;
  return out;
}

}  // namespace pxl
