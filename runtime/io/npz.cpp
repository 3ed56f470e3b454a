#include "runtime/io/npz.hpp"

#include <zip.h>

#include <memory>
#include <set>

#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/io/format_limits.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/shared_library.hpp"

namespace pxl {
namespace {

struct ZipLibrary {
  // Debian 12 has release 1.7, Debian 13 has 1.11.
  static constexpr bool old = LIBZIP_VERSION_MAJOR == 1 && LIBZIP_VERSION_MINOR < 8;
  SharedLibrary library{old ? "libzip.so.4" : "libzip.so.5", old ? "libzip4" : "libzip5"};
  PXL_LIBRARY_FUNCTION(library, zip_source_buffer_create);
  PXL_LIBRARY_FUNCTION(library, zip_source_keep);
  PXL_LIBRARY_FUNCTION(library, zip_source_free);
  PXL_LIBRARY_FUNCTION(library, zip_source_open);
  PXL_LIBRARY_FUNCTION(library, zip_source_read);
  PXL_LIBRARY_FUNCTION(library, zip_source_close);
  PXL_LIBRARY_FUNCTION(library, zip_source_stat);
  PXL_LIBRARY_FUNCTION(library, zip_source_buffer);
  PXL_LIBRARY_FUNCTION(library, zip_open_from_source);
  PXL_LIBRARY_FUNCTION(library, zip_open);
  PXL_LIBRARY_FUNCTION(library, zip_close);
  PXL_LIBRARY_FUNCTION(library, zip_discard);
  PXL_LIBRARY_FUNCTION(library, zip_strerror);
  PXL_LIBRARY_FUNCTION(library, zip_file_add);
  PXL_LIBRARY_FUNCTION(library, zip_set_file_compression);
  PXL_LIBRARY_FUNCTION(library, zip_file_set_dostime);
  PXL_LIBRARY_FUNCTION(library, zip_get_num_entries);
  PXL_LIBRARY_FUNCTION(library, zip_stat_index);
  PXL_LIBRARY_FUNCTION(library, zip_fopen_index);
  PXL_LIBRARY_FUNCTION(library, zip_fread);
  PXL_LIBRARY_FUNCTION(library, zip_fclose);
  PXL_LIBRARY_FUNCTION(library, zip_error_init_with_code);
  PXL_LIBRARY_FUNCTION(library, zip_error_strerror);
  PXL_LIBRARY_FUNCTION(library, zip_error_fini);
};
const ZipLibrary& zip() {
  static const auto& functions = never_destroyed(ZipLibrary());
  return functions;
}

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;

class Member final : public ByteSource {
 public:
  Member(zip_t* archive, zip_uint64_t index, int64_t size)
      : file_(zip().zip_fopen_index_(archive, index, 0), zip().zip_fclose_), size_(size) {}
  bool open() const { return file_ != nullptr; }
  int64_t size() const override { return size_; }
  int64_t read(void* to, int64_t bytes) override {
    int64_t done = 0;
    while (done < bytes) {
      check_interrupt();
      const auto chunk = static_cast<zip_uint64_t>(std::min<int64_t>(bytes - done, int64_t{1} << 22));
      const zip_int64_t n = zip().zip_fread_(file_.get(), static_cast<char*>(to) + done, chunk);
      if (n <= 0) break;
      done += n;
    }
    return done;
  }
  /// Whether the member ends here and its checksum agrees.
  bool ends() {
    char beyond = 0;
    return zip().zip_fread_(file_.get(), &beyond, 1) == 0;
  }

