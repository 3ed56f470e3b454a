#include "interpreter/cli/terminal/waiting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

#include "runtime/base/diagnostics/source.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl::cli {

Waiting::Waiting(const std::string& work, bool quiet) : work_(cleaned(work)) {
  if (!quiet && isatty(STDERR_FILENO)) thread_ = try_to_start_thread([this] { show(); });
}

Waiting::~Waiting() {
  if (!thread_) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_->join();
}

void Waiting::show() {
  using namespace std::chrono_literals;
  constexpr std::string_view bar = "--------";
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  const auto over = [this] { return is_over_; };
  if (ended_.wait_for(lock, 1s, over)) return;
  size_t at = 0, columns = 0;
  do {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    std::string drawn(bar);
    drawn[at++ % bar.size()] = '#';
    const std::string line = fmt::format("[{}] {}  {} s", drawn, work_, seconds.count());
    columns = static_cast<size_t>(display_width(line));
    write_err_as_is("\r" + line);
  } while (!ended_.wait_for(lock, 100ms, over));
  write_err_as_is("\r" + std::string(columns, ' ') + "\r");
}

}  // namespace pxl::cli
