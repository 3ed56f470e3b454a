// Opens files for writing. Only this code does so (tests/house/rules.py): no look writes a file, and one process of a
// job writes the job's files.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/files/descriptor.hpp"

namespace pxl {

enum class Opening : uint8_t {
  present,    ///< a file that is there, and no symbolic link
  open_file,  ///< what a process has open, by a link of /proc; it is appended to
  leftover,   ///< the same as `present`, to read as well
  appended,   ///< a file that grows, made if there is none
  fresh,      ///< a file that is not there yet
  unnamed,    ///< a file without a name in the folder `name`; -1 where the file system has none
};

/// Opens a file for writing; `name` is relative to the open folder. Never waits for the reader of a pipe. The
/// descriptor is -1 if the system refuses, with the reason in errno. Requires Effect::writes_files.
Descriptor open_to_write(const std::string& name, Opening opening, mode_t mode = 0666, int folder = AT_FDCWD);

/// If several processes run one script, one of them writes its files; all processes call `written` afterwards.
struct FileGate {
  bool writes = true;
  std::function<void(const std::string& path)> written = {};
};
void set_file_gate(FileGate gate);
/// Whether several processes run the script.
bool shares_files();
/// Runs `write` in the process that writes the file at `path`, and `otherwise` in the others.
void write_once(const std::string& path, const std::function<void()>& write,
                const std::function<void()>& otherwise = {});

}  // namespace pxl
