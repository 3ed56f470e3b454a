// For LD_PRELOAD: writes where a program throws exceptions to the file in THROW_LOG. Each line has the program's
// path and the addresses of the throw and the calls around it, innermost first; a process writes a place once.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <typeinfo>

namespace {

constexpr int depth = 10;

/// The address at which the program is loaded; the loader names it first.
uintptr_t program_base() {
  uintptr_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        *static_cast<uintptr_t*>(to) = info->dlpi_addr;
        return 1;
      },
      &base);
  return base;
}

bool is_new(const std::array<void*, depth>& frames, int count) {
  static std::array<std::atomic<uint64_t>, 1 << 16> seen;
  uint64_t hash = 0;
  for (int i = 0; i < count; ++i)
    hash = (hash ^ reinterpret_cast<uint64_t>(frames[static_cast<size_t>(i)])) * 0x9E3779B97F4A7C15U;
  return seen[hash >> 48].exchange(hash) != hash;
}

void log_throw() {
  static const char* const path = std::getenv("THROW_LOG");
  static const uintptr_t base = program_base();
  std::array<void*, depth> frames{};
  const int count = backtrace(frames.data(), depth);
  if (!path || !is_new(frames, count)) return;
  std::array<char, 4096> text{};
  ssize_t used = readlink("/proc/self/exe", text.data(), text.size() / 2);
  if (used <= 0) return;
  for (int i = 0; i < count; ++i) {
    Dl_info place{};
    const auto at = reinterpret_cast<uintptr_t>(frames[static_cast<size_t>(i)]);
    if (!dladdr(frames[static_cast<size_t>(i)], &place) || reinterpret_cast<uintptr_t>(place.dli_fbase) != base)
      continue;
    // The call is before the address that it returns to.
    used += std::snprintf(text.data() + used, text.size() - static_cast<size_t>(used), " 0x%jx",
                          static_cast<uintmax_t>(at - base - 1));
  }
  text[static_cast<size_t>(used++)] = '\n';
  if (const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644); file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, text.data(), static_cast<size_t>(used));
    close(file);
  }
}

}  // namespace

extern "C" __attribute__((noreturn, visibility("default"))) void __cxa_throw(void* object, std::type_info* type,
                                                                             void (*destroy)(void*)) {
  using Throw = void (*)(void*, std::type_info*, void (*)(void*));
  static const auto real = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
  log_throw();
  real(object, type, destroy);
  __builtin_unreachable();
}
