#include "runtime/processes/liveness.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/limits/signals.hpp"

namespace pxl {

namespace {
std::atomic<bool> terminating{false}, silent{false};
constexpr int silence_value = 0x70786c;  ///< what tells it from the launcher's SIGTERM
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not take a lock");

void on_termination(int, siginfo_t* info, void*) {
  if (info->si_code == SI_QUEUE && info->si_value.sival_int == silence_value)
    silent.store(true, std::memory_order_relaxed);
  terminating.store(true, std::memory_order_relaxed);
  request_interrupt();
}
}  // namespace

namespace {

struct Status {
  ProcessState state = ProcessState::gone;
  int64_t parent = 0;
};

Status status_of(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return {};
  // `123 (name) S 122 ...`: the name may have spaces and parentheses.
  const size_t name_end = line.rfind(')');
  if (name_end == line.npos || name_end + 4 > line.size()) return {ProcessState::running};
  const char state = line[name_end + 2];
  const int64_t parent = std::strtoll(line.c_str() + name_end + 3, nullptr, 10);
  if (state == 'Z' || state == 'X') return {ProcessState::gone, parent};
  return {state == 'T' ? ProcessState::stopped : ProcessState::running, parent};
}

}  // namespace

ProcessState process_state(int64_t pid) { return status_of(pid).state; }

std::vector<int64_t> stopped_siblings() {
  std::vector<int64_t> found;
  std::error_code failed;
  const std::filesystem::directory_iterator end;
  for (auto entry = std::filesystem::directory_iterator("/proc", failed); entry != end; entry.increment(failed)) {
    const int64_t pid = std::strtoll(entry->path().filename().c_str(), nullptr, 10);
    if (pid <= 0) continue;
    const Status status = status_of(pid);
    if (status.state == ProcessState::stopped && status.parent == ::getppid()) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string allowed_cores() {
  constexpr std::string_view name = "Cpus_allowed_list:";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return line.substr(line.find_first_not_of(" \t", name.size()));
  return {};
}

void handle_termination() { handle_signal(SIGTERM, on_termination); }
void silence(int64_t pid) {
  sigval value{};
  value.sival_int = silence_value;
  ::sigqueue(static_cast<pid_t>(pid), SIGTERM, value);
}
bool silenced() { return silent.load(std::memory_order_relaxed); }

bool termination_requested() { return terminating.load(std::memory_order_relaxed); }

}  // namespace pxl
