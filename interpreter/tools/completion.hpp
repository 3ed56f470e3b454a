// Completion at a position in a text, given a session.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pxl {

class Interpreter;

struct Completion {
  enum class Kind : uint8_t { name, function, op, module, member, argument, stream, keyword, library, file, command };
  std::string text;  ///< replaces the bytes [begin, end) of the text
  Kind kind;
  std::string detail;  ///< a signature, a type; may be empty
};
std::string_view text(Completion::Kind kind);

struct Completions {
  size_t begin = 0, end = 0;      ///< the bytes that an item replaces; end is the cursor
  std::vector<Completion> items;  ///< sorted, without duplicates
};

/// Completes names in scope, members after a dot, keyword arguments and streams inside a call, files inside a string
/// argument, and modules after `import`. Evaluates only names, members and literal subscripts, never a call.
Completions complete(Interpreter& in, std::string_view text, size_t cursor);

/// Files and folders (with a trailing slash) whose path begins with `prefix`; "~/" is the home folder. Hidden files are
/// included only if the prefix names them. `suffix` filters files (".pxl"). Returns at most 500.
std::vector<std::string> complete_file(const std::string& prefix, std::string_view suffix = {});

}  // namespace pxl
