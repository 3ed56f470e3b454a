#include "runtime/base/threads/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <vector>

namespace pxl {
namespace {

struct Handlers {
  std::mutex mutex;
  std::vector<std::mutex*> held;
  std::vector<void (*)()> in_child;
  std::atomic<uint32_t> generation{0};
};

Handlers& handlers();

void before_fork() {
  handlers().mutex.lock();
  for (std::mutex* m : handlers().held) m->lock();
}
void unlock_all() {
  for (std::mutex* m : handlers().held) m->unlock();
  handlers().mutex.unlock();
}
void after_fork_in_child() {
  ++handlers().generation;
  for (void (*f)() : handlers().in_child) f();
  unlock_all();
}

Handlers& handlers() {
  static Handlers& all = [&]() -> Handlers& {
    auto* made = new Handlers;  // never destroyed: a process may fork while it ends
    pthread_atfork(before_fork, unlock_all, after_fork_in_child);
    return *made;
  }();
  return all;
}

}  // namespace

void hold_during_fork(std::mutex& mutex) {
  const std::lock_guard lock(handlers().mutex);
  handlers().held.push_back(&mutex);
}

void on_forked_child(void (*f)()) {
  const std::lock_guard lock(handlers().mutex);
  handlers().in_child.push_back(f);
}

uint32_t fork_generation() noexcept { return handlers().generation.load(std::memory_order_relaxed); }

}  // namespace pxl
