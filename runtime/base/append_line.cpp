#include "runtime/base/append_line.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"

namespace pxl {

void append_line(const std::string& path, std::string line) {
  if (path.find('\0') != path.npos) throw run_error("cannot write a file whose name has a zero byte").as(codes::write);
  line += '\n';
  // A pipe without a reader must not wait.
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  ssize_t written = -1;
  if (file >= 0) written = ::write(file, line.data(), line.size());
  const int problem = errno;
  if (file >= 0) ::close(file);
  if (written == static_cast<ssize_t>(line.size())) return;
  throw run_error("cannot write " + path + ": " + (written < 0 ? std::strerror(problem) : "the disk is full"));
}

}  // namespace pxl
