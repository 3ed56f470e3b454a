// textDocument/formatting: the whole text as `pxl fmt` formats it.
#include "interpreter/lsp/server.hpp"
#include "interpreter/syntax/format/format.hpp"

namespace pxl::lsp {

Json formatting(Server& server, const DocumentParams& params) {
  const Document& d = server.document(params);
  if (!d.parsed().result.tree) return Json::array();
  const std::string text = format_source(*d.parsed().source);
  if (text == d.text()) return Json::array();
  return Json::array({{{"range", d.lines().range(0, d.text().size())}, {"newText", text}}});
}

}  // namespace pxl::lsp
