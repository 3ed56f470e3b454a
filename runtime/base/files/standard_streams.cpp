#include "runtime/base/files/standard_streams.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <string>

#include "runtime/base/files/write_some.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl {
namespace {

std::atomic<int> first_error{0};
std::atomic<bool> is_muted{false};
void (*sink)(void*, bool, std::string_view) = nullptr;
void* sink_context = nullptr;

/// Whether a sink took the text; a sink that has no memory for the text drops it.
bool redirected(bool to_err, std::string_view text) noexcept {
  if (!sink) return false;
  try {
    sink(sink_context, to_err, text);
  } catch (...) {
  }
  return true;
}

std::atomic<bool> is_unfinished{false};

void note_line(std::string_view text) noexcept {
  const size_t start = text.find_last_of("\r\n");
  const bool shows = visible_width(start == text.npos ? text : text.substr(start + 1)) > 0;
  if (shows || start != text.npos) is_unfinished.store(shows, std::memory_order_relaxed);
}

/// The text that standard output has not accepted yet: an unfinished line, or the rest after Ctrl-C ended a wait.
struct OutBuffer {
  std::mutex mutex;
  std::string bytes;
  bool keeps_lines = false;  ///< an unfinished line is kept until it ends

  /// Writes the first `count` bytes. Stops at an interrupt, without an error. False if bytes were lost.
  bool write(size_t count) noexcept {
    // A program that uses the library may have written to stdout itself.
    std::fflush(stdout);
    size_t done = 0;
    ssize_t step = 0;
    do {
      step = write_some(STDOUT_FILENO, std::string_view(bytes).substr(done, count - done));
      if (step > 0) done += static_cast<size_t>(step);
    } while (step >= 0 && done < count && (step > 0 || !interrupt_requested()));
    bytes.erase(0, step < 0 ? count : done);
    if (step >= 0) return true;
    int none = 0;
    first_error.compare_exchange_strong(none, static_cast<int>(-step));
    return false;
  }
};

OutBuffer& out_buffer() noexcept {
  // Never destroyed: other threads may write while the process ends.
  static OutBuffer& buffer = *new OutBuffer;
  return buffer;
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
  // A line is shown as soon as it ends, through a pipe and in a file too: a training run may last hours.
  out_buffer().keeps_lines = true;
}

void mute_streams(bool muted) noexcept { is_muted.store(muted); }

void redirect_streams(void (*to)(void*, bool, std::string_view), void* context) noexcept {
  sink = to;
  sink_context = context;
}

namespace {

/// Gives a text, cleaned, to `write`. False if there is no memory for it.
template <class F>
bool write_cleaned(std::string_view text, F&& write) noexcept {
  if (is_clean(text)) return write(text);
  try {
    return write(cleaned(text));
  } catch (...) {
    return false;
  }
}

}  // namespace

bool write_out(std::string_view text) noexcept { return write_cleaned(text, write_out_as_is); }
bool write_data(std::string_view text) noexcept {
  static const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  return terminal ? write_out(text) : write_out_as_is(text);
}

void write_err(std::string_view text) noexcept {
  write_cleaned(text, [](std::string_view clean) {
    write_err_as_is(clean);
    return true;
  });
}

bool write_out_as_is(std::string_view text) noexcept {
  if (redirected(false, text)) return true;
  if (is_muted.load(std::memory_order_relaxed)) return true;
  note_line(text);
  OutBuffer& buffer = out_buffer();
  const std::lock_guard lock(buffer.mutex);
  constexpr size_t max_unfinished_bytes = 1 << 16;
  try {
    buffer.bytes += text;
  } catch (...) {
    first_error.store(ENOMEM);
    return false;
  }
  // What was left before has no end of a line.
  const size_t last = text.rfind('\n'), size = buffer.bytes.size();
  const size_t ended = !buffer.keeps_lines || size >= max_unfinished_bytes ? size
                       : last == text.npos                                 ? 0
                                                                           : size - text.size() + last + 1;
  return ended == 0 || buffer.write(ended);
}

bool flush_out() noexcept {
  OutBuffer& buffer = out_buffer();
  const std::lock_guard lock(buffer.mutex);
  if (!buffer.bytes.empty()) buffer.write(buffer.bytes.size());
  return buffer.bytes.empty() && out_error() == 0;
}

bool line_is_unfinished() noexcept { return is_unfinished.load(std::memory_order_relaxed); }

int out_error() noexcept { return first_error.load(); }

void write_err_as_is(std::string_view text) noexcept {
  if (redirected(true, text)) return;
  if (is_muted.load(std::memory_order_relaxed)) return;
  note_line(text);
  flush_out();
  std::fflush(stderr);
  while (!text.empty()) {
    const ssize_t step = write_some(STDERR_FILENO, text);
    if (step < 0 || (step == 0 && interrupt_requested())) return;
    text.remove_prefix(static_cast<size_t>(step));
  }
}

}  // namespace pxl
