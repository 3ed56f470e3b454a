#include "runtime/base/standard_streams.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace pxl {
namespace {

std::atomic<int> first_error{0};

bool note_out_error() noexcept {
  int none = 0;
  first_error.compare_exchange_strong(none, errno != 0 ? errno : EIO);
  return false;
}

}  // namespace

void prepare_standard_streams() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // This is the lowest free descriptor, because those below it are open. Opened in the opposite direction, so that
    // reads and writes still fail as on a closed descriptor.
    (void)!::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  signal(SIGXFSZ, SIG_IGN);
}

bool write_out(std::string_view text) noexcept {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return true;
  return note_out_error();
}

bool flush_out() noexcept {
  errno = 0;
  if (std::fflush(stdout) != 0) return note_out_error();
  return out_error() == 0;
}

int out_error() noexcept { return first_error.load(); }

void write_err(std::string_view text) noexcept {
  flush_out();
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace pxl
