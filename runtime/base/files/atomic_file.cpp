// A temporary file is locked (flock) from before it has a name until it has the target's. An unlocked temporary file is
// thus left over from a killed process, also of another container.
#include "runtime/base/files/atomic_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/files/descriptor.hpp"
#include "runtime/base/files/output_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/files/write_some.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {
namespace {

constexpr std::string_view temporary_suffix = ".pxl-tmp";
constexpr size_t random_letters = 12;
// Bytes of the target's name in a temporary file's name, which has at most NAME_MAX.
constexpr size_t max_name_part = NAME_MAX - random_letters - temporary_suffix.size() - 2;
// Bytes written between two checks for an interrupt: some milliseconds of writing.
constexpr size_t write_chunk_bytes = 8 << 20;
constexpr int max_links = 40;  // as Linux

[[noreturn]] void fail(const std::string& path, int reason) {
  throw run_error(fmt::format("cannot write {}: {}", path, std::strerror(reason))).as(codes::write);
}

/// Errno, or 0.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    check_interrupt();
    const ssize_t written = write_some(fd, bytes.substr(0, write_chunk_bytes));
    if (written < 0) return static_cast<int>(-written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

using Parts = std::function<std::optional<std::string_view>(size_t)>;

/// Errno, or 0.
int write_all(int fd, const Parts& part) {
  for (size_t i = 0;; ++i) {
    const std::optional<std::string_view> bytes = part(i);
    if (!bytes) return 0;
    if (const int reason = write_all(fd, *bytes)) return reason;
  }
}

/// An open folder and a name in it.
struct Place {
  Descriptor folder{-1};
  std::string name;
  bool is_open_file = false;  ///< the name is a link of /proc to what a process has open
};

Place place_of(const std::string& shown, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  Place place{Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path.substr(slash + 1)};
  // A folder may be searched and written without being readable.
  if (place.folder.fd < 0 && errno == EACCES)
    place.folder = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (place.folder.fd < 0) fail(shown, errno);
  if (place.name.empty()) fail(shown, EISDIR);
  return place;
}

/// The place that `path` means when its last part's symbolic links are followed; it may be free. A link that another
/// user made is refused in a folder where everybody may create links, as Linux's protected_symlinks does. Such a link
/// would let that user choose which of our files is written.
Place resolve(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= max_links; ++links) {
    Place place = place_of(path, at);
    struct stat link {};
    if (::fstatat(place.folder.fd, place.name.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(link.st_mode))
      return place;
    struct stat folder {};
    if (::fstat(place.folder.fd, &folder) != 0) fail(path, errno);
    struct statfs system {};
    if (::fstatfs(place.folder.fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
      place.is_open_file = true;
      return place;
    }
    constexpr mode_t everybody = S_ISVTX | S_IWOTH;
    if ((folder.st_mode & everybody) == everybody && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid)
      fail(path, EACCES);
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(place.folder.fd, place.name.c_str(), target, sizeof target);
    if (size < 0) fail(path, errno);
    const std::string text(target, static_cast<size_t>(size));
    const size_t slash = at.rfind('/');
    at = text.starts_with('/') || slash == at.npos ? text : at.substr(0, slash + 1) + text;
  }
  fail(path, ELOOP);
}

std::string temporary_prefix(const std::string& name) { return "." + name.substr(0, max_name_part) + "."; }

std::string temporary_name(const std::string& name) {
  std::array<unsigned char, random_letters> drawn{};
  if (::getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size())) return {};
  std::string out = temporary_prefix(name);
  for (const unsigned char c : drawn) out += "abcdefghijklmnopqrstuvwxyz234567"[c % 32];
  return out.append(temporary_suffix);
}

/// Removes the temporary files of `place` that are not locked.
void remove_leftovers(const Place& place) {
  const std::string prefix = temporary_prefix(place.name);
  const int again = ::openat(place.folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> files(::fdopendir(again), ::closedir);
  if (!files) {
    ::close(again);
    return;
  }
  while (const dirent* entry = ::readdir(files.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() != prefix.size() + random_letters + temporary_suffix.size() || !name.starts_with(prefix) ||
        !name.ends_with(temporary_suffix))
      continue;
    const Descriptor file = open_to_write(entry->d_name, Opening::leftover, 0, place.folder.fd);
    struct stat info {};
    if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (::flock(file.fd, LOCK_EX | LOCK_NB) == 0) ::unlinkat(place.folder.fd, entry->d_name, 0);
  }
}

/// The new text, before it has the target's name. Removes its temporary name, if it still has one.
class NewFile {
 public:
  NewFile(const Place& place, bool secret, TemporaryFile temporary) : place_(place) {
    const mode_t mode = secret ? 0600 : 0666;
    if (temporary == TemporaryFile::unnamed) {
      file_ = open_to_write(".", Opening::unnamed, mode, place.folder.fd);
      unnamed_ = file_.fd >= 0 && ::flock(file_.fd, LOCK_EX | LOCK_NB) == 0;
      if (unnamed_) return;
    }
    // Another save may take the new file for a leftover before it is locked; then the next name is tried.
    for (int tries = 0; tries < 100; ++tries) {
      name_ = temporary_name(place.name);
      file_ = open_to_write(name_, Opening::fresh, mode, place.folder.fd);
      if (file_.fd < 0) {
        const int reason = errno;
        name_.clear();
        if (reason == EEXIST) continue;
        errno = reason;
        return;
      }
      struct stat info {};
      const bool locked = ::flock(file_.fd, LOCK_EX | LOCK_NB) == 0;
      if ((locked || errno != EWOULDBLOCK) && ::fstat(file_.fd, &info) == 0 && info.st_nlink == 1) return;
    }
  }
  ~NewFile() {
    if (!name_.empty()) ::unlinkat(place_.folder.fd, name_.c_str(), 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int fd() const { return file_.fd; }
  bool was_unnamed() const { return unnamed_; }

  /// Gives the file the target's name. Errno, or 0.
  int publish(bool replaces) {
    if (unnamed_) {
      // A link cannot replace a file: there the file has a temporary name for the moment until it is renamed.
      const std::string self = fmt::format("/proc/self/fd/{}", file_.fd);
      const auto link = [&](const std::string& name) {
        return ::linkat(AT_FDCWD, self.c_str(), place_.folder.fd, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
      };
      if (!replaces && link(place_.name)) return 0;
      for (int tries = 0; tries < 100; ++tries) {
        const std::string name = temporary_name(place_.name);
        if (link(name)) {
          name_ = name;
          break;
        }
        if (errno != EEXIST) return errno;
      }
    }
    if (::renameat(place_.folder.fd, name_.c_str(), place_.folder.fd, place_.name.c_str()) != 0) return errno;
    name_.clear();
    return 0;
  }

 private:
  const Place& place_;
  Descriptor file_{-1};
  std::string name_;  ///< the temporary name, while there is one
  bool unnamed_ = false;
};

/// Owner, group, permissions and access list of the file that is replaced.
int keep_permissions(int fd, int old, const struct stat& info) {
  mode_t mode = info.st_mode & 0777;
  struct stat now {};
  if (::fstat(fd, &now) != 0) return errno;
  if (now.st_uid != info.st_uid || now.st_gid != info.st_gid) {
    const bool group_kept = ::fchown(fd, info.st_uid, info.st_gid) == 0 ||
                            ::fchown(fd, static_cast<uid_t>(-1), info.st_gid) == 0 || now.st_gid == info.st_gid;
    // If the group differs, it gets no more permissions than others have.
    if (!group_kept) mode = (mode & 0707) | (mode & 07) << 3;
  }
  if (::fchmod(fd, mode) != 0) return errno;
  constexpr const char* access_list = "system.posix_acl_access";
  std::array<char, 4096> list{};
  if (const ssize_t size = ::fgetxattr(old, access_list, list.data(), list.size()); size > 0)
    (void)!::fsetxattr(fd, access_list, list.data(), static_cast<size_t>(size), 0);
  return 0;
}

/// fsync, where the file system supports it.
int force_to_disk(int fd) {
  return ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
}

void write_parts(const std::string& path, const Parts& part, TemporaryFile temporary) {
  if (path.find('\0') != path.npos) throw run_error("cannot write a file whose name has a zero byte").as(codes::write);
  const Place place = resolve(path);
  // A file is opened for writing, though nothing is written to it: a file without write permission must not be
  // replaced. Without waiting for the reader of a pipe.
  const Descriptor old =
      open_to_write(place.name, place.is_open_file ? Opening::open_file : Opening::present, 0, place.folder.fd);
  const bool exists = old.fd >= 0;
  struct stat info {};
  if (!exists && errno != ENOENT) fail(path, errno);
  if (exists && ::fstat(old.fd, &info) != 0) fail(path, errno);
  if (place.is_open_file || (exists && !S_ISREG(info.st_mode))) {
    if (!exists) fail(path, ENOENT);
    flush_out();
    if (const int reason = write_all(old.fd, part)) fail(path, reason);
    return;
  }
  remove_leftovers(place);
  NewFile file(place, exists, temporary);
  if (file.fd() < 0) fail(path, errno);
  if (const int reason = write_all(file.fd(), part)) fail(path, reason);
  if (exists)
    if (const int reason = keep_permissions(file.fd(), old.fd, info)) fail(path, reason);
  if (const int reason = force_to_disk(file.fd())) fail(path, reason);
  check_interrupt();
  if (const int reason = file.publish(exists)) {
    // A file system without links, or a process without /proc.
    if (file.was_unnamed()) return write_parts(path, part, TemporaryFile::named);
    fail(path, reason);
  }
  // Makes the new name itself durable; a file system that cannot sync a folder loses nothing else.
  (void)!::fsync(place.folder.fd);
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view bytes, TemporaryFile temporary) {
  const auto part = [bytes](size_t i) { return i == 0 ? std::optional(bytes) : std::nullopt; };
  write_parts_atomically(path, part, temporary);
}

void write_parts_atomically(const std::string& path, const Parts& part, TemporaryFile temporary) {
  const auto write = [&] { write_parts(path, part, shares_files() ? TemporaryFile::named : temporary); };
  // All processes make the parts, once.
  const auto otherwise = [&] {
    for (size_t i = 0; part(i); ++i) {
    }
  };
  write_once(path, write, otherwise);
}

void write_own_parts_atomically(const std::string& path, const Parts& part) {
  write_parts(path, part, TemporaryFile::unnamed);
}

}  // namespace pxl
