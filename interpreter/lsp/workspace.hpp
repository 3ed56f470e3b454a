// Names across files: what an import means, and where a declaration is imported.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/lsp/server.hpp"

namespace pxl::lsp {

/// A document that is open, or was read for one question.
struct Opened {
  const Document* document = nullptr;
  std::unique_ptr<Document> own;
};

/// The file that an import of `from` means; nothing for modules of the library and files that are not there.
std::optional<Opened> imported_file(Server& server, const Document& from, const Symbol& symbol);

/// The open documents and the .pxl files of the workspace's folders: at most `most_files`.
std::vector<Opened> workspace_files(Server& server);

/// Places of another file that mean a name declared at the top of this one.
struct Elsewhere {
  Opened file;
  std::vector<Span> places;
};
/// In the open documents and in the .pxl files of the workspace, or below the folders of both documents where the
/// client named no workspace: at most `most_files`.
std::vector<Elsewhere> places_elsewhere(Server& server, const Document& asking, const Document& declaring,
                                        const std::string& name);
constexpr size_t most_files = 2000;

}  // namespace pxl::lsp
