// Text files, and paths beside a script.
#include <filesystem>

#include "interpreter/library/builtins.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/input_file.hpp"
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
  std::string why;
  std::optional<std::string> found = read_file(path, static_cast<int64_t>(max_text), why);
  if (!found) throw Error("read_text: cannot read `" + path + "`: " + why, {}, Fault::unreadable);
  std::string text = *std::move(found);
  charge(static_cast<int64_t>(text.size()));
  if (!is_utf8(text)) throw run_error("read_text: `" + path + "` is not UTF-8");
  return text;
}

Value beside(Interpreter& in, const Arguments& args) {
  const std::string name = ArgReader("beside", args, {"name"}).string("name");
  const fs::path here = position_of(in).here.file ? fs::path(position_of(in).here.file->name()) : fs::path();
  return (here.parent_path() / name).string();
}

}  // namespace

void bind_file_builtins(Scope& p) {
  define(p, Effect::reads_files, "read_text", "read_text(path)", "The text of a UTF-8 file.", read_text);
  define(p, no_effects, "beside", "beside(name)",
         "The path of a file in the folder of the file that this call stands in.", beside);
}

}  // namespace pxl
