#include "runtime/processes/liveness.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <fstream>

#include "runtime/base/interrupt.hpp"
#include "runtime/base/signals.hpp"

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

ProcessState process_state(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return ProcessState::gone;
  // `123 (name) S ...`: the name may have spaces and parentheses.
  const size_t name_end = line.rfind(')');
  const char state = name_end == line.npos || name_end + 2 >= line.size() ? 'R' : line[name_end + 2];
  if (state == 'Z' || state == 'X') return ProcessState::gone;
  return state == 'T' ? ProcessState::stopped : ProcessState::running;
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
