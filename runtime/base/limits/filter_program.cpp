#include "runtime/base/limits/filter_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {
namespace {

/// RAII: the program's process and our end of the sockets to it.
struct Child {
  int in = -1, out = -1;
  pid_t process = -1;
  void close_in() {
    if (in >= 0) ::close(in);
    in = -1;
  }
  int wait() {
    int status = 0;
    while (process > 0 && ::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    process = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  ~Child() {
    close_in();
    if (out >= 0) ::close(out);
    if (process > 0) ::kill(process, SIGKILL);
    wait();
  }
};

}  // namespace

FilterOutcome run_filter(const std::vector<std::string>& words, std::string_view input) {
  require_effect(Effect::starts_processes);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Child child;
  // Sockets, because writing to a pipe whose reader has exited raises SIGPIPE.
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  const bool made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0 && ::pipe2(out, O_CLOEXEC) == 0;
  child.in = in[0], child.out = out[0];
  if (made) child.process = ::fork();
  if (child.process == 0) {
    ::dup2(in[1], STDIN_FILENO), ::dup2(out[1], STDOUT_FILENO);
    ::signal(SIGXFSZ, SIG_DFL);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  const int reason = errno;
  for (const int fd : {in[1], out[1]})
    if (fd >= 0) ::close(fd);
  if (child.process < 0) throw run_error(fmt::format("cannot start {}: {}", words.front(), std::strerror(reason)));
  FilterOutcome outcome;
  for (bool open = true; open;) {
    check_interrupt();
    pollfd wait[2] = {{child.out, POLLIN, 0}, {child.in, POLLOUT, 0}};
    if (::poll(wait, child.in >= 0 ? 2 : 1, 50) < 0 && errno != EINTR) break;
    if (child.in >= 0 && wait[1].revents != 0) {
      const ssize_t sent = ::send(child.in, input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) input.remove_prefix(static_cast<size_t>(sent));
      // A program that stops reading may still write its output.
      if (input.empty() || (sent < 0 && errno != EAGAIN && errno != EINTR)) child.close_in();
    }
    if (wait[0].revents != 0) {
      char part[65536];
      const ssize_t got = ::read(child.out, part, sizeof part);
      if (got > 0)
        outcome.output.append(part, static_cast<size_t>(got));
      else if (got == 0 || errno != EINTR)
        open = false;
    }
  }
  outcome.status = child.wait();
  return outcome;
}

}  // namespace pxl
