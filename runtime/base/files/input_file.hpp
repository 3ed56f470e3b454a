// Files that are read. Data come from regular files only, and opening one never waits: a pipe, a device or a folder is
// refused. Programs may come from a pipe or a terminal as well; waiting for them hears Ctrl-C.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace pxl {

/// A regular file, open for reading.
class InputFile {
 public:
  /// Nullopt if the file cannot be opened or is no regular file; `why` then says so: "it is a pipe, not a regular
  /// file".
  static std::optional<InputFile> open(const std::string& path, std::string& why);
  InputFile(InputFile&& other) noexcept
      : descriptor_(other.release()), size_(other.size_), modified_ns_(other.modified_ns_) {}
  InputFile& operator=(InputFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_, other.size_);
    std::swap(modified_ns_, other.modified_ns_);
    return *this;
  }
  ~InputFile();

  /// The size that the system reports: 0 for most files in /proc, which have contents all the same.
  int64_t size() const { return size_; }
  /// Whether the file still has the size and the time of modification that it had when it was opened. Another file with
  /// its name is no change: the opened file remains until it is closed.
  bool is_unchanged() const;
  /// Reads until `bytes` are there or the file ends, in chunks between which interrupts are heard. Returns the number
  /// of bytes; less than requested at the end and where reading fails, with errno.
  int64_t read(void* to, int64_t bytes);
  /// The same without interrupts: for reads that must not end half done.
  int64_t read_undisturbed(void* to, int64_t bytes);
  /// Sets the place of the next read, in bytes from the beginning. Whether it could.
  bool seek(int64_t position);
  /// The descriptor, which the caller closes from now on.
  int release();

 private:
  InputFile(int descriptor, int64_t size) : descriptor_(descriptor), size_(size) {}
  int64_t read_chunks(void* to, int64_t bytes, bool heard);
  int descriptor_;
  int64_t size_;
  int64_t modified_ns_ = 0;
};

/// The contents of a regular file; nullopt, and `why`, if it cannot be read or holds more than `max_bytes`.
std::optional<std::string> read_file(const std::string& path, int64_t max_bytes, std::string& why);

constexpr int64_t max_program_bytes = int64_t{64} << 20;
/// A program's text from a file, a pipe or a terminal; "-" is standard input. Nullopt, and `why`, if it cannot be read
/// or is longer than max_program_bytes. Throws Interrupted, also while it waits.
std::optional<std::string> read_program(const std::string& path, std::string& why);

}  // namespace pxl
