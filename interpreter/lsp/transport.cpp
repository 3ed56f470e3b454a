#include "interpreter/lsp/transport.hpp"

#include <poll.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iterator>

#include "runtime/base/files/write_some.hpp"

namespace pxl::lsp {

Transport::Transport(int in, int out, Glance glance) : in_(in), out_(out), glance_(std::move(glance)) {
  if (pipe(stop_) != 0) stop_[0] = stop_[1] = -1;
  reader_ = start_thread("reads messages", [this] { read_all(); });
}

Transport::~Transport() {
  if (stop_[1] >= 0) close(stop_[1]);
  reader_.join();
  if (stop_[0] >= 0) close(stop_[0]);
  if (client_ >= 0) close(client_);
}

void Transport::end_with(int64_t process) {
  if (client_ >= 0 || process <= 0 || process > INT32_MAX) return;
  client_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
  is_client_gone_ = client_ < 0 && errno == ESRCH;
}

bool Transport::read_bytes(char* to, size_t count) {
  while (count > 0) {
    if (at_ < buffer_.size()) {
      const size_t part = std::min(count, buffer_.size() - at_);
      buffer_.copy(to, part, at_);
      at_ += part;
      to += part;
      count -= part;
      continue;
    }
    if (is_client_gone_) return false;
    // `poll` ignores negative descriptors.
    pollfd wait[] = {{in_, POLLIN, 0}, {stop_[0], POLLIN, 0}, {client_, POLLIN, 0}};
    if (poll(wait, std::size(wait), -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (wait[1].revents || wait[2].revents) return false;
    char chunk[65536];
    const ssize_t got = ::read(in_, chunk, sizeof chunk);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    buffer_.assign(chunk, static_cast<size_t>(got));
    at_ = 0;
  }
  return true;
}

bool Transport::read_line(std::string& line) {
  constexpr size_t longest = 8192;
  line.clear();
  for (char c = 0; read_bytes(&c, 1);) {
    if (c == '\n') {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return true;
    }
    line += c;
    if (line.size() > longest) return false;
  }
  return false;
}

void Transport::read_all() {
  std::string line, body;
  while (true) {
    size_t length = 0;
    bool have_length = false, broken = false;
    while ((broken = !read_line(line)), !broken && !line.empty()) {
      constexpr std::string_view key = "Content-Length:";
      if (line.size() > key.size() && strncasecmp(line.c_str(), key.data(), key.size()) == 0) {
        char* end = nullptr;
        length = std::strtoull(line.c_str() + key.size(), &end, 10);
        have_length = end && (*end == 0 || *end == ' ');
      }
    }
    // Without a length the beginning of the next message is unknown.
    if (broken || !have_length || length > longest_body) break;
    body.resize(length);
    if (!read_bytes(body.data(), length)) break;
    Incoming message;
    bool shallow = true;
    const auto watch = [&](int depth, Json::parse_event_t, Json&) { return shallow = shallow && depth <= max_depth; };
    message.body = Json::parse(body, watch, false);
    if (!shallow)
      message.broken = "the message is nested too deeply";
    else if (message.body.is_discarded())
      message.broken = "the message is not JSON";
    else if (!message.body.is_object())
      message.broken = "the message is not an object";
    else if (glance_)
      glance_(message.body);
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  arrived_.notify_one();
}

std::optional<Incoming> Transport::next(int milliseconds) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !queue_.empty() || ended_ || woken_; };
  if (milliseconds < 0)
    arrived_.wait(lock, ready);
  else
    arrived_.wait_for(lock, std::chrono::milliseconds(milliseconds), ready);
  woken_ = false;
  if (queue_.empty()) return std::nullopt;
  Incoming message = std::move(queue_.front());
  queue_.pop_front();
  return message;
}

void Transport::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  arrived_.notify_one();
}

void Transport::send(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string text = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (size_t at = 0; at < text.size();) {
    const ssize_t put = write_some(out_, std::string_view(text).substr(at));
    if (put < 0) return;  // the client has closed the pipe; the reader sees the end of the input
    at += static_cast<size_t>(put);
  }
}

}  // namespace pxl::lsp
