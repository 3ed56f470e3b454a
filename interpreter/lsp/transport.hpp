// Messages of the language server protocol: JSON-RPC 2.0 bodies after a Content-Length header, over two files.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

namespace pxl::lsp {

using Json = nlohmann::json;

/// One incoming message, or what was wrong with it.
struct Incoming {
  Json body;
  std::string broken;  ///< why the body is no message; answered with a parse error
};

/// Reads in a thread of its own, so that a change can cancel the analysis of the text before it.
class Transport {
 public:
  /// Takes a message before it is queued, in the reading thread.
  using Glance = void (*)(const Json&);
  Transport(int in, int out, Glance glance);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// The next message; nothing when `milliseconds` have passed (negative: wait), when it was woken, or at the end of
  /// the input.
  std::optional<Incoming> next(int milliseconds);
  /// Ends a wait, the present one or the next. May be called in any thread.
  void wake();
  bool ended() const { return ended_; }
  /// Writes a message whole. Invalid UTF-8 in it is replaced.
  void send(const Json& message);

  /// Bodies longer than this end the input: memory stays bounded.
  static constexpr size_t longest_body = size_t{64} << 20;

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
  int stop_[2] = {-1, -1};  ///< a pipe that wakes the reader at the end
  std::thread reader_;
};

}  // namespace pxl::lsp
