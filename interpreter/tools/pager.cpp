#include "interpreter/tools/pager.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "runtime/base/effects.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/files/write_some.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The shell command of the pager; empty if none is used.
std::string pager_command() {
  const char* chosen = std::getenv("PAGER");
  if (!variable("NO_PAGER").empty() || variable("TERM") == "dumb") return {};
  const std::string command = chosen ? chosen : "less";
  return command == "cat" ? std::string() : command;
}

/// The number of rows that a text needs on a terminal.
int rows_of(std::string_view text, int columns) {
  int rows = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    rows += 1 + std::max(0, visible_width(text.substr(0, end)) - 1) / columns;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

/// Ignores a signal during its lifetime.
class IgnoredSignal {
 public:
  explicit IgnoredSignal(int number) : number_(number) {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    sigaction(number_, &action, &old_);
  }
  ~IgnoredSignal() { sigaction(number_, &old_, nullptr); }
  IgnoredSignal(const IgnoredSignal&) = delete;
  IgnoredSignal& operator=(const IgnoredSignal&) = delete;

 private:
  int number_;
  struct sigaction old_ {};
};

void run_pager(const std::string& command, int input) {
  ::dup2(input, STDIN_FILENO);
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE}) ::signal(number, SIG_DFL);
  ::setenv("LESS", "FRX", 0);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

/// Returns false if the pager could not be started, so that nothing was shown.
bool paged(const std::string& command, std::string_view text) {
  flush_out();
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const IgnoredSignal interrupt(SIGINT), quit(SIGQUIT), pipe(SIGPIPE);
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[1]);
    run_pager(command, ends[0]);
  }
  ::close(ends[0]);
  // A pager that ends early closes the pipe, which ends this loop.
  while (process > 0 && !text.empty()) {
    const ssize_t written = write_some(ends[1], text);
    if (written < 0) break;
    text.remove_prefix(static_cast<size_t>(written));
  }
  ::close(ends[1]);
  int status = 0;
  while (process > 0 && ::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  constexpr int cannot_start = 126;  // the shell exits with 126 or 127 if it cannot start a command
  return process > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) >= cannot_start);
}

}  // namespace

void write_paged(std::string_view given) {
  const std::string clean = cleaned(given);
  const std::string_view text = clean;
  const auto [columns, rows] = terminal_size(STDOUT_FILENO);
  const std::string command = pager_command();
  const bool pages = columns > 0 && isatty(STDIN_FILENO) && !command.empty() && rows_of(text, columns) >= rows &&
                     permits(Effect::starts_processes);
  if (!pages || !paged(command, text)) write_out(text);
}

}  // namespace pxl
