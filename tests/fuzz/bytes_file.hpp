// The readers of files take a path: the bytes of a fuzzing run as a file in memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

/// A file without a name that holds the bytes; `path` opens it while the object lives.
class BytesFile {
 public:
  BytesFile(const uint8_t* data, size_t size) : descriptor_(::memfd_create("pxl-fuzz", 0)) {
    if (descriptor_ < 0) std::abort();
    for (size_t done = 0; done < size;) {
      const ssize_t written = ::write(descriptor_, data + done, size - done);
      if (written <= 0) std::abort();
      done += static_cast<size_t>(written);
    }
    path = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~BytesFile() { ::close(descriptor_); }
  BytesFile(const BytesFile&) = delete;
  BytesFile& operator=(const BytesFile&) = delete;

  std::string path;

 private:
  int descriptor_;
};
