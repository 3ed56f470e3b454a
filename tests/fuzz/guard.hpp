// Shared by the fuzzers of programs: limits of time and memory, interrupts, and the text that a signal leaves behind.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace fuzz {

/// The text under test. A signal that ends the process writes it to the path of the last `name_finding`.
inline std::string current;

/// Tests `current` within limits, in CPU seconds and wall-clock seconds. `test` returns the problem, or nothing; an
/// exception is one. A problem is reported, and leaves the text at `path`.
bool survives(const std::string& path, int cpu_s, int wall_s, const std::function<std::string()>& test);

/// Names the file that is written if a signal ends the process while `current` is tested.
void name_finding(const std::string& path);

/// Handles fatal signals and the timers of `watch`: writes `current` and a line to standard error, exits with status 1.
void guard_signals();

/// Starts the limits in seconds of CPU time and, for a process that only waits, of wall-clock time; 0 ends both.
void watch(int cpu_s, int wall_s);

/// Bounds what the process may allocate: 6 GiB of address space; under AddressSanitizer, which reserves terabytes of
/// it, 1 GiB in one block and 6 GiB resident. Allocations beyond the bounds throw std::bad_alloc.
void bound_memory();

/// Interrupts the program that runs, as Ctrl-C does, `patience` after construction and again until destruction.
class Interrupter {
 public:
  Interrupter();
  ~Interrupter();
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;

 private:
  static constexpr std::chrono::milliseconds patience{300};
  void wait();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace fuzz
