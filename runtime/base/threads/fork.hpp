// Keeps a child of fork() usable: it has one thread, and memory in the state that the parent's other threads left.
#pragma once

#include <cstdint>
#include <mutex>

namespace pxl {

/// Locks the mutex while the process forks, so that no other thread holds it. The mutex lives as long as the process;
/// no other such mutex is locked within it.
void hold_during_fork(std::mutex& mutex);
/// Runs `f` in the child of each fork. `f` is noexcept in effect, and waits for nothing.
void on_forked_child(void (*f)());
/// The number of forks between the process that loaded this code and this one.
uint32_t fork_generation() noexcept;

}  // namespace pxl
