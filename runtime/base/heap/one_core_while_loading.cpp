// Libraries that count cores while they are loaded find one. OpenBLAS would start a thread for each further core, with
// 128 MiB of address space: where it gets no thread it interrupts the process, and where it gets no address space it
// tries for ever. The pool divides products among threads of its own (kernels/libraries.hpp).
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <string_view>

/// OpenBLAS has this function since 0.3.27. Those versions take a buffer for the first thread too, while they are
/// loaded.
extern "C" void openblas_set_num_threads_local() __attribute__((weak));

namespace {

/// Ends the process where OpenBLAS would try for ever to allocate its first buffer.
void require_room() {
  constexpr size_t buffer = size_t{144} << 20;
  constexpr std::string_view problem =
      "error: the limit on address space (`ulimit -v`) leaves less memory than the 144 MiB that BLAS takes at its "
      "start\n";
  rlimit limit{};
  if (!openblas_set_num_threads_local || ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  void* const room = ::mmap(nullptr, buffer, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    static_cast<void>(!::write(STDERR_FILENO, problem.data(), problem.size()));
    ::_exit(1);
  }
  ::munmap(room, buffer);
}

using Mask = std::array<unsigned long, 1024>;  // of more cores than Linux allows
constinit Mask all_cores{}, one_core{};
/// Bytes of the mask that the system reports; 0: nothing to do. Compilers run constructors with what they know.
constinit volatile long known = 0;

void narrow(int, char**, char**) {
  require_room();
  constexpr unsigned word_bits = sizeof(unsigned long) * CHAR_BIT;
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof all_cores, all_cores.data());
  unsigned core = 0;
  if (bytes <= 0 || ::syscall(SYS_getcpu, &core, nullptr, nullptr) != 0 || core / word_bits >= one_core.size()) return;
  one_core[core / word_bits] = 1ul << core % word_bits;
  if (::syscall(SYS_sched_setaffinity, 0, bytes, one_core.data()) == 0) known = bytes;
}

/// Constructors of a program run after those of its libraries.
[[gnu::constructor]] void widen() {
  if (known > 0) ::syscall(SYS_sched_setaffinity, 0, known, all_cores.data());
}

/// This section runs before the constructors of all libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const first)(int, char**, char**) = narrow;

}  // namespace
