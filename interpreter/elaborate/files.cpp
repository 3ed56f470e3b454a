// Text files, and paths beside a script.
#include <filesystem>
#include <fstream>

#include "interpreter/elaborate/builtins.hpp"
#include "interpreter/elaborate/internal.hpp"
#include "runtime/base/utf8.hpp"

namespace pxl {

namespace fs = std::filesystem;

namespace {

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t from = i;
    const char32_t c = next_code_point(text, i);
    // What a broken sequence is read as, unless that character itself stands there.
    if (c == 0xFFFD && text.substr(from, 3) != "\xEF\xBF\xBD") return false;
  }
  return true;
}

Value read_text(Interpreter&, const Arguments& args) {
  const std::string path = ArgReader("read_text", args, {"path"}).string("path");
  require_effect(Effect::reads_files);
  std::error_code ec;
  const uintmax_t size = fs::is_regular_file(path, ec) ? fs::file_size(path, ec) : 0;
  std::ifstream file;
  if (fs::is_regular_file(path, ec)) file.open(path, std::ios::binary);
  if (!file.is_open()) throw Error("read_text: cannot read `" + path + "`", {}, Fault::unreadable);
  if (size > max_text) throw run_error("read_text: `" + path + "` is too long for a text");
  std::string text(static_cast<size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<size_t>(file.gcount()));
  if (!is_utf8(text)) throw run_error("read_text: `" + path + "` is not UTF-8");
  return text;
}

Value beside(Interpreter& in, const Arguments& args) {
  const std::string name = ArgReader("beside", args, {"name"}).string("name");
  const fs::path here = in.here.file ? fs::path(in.here.file->name()) : fs::path();
  return (here.parent_path() / name).string();
}

}  // namespace

void bind_file_builtins(Scope& p) {
  define(p, Effect::reads_files, "read_text", "read_text(path)", "The text of a UTF-8 file.", read_text);
  define(p, no_effects, "beside", "beside(name)",
         "The path of a file in the folder of the file that this call stands in.", beside);
}

}  // namespace pxl
