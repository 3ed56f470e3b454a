// textDocument/inlayHint: inferred types and shapes, after the names that are bound.
#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

Json inlay_hints(Server& server, const RangeParams& params) {
  const Document& d = server.document(params);
  Json list = Json::array();
  // Hints for an older text would be misplaced.
  if (!d.analysis || d.analysis->source->text() != d.text()) return list;
  size_t begin = 0, end = d.text().size();
  if (params.range) {
    begin = d.lines().offset(params.range->start);
    end = d.lines().offset(params.range->end);
  }
  for (const BoundName& name : d.analysis->names) {
    if (name.hint.empty() || name.span.end < begin || name.span.begin > end) continue;
    list.push_back({{"position", d.lines().position(name.span.end)},
                    {"label", ": " + name.hint},
                    {"kind", 1},
                    {"paddingLeft", false}});
  }
  return list;
}

}  // namespace pxl::lsp
