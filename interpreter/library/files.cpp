// Reads and writes texts and bytes in files, and handles paths.
#include <fmt/format.h>

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "interpreter/library/builtins.hpp"
#include "interpreter/library/missing_files.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/files/source_folder.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_unreadable(Interpreter& in, const char* function, const std::string& path,
                                    const std::string& why) {
  Error e(fmt::format("{}: cannot read `{}`: {}", function, path, why), {}, Fault::unreadable);
  note_missing_file(in, e, path);
  throw e;
}

Value read_text(Interpreter& in, const Arguments& args) {
  const std::string path = ArgReader(args).string("path");
  require_effect(Effect::reads_files);
  std::string why;
  std::optional<std::string> found = read_file(path, static_cast<int64_t>(max_text), why);
  if (!found) refuse_unreadable(in, "read_text", path, why);
  std::string text = *std::move(found);
  charge(static_cast<int64_t>(text.size()));
  if (!is_utf8(text)) throw run_error("read_text: `" + path + "` is not UTF-8");
  return text;
}

Value write_text(Interpreter&, const Arguments& args) {
  const ArgReader a(args);
  write_file_atomically(a.string("path"), a.string("text"));
  return {};
}

Value read_bytes(Interpreter& in, const Arguments& args) {
  const std::string path = ArgReader(args).string("path");
  require_effect(Effect::reads_files);
  std::string why;
  std::optional<InputFile> file = InputFile::open(path, why);
  if (!file) refuse_unreadable(in, "read_bytes", path, why);
  Array bytes(DType::uint8, {file->size()});
  if (file->read(bytes.mutable_raw(), bytes.bytes()) != bytes.bytes())
    throw Error("read_bytes: cannot read `" + path + "` to its end", {}, Fault::unreadable);
  return bytes;
}

Value write_bytes(Interpreter&, const Arguments& args) {
  const ArgReader a(args);
  const std::string path = a.string("path");
  const Value value = a.value("bytes");
  const Array* bytes = value.as_array();
  if (!bytes || bytes->dtype() != DType::uint8)
    throw Error("write_bytes: the bytes are an array of uint8, not " +
                (bytes ? text(bytes->spec()) : value.type_name()))
        .as(codes::type);
  write_file_atomically(path, {reinterpret_cast<const char*>(bytes->raw()), static_cast<size_t>(bytes->bytes())});
  return {};
}

Value exists(Interpreter&, const Arguments& args) {
  const std::string path = ArgReader(args).string("path");
  std::error_code failed;
  return path.find('\0') == path.npos && fs::exists(path, failed);
}

/// The exception that ended this thread's glob: Ctrl-C, or the budget of a look. It cannot pass through glob itself.
thread_local std::exception_ptr glob_ended;

/// Whether glob may continue. If not, glob ends with an error.
bool glob_goes_on() noexcept {
  constexpr int64_t entry_ns = 300;
  if (!glob_ended) {
    try {
      charge(entry_ns);
    } catch (...) {
      glob_ended = std::current_exception();
    }
  }
  if (glob_ended) errno = EINTR;
  return !glob_ended;
}

/// Like glob, but Ctrl-C stops it, since a pattern may match names in any number of folders.
int charged_glob(const std::string& pattern, glob_t& found) {
  found.gl_opendir = [](const char* path) -> void* { return glob_goes_on() ? ::opendir(path) : nullptr; };
  found.gl_readdir = [](void* folder) { return glob_goes_on() ? ::readdir(static_cast<DIR*>(folder)) : nullptr; };
  found.gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
  found.gl_stat = [](const char* path, struct stat* of) { return glob_goes_on() ? ::stat(path, of) : -1; };
  found.gl_lstat = [](const char* path, struct stat* of) { return glob_goes_on() ? ::lstat(path, of) : -1; };
  // The caller sorts the names by bytes later, whatever the locale.
  const int problem = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR | GLOB_ALTDIRFUNC, nullptr, &found);
  if (const std::exception_ptr ended = std::exchange(glob_ended, nullptr)) std::rethrow_exception(ended);
  return problem;
}

Value list_files(Interpreter&, const Arguments& args) {
  const std::string pattern = ArgReader(args).string("pattern");
  if (pattern.find('\0') != pattern.npos) throw run_error("list_files: the pattern has a zero byte").as(codes::value);
  glob_t found{};
  const std::unique_ptr<glob_t, decltype(&::globfree)> owned(&found, ::globfree);
  const int problem = charged_glob(pattern, found);
  if (problem == GLOB_ABORTED) throw run_error("list_files: cannot read a folder of `" + pattern + "`");
  if (problem == GLOB_NOSPACE || found.gl_pathc > max_elements) throw run_error("list_files: too many files");
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::sort(paths.begin(), paths.end());
  charge(static_cast<int64_t>(paths.size()));
  std::vector<Value> values;
  for (std::string& path : paths) values.emplace_back(std::move(path));
  return make_list(std::move(values));
}

Value beside(Interpreter& in, const Arguments& args) {
  const std::string name = ArgReader(args).string("name");
  const SourceFile* const here = position_of(in).here.file;
  return (folder_of_source(here ? here->name() : "") / name).string();
}

}  // namespace

void bind_file_builtins(Scope& p) {
  define(p, Effect::reads_files, {"read_text(path)", "The text of a UTF-8 file.", R"(write_text("a.txt", "hi")
read_text("a.txt"))"},
         read_text);
  define(p, Effect::writes_files,
         {"write_text(path, text)", "Replaces a file by a text.", R"(write_text("a.txt", "one\ntwo\n")
read_text("a.txt"))"},
         write_text);
  define(p, Effect::reads_files,
         {"read_bytes(path)", "The bytes of a file, as an array of uint8.", R"(write_text("a.txt", "hi")
read_bytes("a.txt"))"},
         read_bytes);
  define(p, Effect::writes_files,
         {"write_bytes(path, bytes)", "Replaces a file by an array of uint8.",
          R"(write_bytes("a.bin", array([104, 105], uint8))
read_text("a.bin"))"},
         write_bytes);
  define(p, Effect::reads_files, {"exists(path)", "Whether there is a file or folder.", R"(exists("no/such/file"))"},
         exists);
  define(p, Effect::reads_files,
         {"list_files(pattern)",
          "The paths that match a pattern with *, ? and [abc], in order: `list_files(\"data/*.png\")`.",
          R"(write_text("a.txt", "one")
write_text("b.txt", "two")
list_files("*.txt"))"},
         list_files);
  define(
      p, no_effects,
      {"beside(name)", "The path of a file in the folder of the file that has this call.", R"(beside("weights.npy"))"},
      beside);
}

}  // namespace pxl
