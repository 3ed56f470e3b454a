// The folder of a source text, in which its imports and the files beside it are looked for.
#pragma once

#include <filesystem>
#include <string>

namespace pxl {

/// The folder of the source with this name (SourceFile::name). If the file is a symbolic link, the folder is that of
/// the link's target. Empty for names of texts that are no files ("", "<stdin>", "[3]"): names of files are then
/// relative to the current folder.
std::filesystem::path folder_of_source(const std::string& name);

}  // namespace pxl
