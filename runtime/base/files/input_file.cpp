#include "runtime/base/files/input_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {
namespace {

constexpr int64_t chunk_bytes = int64_t{4} << 20;

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::string too_long(int64_t most) { return "it is longer than " + std::to_string(most) + " bytes"; }

int64_t modified_ns(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// The system would take the part before it for the name.
bool has_zero_byte(const std::string& path, std::string& why) {
  if (path.find('\0') == path.npos) return false;
  why = "its name has a zero byte";
  return true;
}

struct Closing {
  int descriptor;
  ~Closing() {
    if (descriptor > STDIN_FILENO) ::close(descriptor);
  }
};

}  // namespace

std::optional<InputFile> InputFile::open(const std::string& path, std::string& why) {
  if (has_zero_byte(path, why)) return std::nullopt;
  // Without waiting: opening a pipe without a writer would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) {
    why = std::strerror(errno);
    return std::nullopt;
  }
  InputFile file(descriptor, 0);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) {
    why = std::strerror(errno);
    return std::nullopt;
  }
  if (!S_ISREG(info.st_mode)) {
    why = std::string("it is ") + kind_of(info.st_mode) + ", not a regular file";
    return std::nullopt;
  }
  file.size_ = info.st_size;
  file.modified_ns_ = modified_ns(info);
  return file;
}

bool InputFile::is_unchanged() const {
  struct stat info {};
  return ::fstat(descriptor_, &info) == 0 && info.st_size == size_ && modified_ns(info) == modified_ns_;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int InputFile::release() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  return descriptor;
}

int64_t InputFile::read(void* to, int64_t bytes) { return read_chunks(to, bytes, true); }

int64_t InputFile::read_undisturbed(void* to, int64_t bytes) { return read_chunks(to, bytes, false); }

bool InputFile::seek(int64_t position) { return ::lseek(descriptor_, position, SEEK_SET) == position; }

int64_t InputFile::read_chunks(void* to, int64_t bytes, bool heard) {
  int64_t done = 0;
  while (done < bytes) {
    const int64_t want = std::min(bytes - done, chunk_bytes);
    if (heard) charge(want / 2);
    const ssize_t got = ::read(descriptor_, static_cast<char*>(to) + done, static_cast<size_t>(want));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += got;
  }
  return done;
}

std::optional<std::string> read_file(const std::string& path, int64_t max_bytes, std::string& why) {
  std::optional<InputFile> file = InputFile::open(path, why);
  if (!file) return std::nullopt;
  if (file->size() > max_bytes) {
    why = too_long(max_bytes);
    return std::nullopt;
  }
  // Reads to the end, whatever size the system reports. Reading in parts avoids filling pages with zeros first.
  std::string text, part(size_t{1} << 18, '\0');
  text.reserve(static_cast<size_t>(file->size()));
  while (true) {
    errno = 0;
    const int64_t got = file->read(part.data(), static_cast<int64_t>(part.size()));
    text.append(part.data(), static_cast<size_t>(got));
    if (got < static_cast<int64_t>(part.size())) break;
    if (static_cast<int64_t>(text.size()) > max_bytes) {
      why = too_long(max_bytes);
      return std::nullopt;
    }
  }
  if (errno != 0) {
    why = std::strerror(errno);
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> read_program(const std::string& path, std::string& why) {
  if (has_zero_byte(path, why)) return std::nullopt;
  Closing input{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  if (input.descriptor < 0) {
    why = std::strerror(errno);
    return std::nullopt;
  }
  struct stat info {};
  if (::fstat(input.descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
    why = std::strerror(EISDIR);
    return std::nullopt;
  }
  std::string text;
  if (S_ISREG(info.st_mode)) text.reserve(static_cast<size_t>(std::min<int64_t>(info.st_size, max_program_bytes)));
  std::vector<char> chunk(size_t{1} << 16);
  while (true) {
    check_interrupt();
    // A signal ends poll, also where reads go on after one; it waits in turns, since a signal may come just before.
    constexpr int turn_milliseconds = 200;
    pollfd wait{input.descriptor, POLLIN, 0};
    if (::poll(&wait, 1, turn_milliseconds) <= 0) continue;
    const ssize_t got = ::read(input.descriptor, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) {
      why = std::strerror(errno);
      return std::nullopt;
    }
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<size_t>(got));
    if (static_cast<int64_t>(text.size()) > max_program_bytes) {
      why = too_long(max_program_bytes);
      return std::nullopt;
    }
  }
}

}  // namespace pxl
