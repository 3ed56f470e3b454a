// `pxl new`: makes a folder with a program that trains, its network with a test, and a page that says what to do next.
#include "interpreter/cli/new.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "interpreter/cli/command.hpp"
#include "interpreter/syntax/program_text.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"

namespace pxl::cli {

namespace {

namespace fs = std::filesystem;

std::string filled_in(std::string_view text, std::string_view name) {
  constexpr std::string_view mark = "@@name@@";
  std::string out(text);
  for (size_t at = 0; (at = out.find(mark, at)) != out.npos; at += name.size()) out.replace(at, mark.size(), name);
  return out;
}

int run_new(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(new_command, arguments, 1);
  if (call.operands.size() > 1)
    throw Error(fmt::format("new: one name, not `{}` too", call.operands[1]), {}, Fault::usage);
  fs::path folder(call.operands.front());
  if (!folder.has_filename()) folder = folder.parent_path();
  const std::string name = folder.filename().string();
  if (name.empty() || name == "." || name == "..")
    throw Error(fmt::format("new: `{}` is not a name", call.operands.front()), {"`pxl new my_net`"}, Fault::usage);
  // The name becomes the heading of a page.
  if (string_literal(name).text() != "\"" + name + "\"")
    throw Error(fmt::format("new: `{}` has quotes, backslashes or control characters", name), {"`pxl new my_net`"},
                Fault::usage);
  std::error_code failed;
  if (fs::exists(folder, failed))
    throw Error(fmt::format("new: `{}` already exists", folder.string()), {"choose another name"}, Fault::usage);
  fs::create_directories(folder, failed);
  if (failed)
    throw Error(fmt::format("new: cannot create `{}`: {}", folder.string(), failed.message()), {}, Fault::unreadable);
  for (const ProjectFile& file : project_files()) {
    // The page and pxl.toml contain the project's name.
    const bool is_program = file.name.ends_with(".pxl");
    write_file_atomically((folder / file.name).string(),
                          is_program ? std::string(file.text) : filled_in(file.text, name));
  }
  print_out("created {0}: pxl.toml, net.pxl, train.pxl, README.md\n  cd {0}\n  pxl train.pxl\n  pxl test\n",
            folder.string());
  return exit_ok;
}

}  // namespace

const Command new_command{"new",
                          "new NAME",
                          "create a folder with a network, its training and a test",
                          run_new,
                          {},
                          "Creates the folder NAME with pxl.toml, net.pxl (a module and a test), train.pxl (the "
                          "program and the loop) and README.md, "
                          "which lists the next steps. The folder must not exist.",
                          "-"};

}  // namespace pxl::cli
