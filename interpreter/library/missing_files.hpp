// Errors about a file that is not there: a file of a similar name, or one beside the script.
#pragma once

#include <string>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

/// Adds to an error of reading `path` what is meant, if the folder has a file of a similar name, or the script's folder
/// one of this name.
void note_missing_file(Interpreter& in, Error& e, const std::string& path);

/// Runs what reads a file.
template <class F>
auto reading_file(Interpreter& in, const std::string& path, F&& read) {
  try {
    return read();
  } catch (Error& e) {
    if (e.first().fault == Fault::unreadable) note_missing_file(in, e, path);
    throw;
  }
}

}  // namespace pxl
