// Names across files: the targets of imports, and the imports of a declaration.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

/// A document that is open, or was read for one request.
struct Opened {
  const Document* document = nullptr;
  std::unique_ptr<Document> own;
};

/// The file that an import of `from` refers to; nullopt for modules of the library and missing files.
std::optional<Opened> imported_file(Server& server, const Document& from, const Symbol& symbol);

/// The open documents and the .pxl files of the workspace's folders, at most `max_files`.
std::vector<Opened> workspace_files(Server& server);

/// Occurrences in another file of a name that is declared at the top of this one.
struct Elsewhere {
  Opened file;
  std::vector<Span> places;
};
/// In the open documents and in the .pxl files of the workspace, or, if the client named no workspace, below the
/// folders of both documents; at most `max_files`.
std::vector<Elsewhere> places_elsewhere(Server& server, const Document& asking, const Document& declaring,
                                        const std::string& name);
constexpr size_t max_files = 2000;

}  // namespace pxl::lsp
