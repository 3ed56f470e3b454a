// write_file_atomically: temporary file, fsync, rename, fsync of the folder.
#include "runtime/base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/base/effects.hpp"

namespace pxl {
namespace {

[[noreturn]] void fail(const std::string& path, int reason) {
  throw run_error(fmt::format("cannot write {}: {}", path, std::strerror(reason))).as(codes::write);
}

/// Closes the descriptor, and removes the temporary file unless it was renamed away.
struct Output {
  int fd = -1;
  std::string temporary = {};
  ~Output() {
    if (fd >= 0) ::close(fd);
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
};

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written == 0 ? ENOSPC : errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// umask can only be read by setting it; reading the mode of a file made with all bits asks the same question
// without a moment in which other threads would create files without a mask.
mode_t default_mode(const std::string& beside) {
  std::string probe = beside + ".mode";
  int fd = ::open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) return 0644;
  Output closing{fd, probe};
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_mode & 0777u : 0644u;
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view bytes) {
  require_effect(Effect::writes_files);
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail(path, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    Output direct{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (direct.fd < 0) fail(path, errno);
    if (int reason = write_all(direct.fd, bytes)) fail(path, reason);
    return;
  }
  std::string target = path;
  if (exists) {
    std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    if (real) target = real.get();
  }
  std::string pattern = target + ".tmpXXXXXX";
  Output out{::mkostemp(pattern.data(), O_CLOEXEC)};
  if (out.fd < 0) fail(path, errno);
  out.temporary = pattern;
  if (int reason = write_all(out.fd, bytes)) fail(path, reason);
  mode_t mode = exists ? info.st_mode & 0777u : default_mode(pattern);
  if (::fchmod(out.fd, mode) != 0 || ::fsync(out.fd) != 0) fail(path, errno);
  if (::rename(pattern.c_str(), target.c_str()) != 0) fail(path, errno);
  out.temporary.clear();
  // Makes the rename itself durable; a file system that cannot sync a folder loses nothing else.
  size_t slash = target.rfind('/');
  std::string folder = slash == target.npos ? "." : target.substr(0, slash + 1);
  Output parent{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (parent.fd >= 0) (void)!::fsync(parent.fd);
}

}  // namespace pxl
