#include "runtime/base/files/write_some.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace pxl {

ssize_t write_some(int fd, std::string_view bytes) noexcept {
  constexpr int turn_milliseconds = 50;
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  if (written > 0 || bytes.empty()) return written;
  if (written == 0) return -ENOSPC;
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    pollfd wait{fd, POLLOUT, 0};
    ::poll(&wait, 1, turn_milliseconds);
    return 0;
  }
  return errno == EINTR ? 0 : -errno;
}

}  // namespace pxl
