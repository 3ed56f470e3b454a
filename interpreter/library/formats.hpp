// File formats by suffix: one row per format.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/builtin.hpp"

namespace pxl {

/// A file format. `load` and `save` get the path and the named arguments of the built-in function. A null function
/// means that the format is only read, or only written.
struct FileFormat {
  std::string_view suffixes;  ///< in lower case, separated by blanks: ".jpg .jpeg"
  std::string_view holds;     ///< "one array", for messages
  Value (*load)(Interpreter&, const std::string& path, const ArgReader& options);
  void (*save)(Interpreter&, const std::string& path, const Value& value, const ArgReader& options);
  std::string_view load_options, save_options;       ///< names of the arguments that each function accepts
  Value (*look)(const std::string& path) = nullptr;  ///< what the file's header tells of the value; may be null
};

std::span<const FileFormat> file_formats();

/// What a look knows of a safetensors file: a dict of arrays whose specs are known, or an unknown.
Value look_at_checkpoint(Interpreter& in, const std::string& path);

}  // namespace pxl
