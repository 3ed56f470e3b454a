// Names of documents. A client spells the URI of a file in its own way: percent signs, their case and the host differ.
// Documents are found by what a URI denotes, and responses carry the client's own text.
#pragma once

#include <string>
#include <string_view>

namespace pxl::lsp {

struct DocumentUri {
  std::string text;  ///< as the client wrote it
  std::string path;  ///< what it denotes: the normal path of a file, or the decoded text of another scheme

  static DocumentUri of_text(std::string text);
  static DocumentUri of_path(std::string_view path);
};

}  // namespace pxl::lsp
