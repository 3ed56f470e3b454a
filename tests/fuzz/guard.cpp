#include "tests/fuzz/guard.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "runtime/base/limits/interrupt.hpp"

#if defined(__SANITIZE_ADDRESS__)
// Values of a script may form cycles, which live as long as the process.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024:soft_rss_limit_mb=6144";
}
#endif

namespace fuzz {
namespace {

char finding_path[4096];

// Async-signal-safe: writes the text as it is.
void on_signal(int number) {
  if (std::FILE* f = std::fopen(finding_path, "wb")) {
    std::fwrite(current.data(), 1, current.size(), f);
    std::fclose(f);
  }
  char line[4200];
  const int n =
      std::snprintf(line, sizeof line, "%s: %s\n",
                    number == SIGALRM || number == SIGPROF ? "no answer in time" : strsignal(number), finding_path);
  if (n > 0 && write(STDERR_FILENO, line, static_cast<size_t>(n)) < 0) _exit(2);
  _exit(1);
}

}  // namespace

bool survives(const std::string& path, int cpu_s, int wall_s, const std::function<std::string()>& test) {
  name_finding(path);
  std::string problem;
  watch(cpu_s, wall_s);
  try {
    problem = test();
  } catch (const std::exception& e) {
    problem = std::string("an exception: ") + e.what();
  } catch (...) {
    problem = "an exception that is none of std";
  }
  watch(0, 0);
  if (problem.empty()) return true;
  std::ofstream(path, std::ios::binary) << current;
  std::fprintf(stderr, "%s: %s\n    %s\n", problem.c_str(), path.c_str(),
               current.substr(0, current.find('\n')).c_str());
  return false;
}

void name_finding(const std::string& path) { std::snprintf(finding_path, sizeof finding_path, "%s", path.c_str()); }

void guard_signals() {
  static char stack[65536];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGPROF}) sigaction(s, &action, nullptr);
}

void watch(int cpu_s, int wall_s) {
  const itimerval timer{{0, 0}, {cpu_s, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(static_cast<unsigned>(wall_s));
}

void bound_memory() {
#if !defined(__SANITIZE_ADDRESS__)
  constexpr rlim_t max_address_space = rlim_t{6} << 30;
  const rlimit limit{max_address_space, max_address_space};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

Interrupter::Interrupter() : thread_([this] { wait(); }) {}

Interrupter::~Interrupter() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
  pxl::clear_interrupt();
}

void Interrupter::wait() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, patience, [this] { return over_; })) pxl::request_interrupt();
}

}  // namespace fuzz
