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
std::atomic<bool> is_muted{false};
void (*sink)(void*, bool, std::string_view) = nullptr;
void* sink_context = nullptr;

/// Whether a sink took the text; one that has no memory for it drops it.
bool redirected(bool to_err, std::string_view text) noexcept {
  if (!sink) return false;
  try {
    sink(sink_context, to_err, text);
  } catch (...) {
  }
  return true;
}

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
  // Lines show as they are written, through a pipe and in a file too: a training run may last hours.
  (void)!std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

void mute_streams(bool muted) noexcept { is_muted.store(muted); }

void redirect_streams(void (*to)(void*, bool, std::string_view), void* context) noexcept {
  sink = to;
  sink_context = context;
}

bool write_out(std::string_view text) noexcept {
  if (redirected(false, text)) return true;
  if (is_muted.load(std::memory_order_relaxed)) return true;
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
  if (redirected(true, text)) return;
  if (is_muted.load(std::memory_order_relaxed)) return;
  flush_out();
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace pxl