 private:
  std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file_;
  int64_t size_;
};

InputFile open_regular(const std::string& path) {
  std::string why;
  std::optional<InputFile> file = InputFile::open(path, why);
  if (!file) throw cannot_read(path, why);
  return *std::move(file);
}

Archive open_archive(const std::string& path) {
  int code = 0;
  Archive archive(zip().zip_open_(path.c_str(), ZIP_RDONLY, &code), zip().zip_discard_);
  if (archive) return archive;
  zip_error_t error;
  zip().zip_error_init_with_code_(&error, code);
  const std::string why = zip().zip_error_strerror_(&error);
  zip().zip_error_fini_(&error);
  throw cannot_read(path, "not a usable .npz file: " + why);
}

/// The bytes of the archive's directory, from the record at the end of the file; -1 without that record.
int64_t directory_bytes(InputFile& file) {
  constexpr int64_t record = 22, longest = record + 65535;
  std::string end(static_cast<size_t>(std::min(file.size(), longest)), '\0');
  if (!file.seek(file.size() - static_cast<int64_t>(end.size())) ||
      file.read(end.data(), static_cast<int64_t>(end.size())) != static_cast<int64_t>(end.size()))
    return -1;
  const size_t at = end.rfind("PK\x05\x06");
  if (at == end.npos || at + record > end.size()) return -1;
  int64_t bytes = 0;
  for (size_t i = 4; i-- > 0;) bytes = bytes << 8 | static_cast<unsigned char>(end[at + 12 + i]);
  return bytes;
}

/// Calls f(index, stat, name) for each member.
template <class F>
void each_member(const Archive& archive, const std::string& path, F&& f) {
  std::set<std::string> names;
  for (zip_int64_t i = 0, n = zip().zip_get_num_entries_(archive.get(), 0); i < n; ++i) {
    zip_stat_t stat{};
    const auto index = static_cast<zip_uint64_t>(i);
    if (zip().zip_stat_index_(archive.get(), index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) ||
        !(stat.valid & ZIP_STAT_NAME))
      throw cannot_read(path, fmt::format("its member {}: {}", i, zip().zip_strerror_(archive.get())));
    const std::string name = stat.name;
    if (!name.ends_with(".npy")) throw cannot_read(path, fmt::format("its member `{}` is not a .npy file", name));
    if (!names.insert(name).second) throw cannot_read(path, fmt::format("it has two members `{}`", name));
    f(index, static_cast<int64_t>(stat.size), name);
  }
}

Member opened(const Archive& archive, const std::string& path, zip_uint64_t index, int64_t size,
              const std::string& name) {
  Member member(archive.get(), index, size);
  if (!member.open())
    throw cannot_read(path, fmt::format("its member `{}`: {}", name, zip().zip_strerror_(archive.get())));
  return member;
}

std::string array_name(const std::string& member) { return member.substr(0, member.size() - 4); }

}  // namespace

std::vector<std::pair<std::string, TensorSpec>> load_npz_headers(const std::string& path) {
  require_effect(Effect::reads_headers);
  InputFile file = open_regular(path);
  constexpr int64_t max_directory = 256 << 10, max_members = 64;
  const int64_t directory = directory_bytes(file);
  if (directory < 0 || directory > max_directory) throw cannot_read(path, "its directory is missing or too long");
  const Archive archive = open_archive(path);
  if (zip().zip_get_num_entries_(archive.get(), 0) > max_members) throw cannot_read(path, "it has too many members");
  std::vector<std::pair<std::string, TensorSpec>> specs;
  each_member(archive, path, [&](zip_uint64_t index, int64_t size, const std::string& name) {
    Member member = opened(archive, path, index, size, name);
    specs.emplace_back(array_name(name), read_npy_header(member, path + "/" + name));
  });
  return specs;
}

std::vector<NamedArray> load_npz(const std::string& path) {
  require_effect(Effect::reads_files);
  const InputFile regular = open_regular(path);
  const Archive archive = open_archive(path);
  // Arrays are made in memory at once; a small file that claims to be a large one is refused before.
  const int64_t max_bytes =
      (int64_t{1} << 30) + (regular.size() > (int64_t{1} << 50) ? regular.size() : 100 * regular.size());
  int64_t total = 0;
  std::vector<NamedArray> arrays;
  each_member(archive, path, [&](zip_uint64_t index, int64_t size, const std::string& name) {
    if (size < 0 || size > max_bytes - total)
      throw cannot_read(path, fmt::format("it expands to more than {} bytes, 100 times its size", max_bytes));
    total += size;
    Member member = opened(archive, path, index, size, name);
    Array data = read_npy(member, path + "/" + name);
    if (!member.ends()) throw cannot_read(path, fmt::format("its member `{}` is damaged: its checksum differs", name));
    arrays.push_back({array_name(name), std::move(data)});
  });
  return arrays;
}

void save_npz(const std::string& path, const std::vector<NamedArray>& arrays) {
  if (arrays.empty()) throw run_error(fmt::format("cannot write {}: there are no arrays to write", path));
  zip_error_t error{};
  const auto failed = [&](zip_t* archive) {
    return run_error(fmt::format("cannot write {}: {}", path,
                                 archive ? zip().zip_strerror_(archive) : zip().zip_error_strerror_(&error)));
  };
  std::vector<std::string> files;  // until the archive is closed
  for (const NamedArray& a : arrays) files.push_back(npy_bytes(a.data, path + "/" + a.name));
  const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> target(
      zip().zip_source_buffer_create_(nullptr, 0, 0, &error), zip().zip_source_free_);
  if (!target) throw failed(nullptr);
  zip().zip_source_keep_(target.get());
  Archive archive(zip().zip_open_from_source_(target.get(), ZIP_CREATE | ZIP_TRUNCATE, &error), zip().zip_discard_);
  if (!archive) {
    zip().zip_source_free_(target.get());
    throw failed(nullptr);
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    zip_source_t* file = zip().zip_source_buffer_(archive.get(), files[i].data(), files[i].size(), 0);
    if (!file) throw failed(archive.get());
    const zip_int64_t index =
        zip().zip_file_add_(archive.get(), (arrays[i].name + ".npy").c_str(), file, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip().zip_source_free_(file);
      throw failed(archive.get());
    }
    const auto member = static_cast<zip_uint64_t>(index);
    constexpr zip_uint16_t first_of_1980 = 0x21;  // the earliest date of the format
    if (zip().zip_set_file_compression_(archive.get(), member, ZIP_CM_STORE, 0) != 0 ||
        zip().zip_file_set_dostime_(archive.get(), member, 0, first_of_1980, 0) != 0)
      throw failed(archive.get());
  }
  if (zip().zip_close_(archive.get()) != 0) throw failed(archive.get());
  (void)archive.release();
  zip_stat_t stat{};
  if (zip().zip_source_stat_(target.get(), &stat) != 0 || zip().zip_source_open_(target.get()) != 0)
    throw run_error(fmt::format("cannot write {}: libzip made no archive", path));
  std::string bytes(stat.size, '\0');
  const zip_int64_t n = zip().zip_source_read_(target.get(), bytes.data(), bytes.size());
  zip().zip_source_close_(target.get());
  if (n != static_cast<zip_int64_t>(bytes.size()))
    throw run_error(fmt::format("cannot write {}: libzip made no archive", path));
  write_file_atomically(path, bytes);
}

}  // namespace pxl
