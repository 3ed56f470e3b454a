// Names of documents. Clients spell a file's URI differently: percent signs, their case and the host vary. The server
// finds a document by what its URI denotes, and repeats the client's text in responses.
#pragma once

#include <string>
#include <string_view>

namespace pxl::lsp {

struct DocumentUri {
  std::string text;  ///< as the client wrote it
  std::string path;  ///< what the URI denotes: the normal path of a file, or the decoded text of another scheme

  static DocumentUri of_text(std::string text);
  static DocumentUri of_path(std::string_view path);
};

}  // namespace pxl::lsp
