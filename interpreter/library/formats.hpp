// File formats by suffix: one row per format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/builtin.hpp"

namespace pxl {

/// A file format. `read` returns the array that the file holds, and any thread may call it; formats of other contents
/// have `load` in its place. `load` and `save` get the path and the named arguments of the built-in function. A null
/// function means that the format is only read, or only written.
struct FileFormat {
  std::string_view suffixes;  ///< in lower case, separated by blanks: ".jpg .jpeg"
  std::string_view holds;     ///< "one array", for messages
  Value (*load)(Interpreter&, const std::string& path, const ArgReader& options);
  void (*save)(Interpreter&, const std::string& path, const Value& value, const ArgReader& options);
  std::string_view load_options, save_options;       ///< names of the arguments that each function accepts
  Value (*look)(const std::string& path) = nullptr;  ///< what the file's header tells of the value; may be null
  Array (*read)(const std::string& path) = nullptr;
};

/// The format of a path that `function` reads. Throws an error that lists the formats.
const FileFormat& format_to_read(std::string_view function, const std::string& path);

/// The value of a safetensors file in a look: a dict of arrays whose specs are known, or an unknown.
Value look_at_checkpoint(Interpreter& in, const std::string& path);

}  // namespace pxl
