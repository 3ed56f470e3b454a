#include "runtime/base/files/mapped_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/files/descriptor.hpp"
#include "runtime/base/files/output_file.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

namespace {

[[noreturn]] void refuse_file(const std::string& folder, int64_t bytes, int why) {
  throw run_error(fmt::format("cannot make a file of {} bytes in `{}`: {}", bytes, folder, std::strerror(why)))
      .as(codes::file);
}

/// Not every file system has files without a name; elsewhere the name is removed at once.
Descriptor open_unnamed(const std::string& folder) {
  constexpr mode_t mode = 0600;
  Descriptor direct = open_to_write(folder, Opening::unnamed, mode);
  if (direct.fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return direct;
  for (int n = 0; n < 1000; ++n) {
    const std::string path = fmt::format("{}/.pxl-remote-{}-{}", folder, getpid(), n);
    Descriptor named = open_to_write(path, Opening::fresh, mode);
    if (named.fd >= 0) unlink(path.c_str());
    if (named.fd >= 0 || errno != EEXIST) return named;
  }
  return Descriptor(-1);
}

}  // namespace

std::shared_ptr<std::byte> map_unnamed_file(const std::string& folder, int64_t bytes) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  const Descriptor file = open_unnamed(folder);
  if (file.fd < 0) refuse_file(folder, bytes, errno);
  struct statvfs space = {};
  if (fstatvfs(file.fd, &space) == 0 && size / std::max<size_t>(1, space.f_frsize) > space.f_bavail)
    refuse_file(folder, bytes, ENOSPC);
  // Allocates in steps and checks for Ctrl-C between them: some file systems write the zeros.
  constexpr int64_t step = int64_t{256} << 20;
  for (int64_t done = 0; done < static_cast<int64_t>(size);) {
    check_interrupt();
    const int64_t next = std::min<int64_t>(step, static_cast<int64_t>(size) - done);
    const int error = posix_fallocate(file.fd, done, next);
    if (error == EINTR) continue;
    if (error != 0) refuse_file(folder, bytes, error);
    done += next;
  }
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
  if (memory == MAP_FAILED) refuse_file(folder, bytes, errno);
  return {static_cast<std::byte*>(memory), [size](std::byte* p) { munmap(p, size); }};
}

}  // namespace pxl
