// Transport of the language server protocol: JSON-RPC 2.0 bodies after a Content-Length header, over two file
// descriptors.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "interpreter/lsp/messages.hpp"
#include "runtime/base/threads/start_thread.hpp"

namespace pxl::lsp {

/// One incoming message, or the reason why it is invalid.
struct Incoming {
  Json body;
  std::string broken;  ///< why the body is not a message; answered with a parse error
};

/// Reads messages on a separate thread, so that an edit can cancel the analysis of the previous text.
class Transport {
 public:
  /// Sees each message before it is queued, on the reading thread.
  using Glance = std::function<void(const Json&)>;
  Transport(int in, int out, Glance glance);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Returns the next message; nullopt after `milliseconds` (negative: no limit), after wake(), and at the end of the
  /// input.
  std::optional<Incoming> next(int milliseconds);
  /// Ends the current or next wait. Thread-safe.
  void wake();
  bool ended() const { return ended_; }
  /// Ends the input when a process ends, since descriptors that the process left to others may keep the input open.
  /// Called by Glance.
  void end_with(int64_t process);
  /// Writes a complete message. Invalid UTF-8 is replaced.
  void send(const Json& message);

  /// A longer body ends the input, so that memory stays bounded.
  static constexpr size_t longest_body = size_t{64} << 20;
  /// Maximum nesting of a body, since values are written recursively.
  static constexpr int max_depth = 100;

 private:
  void read_all();
  bool read_bytes(char* to, size_t count);
  bool read_line(std::string& line);

  int in_, out_;
  Glance glance_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Incoming> queue_;
  std::atomic<bool> ended_ = false;
  bool woken_ = false;
  std::string buffer_;
  size_t at_ = 0;
  int stop_[2] = {-1, -1};  ///< a pipe that wakes the reader for shutdown
  int client_ = -1;         ///< readable when the client's process has ended
  bool is_client_gone_ = false;
  Thread reader_;
};

}  // namespace pxl::lsp
