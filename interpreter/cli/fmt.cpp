// `pxl fmt`: formats files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/diff.hpp"
#include "interpreter/syntax/format/format.hpp"
#include "interpreter/tools/theme.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl::cli {

namespace {

int format_one(const std::string& path, const Invocation& call, bool& changed) {
  const SourceFile& source = read_source(path);
  const std::string text = format_source(source);
  const bool differs = text != source.text();
  changed |= differs;
  if (call.has("--diff")) {
    if (!differs) return exit_ok;
    const std::string diff = unified_diff(source.text(), text, path, path + " (formatted)");
    wants_colour(STDOUT_FILENO) ? write_out_as_is(coloured_diff(diff)) : write_data(diff);
  } else if (call.has("--check")) {
    if (differs) print_out("{}\n", path);
  } else if (path == "-") {
    write_data(text);
  } else if (differs) {
    write_file_atomically(path, text);
  }
  return exit_ok;
}

int run_fmt(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(fmt_command, arguments, 1);
  const std::vector<std::string> files = program_files(fmt_command, call.operands);
  bool changed = false;
  int worst = exit_ok;
  for (const std::string& path : files) {
    const int status = guarded([&] {
      check_interrupt();
      return format_one(path, call, changed);
    });
    if (status == exit_interrupted) return status;
    worst = std::max(worst, status);
  }
  if (worst != exit_ok) return worst;
  return changed && call.has("--check") ? exit_failed : exit_ok;
}

constexpr Flag fmt_flags[] = {
    {"--check", "", "change nothing; list the files that would change, exit with 1 if there are any"},
    {"--diff", "", "change nothing; print the changes as a patch"},
};

}  // namespace

const Command fmt_command{"fmt",
                          "fmt [--check] [--diff] FILE ...",
                          "format programs",
                          run_fmt,
                          fmt_flags,
                          "A FILE of `-` is standard input, formatted to standard output; a folder means all .pxl "
                          "files below it.\nOnly whitespace changes. Files that do not parse "
                          "are left unchanged."};

}  // namespace pxl::cli
