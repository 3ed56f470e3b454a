// Atomic replacement of files: readers see either the old or the new text, never a part, even if the process is killed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pxl {

/// The temporary file that holds the new text.
enum class TemporaryFile : uint8_t {
  unnamed,  ///< O_TMPFILE: vanishes with the process. `named` where the file system has none
  named     ///< beside the target, named `.TARGET.RANDOM.pxl-tmp`
};

/// Writes a new file in the folder of `path`, forces it to disk and names it `path`. An existing file keeps its
/// permissions, and keeps its owner if the process may set it; other hard links to it keep the old text. Symbolic links
/// are followed, but not those of other users in a folder like /tmp. A target that is no regular file (a pipe), or that
/// the process has open (/dev/stdout), is written directly. Temporary files of this target whose process was killed are
/// removed. Throws run_error naming the file and the system's reason (also ENOSPC, and EFBIG where SIGXFSZ is ignored),
/// and Interrupted; the old file is then as it was, and no other file is left.
void write_file_atomically(const std::string& path, std::string_view bytes,
                           TemporaryFile temporary = TemporaryFile::unnamed);

/// The same of a text in parts, so that not all of it is in memory: `part(i)`, from 0 on, until it returns nothing. A
/// part is valid until the next is requested. All parts are requested again if the file system cannot name a file that
/// it made without a name.
void write_parts_atomically(const std::string& path, const std::function<std::optional<std::string_view>(size_t)>& part,
                            TemporaryFile temporary = TemporaryFile::unnamed);

/// The same in each of several processes that run one script; each process writes its own file.
void write_own_parts_atomically(const std::string& path,
                                const std::function<std::optional<std::string_view>(size_t)>& part);

}  // namespace pxl
